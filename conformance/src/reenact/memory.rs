//! Which memory a capture speaks of, as regions of a script.

use rocespec_codec::notation::Region;
use rocespec_codec::{Header, Opcode, RKey, Roce};

/// Places of one key that lie further apart than this are regions of their own, in bytes.
const APART: u64 = 1 << 20;
/// Most memory of all regions together, in bytes: less than a script may register, for it has other buffers, too.
const MOST: u64 = 128 << 20;
/// Most regions.
const MOST_REGIONS: usize = 64;
/// Regions begin where a page may begin.
const PAGE: u64 = 4096;

/// Memory that requests use.
#[derive(Debug, Default)]
pub(super) struct Memory {
    spans: Vec<Span>,
    /// Accesses that found no room.
    pub(super) left_out: u64,
}

#[derive(Debug)]
struct Span {
    name: String,
    rkey: RKey,
    start: u64,
    end: u64,
    rights: Vec<&'static str>,
}

impl Span {
    /// The whole access lies in it.
    fn holds(&self, access: &Access) -> bool {
        self.rkey == access.rkey && access.va >= self.start && access.va + access.len <= self.end
    }
}

/// What a request does to memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) va: u64,
    pub(super) rkey: RKey,
    pub(super) len: u64,
    right: &'static str,
}

/// The memory that a request names; `None` when it names none, or no bytes of it.
pub(super) fn access(packet: &Roce<'_>) -> Option<Access> {
    const WRITES: [u8; 3] = [
        Opcode::RC_RDMA_WRITE_FIRST.operation(),
        Opcode::RC_RDMA_WRITE_ONLY.operation(),
        Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE.operation(),
    ];
    let headers = packet.bth.opcode.headers();
    let access = if headers.contains(&Header::AtomicEth) {
        let atomic = packet.ext.atomic;
        Access { va: atomic.va, rkey: atomic.rkey, len: 8, right: "remote_atomic" }
    } else if headers.contains(&Header::Reth) {
        let reth = packet.ext.reth;
        let operation = packet.bth.opcode.operation();
        let right = match operation {
            _ if WRITES.contains(&operation) || operation == Opcode::RC_ATOMIC_WRITE.operation() => "remote_write",
            _ if operation == Opcode::RC_FLUSH.operation() => "flush_global",
            _ => "remote_read",
        };
        Access { va: reth.va, rkey: reth.rkey, len: reth.len.into(), right }
    } else {
        return None;
    };
    (access.len > 0 && access.va.checked_add(access.len).is_some()).then_some(access)
}

impl Memory {
    /// The regions for these accesses.
    pub(super) fn of(mut accesses: Vec<Access>) -> Memory {
        accesses.sort_by_key(|access| (access.rkey.get(), access.va));
        let mut memory = Memory::default();
        let mut total = 0;
        for access in accesses {
            let (start, end) = (access.va & !(PAGE - 1), access.va + access.len);
            let count = memory.spans.len();
            let is_near = |span: &&mut Span| span.rkey == access.rkey && start <= span.end.saturating_add(APART);
            let near = memory.spans.last_mut().filter(is_near);
            let more = near.as_ref().map_or(end - start, |span| end.saturating_sub(span.end));
            if total + more > MOST || near.is_none() && count == MOST_REGIONS {
                memory.left_out += 1;
                continue;
            }
            total += more;
            match near {
                Some(span) => {
                    span.end = span.end.max(end);
                    if !span.rights.contains(&access.right) {
                        span.rights.push(access.right);
                    }
                }
                None => {
                    let name = format!("mr{}", count + 1);
                    let rights = vec![access.right];
                    memory.spans.push(Span { name, rkey: access.rkey, start, end, rights });
                }
            }
        }
        if let [only] = &mut memory.spans[..] {
            only.name = "mr".to_owned();
        }
        memory
    }

    /// As symbols of the notation.
    pub(super) fn regions(&self) -> Vec<Region<'_>> {
        let spans = self.spans.iter();
        spans
            .map(|span| Region { name: &span.name, va: span.start, len: span.end - span.start, rkey: span.rkey })
            .collect()
    }

    /// The steps that register them.
    pub(super) fn steps(&self) -> impl Iterator<Item = String> {
        self.spans
            .iter()
            .map(|span| format!("dut mr {} {} {}", span.name, span.end - span.start, span.rights.join(" ")))
    }

    /// Where an access lies: name and offset.
    pub(super) fn place(&self, access: &Access) -> Option<(&str, u64)> {
        let span = self.spans.iter().find(|span| span.holds(access))?;
        Some((&span.name, access.va - span.start))
    }

    /// Where an access lies when all of this is one memory, part behind part.
    pub(super) fn offset(&self, access: &Access) -> Option<u64> {
        let mut before = 0;
        for span in &self.spans {
            if span.holds(access) {
                return Some(before + (access.va - span.start));
            }
            before += (span.end - span.start).next_multiple_of(PAGE);
        }
        None
    }
}
