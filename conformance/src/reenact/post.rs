//! What the device's software must have posted for the requests that the device sent.

use std::fmt::Write as _;

use rocespec_codec::{Header, Info, Opcode, Psn};

use super::heard::{Heard, bytes, said};
use super::memory::{self, Memory};

/// A message that the device sent.
pub(super) struct Message {
    /// The step that posts it; `None` when a script has no word for it.
    pub(super) step: Option<String>,
    /// PSNs that it takes.
    pub(super) psns: u32,
}

/// The message that begins with the packet at `first`, from what followed it.
pub(super) fn message(heard: &[Heard], first: usize, mtu: u32, tester: &Memory) -> Message {
    let begin = heard[first].packet();
    let (payload, ending) = payload(heard, first);
    let end = heard[ending].packet();
    let headers = begin.bth.opcode.headers();
    let whole = if headers.contains(&Header::Reth) { begin.ext.reth.len } else { payload.len() as u32 };
    let mut psns = whole.div_ceil(mtu).max(1);
    let data = bytes(&said(&payload, whole as usize));
    let mut step = match begin.bth.opcode.operation() {
        READ => format!("dut rdma_read {whole}"),
        COMPARE_SWAP => {
            psns = 1;
            let atomic = begin.ext.atomic;
            format!("dut comp_swap compare={:#x} swap={:#x}", atomic.compare, atomic.swap_add)
        }
        FETCH_ADD => {
            psns = 1;
            format!("dut fetch_add add={:#x}", begin.ext.atomic.swap_add)
        }
        ATOMIC_WRITE => format!("dut atomic_write {data}"),
        FLUSH => return Message { step: None, psns: 1 },
        _ if headers.contains(&Header::Reth) => format!("dut rdma_write {data}"),
        _ => format!("dut send {data}"),
    };
    if end.bth.opcode.headers().contains(&Header::ImmDt) {
        let _ = write!(step, " imm={:#x}", end.ext.immdt.0);
    }
    if let Some(access) = memory::access(&begin) {
        match tester.offset(&access) {
            Some(offset) => {
                let _ = write!(step, " va=tester+{offset:#x}");
            }
            None => {
                let _ = write!(step, " va={:#x} rkey={:#x}", access.va, access.rkey.get());
            }
        }
    }
    if end.bth.se {
        step.push_str(" solicited");
    }
    Message { step: Some(step), psns }
}

const READ: u8 = Opcode::RC_RDMA_READ_REQUEST.operation();
const COMPARE_SWAP: u8 = Opcode::RC_COMPARE_SWAP.operation();
const FETCH_ADD: u8 = Opcode::RC_FETCH_ADD.operation();
const FLUSH: u8 = Opcode::RC_FLUSH.operation();
const ATOMIC_WRITE: u8 = Opcode::RC_ATOMIC_WRITE.operation();

/// The payload of the message that begins at `first`, and where its last packet is, as far as they are there.
pub(super) fn payload(heard: &[Heard], first: usize) -> (Vec<u8>, usize) {
    let begin = &heard[first];
    let mut payload = begin.packet().payload.to_vec();
    let mut last = first;
    let ends = |heard: &Heard| heard.info().is_none_or(Info::ends_message);
    let mut next: Psn = begin.psn().next();
    let mut at = first + 1;
    while !ends(&heard[last]) && at < heard.len() {
        let packet = &heard[at];
        if packet.from == begin.from && packet.is_request() && packet.psn() == next {
            if packet.info().is_some_and(Info::starts_message) {
                break;
            }
            payload.extend(packet.packet().payload);
            (last, next) = (at, next.next());
        }
        at += 1;
    }
    (payload, last)
}
