//! What one end sent, as it is counted while packets come.

use rocespec_codec::{Ecn, Info, NakCode, Opcode, PayloadRule, RnrTimer};
use rocespec_reports::examination::Sent;

use crate::check::packet::Seen;

/// Source ports that are named.
const MOST_PORTS: usize = 16;

/// Counts by a small number; few of them are ever used.
#[derive(Debug, Clone)]
pub(in crate::check) struct Tally<K>(Vec<Entry<K>>);

/// What was counted of one number.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Entry<K> {
    pub(in crate::check) key: K,
    pub(in crate::check) count: u64,
    /// The first frame.
    pub(in crate::check) frame: u64,
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Tally(Vec::new())
    }
}

impl<K: Copy + PartialEq> Tally<K> {
    #[inline]
    fn add(&mut self, key: K, frame: u64) {
        match self.0.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.count += 1,
            None => self.0.push(Entry { key, count: 1, frame }),
        }
    }

    pub(in crate::check) fn iter(&self) -> impl Iterator<Item = &Entry<K>> {
        self.0.iter()
    }
}

/// Where a packet says which class it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Class {
    pub(in crate::check) dscp: u8,
    /// Priority of the outer VLAN tag.
    pub(in crate::check) pcp: Option<u8>,
}

/// What one end sent.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Side {
    /// What is reported of it. Its maps are filled at the end.
    pub(in crate::check) sent: Sent,
    /// Classes of all packets but congestion notifications.
    pub(in crate::check) classes: Tally<Class>,
    cnp_dscp: Tally<u8>,
    messages: Tally<u8>,
    naks: Tally<u8>,
    first_data_ns: Option<u64>,
    last_cnp_ns: Option<u64>,
    /// First frame of all.
    pub(in crate::check) first_frame: Option<u64>,
    /// First and last time.
    pub(in crate::check) times_ns: [u64; 2],
    /// Marked packets with payload, the first of them, and the times of the first and the last.
    pub(in crate::check) ce_data: u64,
    pub(in crate::check) ce_frame: Option<u64>,
    pub(in crate::check) ce_times_ns: [u64; 2],
    /// First congestion notification.
    pub(in crate::check) cnp_frame: Option<u64>,
    /// The least and the greatest hop limit.
    pub(in crate::check) hop_limits: Option<[u8; 2]>,
    /// First frame that no router passes on.
    pub(in crate::check) last_hop_frame: Option<u64>,
    /// Payload of packets that have to be full, and the first of them.
    pub(in crate::check) full: Option<(usize, u64)>,
    /// They differ among each other.
    pub(in crate::check) fulls_differ: bool,
    /// The longest wait that an RNR NAK asked for, its timer code and frame.
    pub(in crate::check) longest_wait: Option<(RnrTimer, u64)>,
}

impl Side {
    /// What stands in the headers below the transport.
    #[inline]
    pub(super) fn headers(&mut self, seen: &Seen<'_>, is_cnp: bool) {
        let packet = seen.packet;
        if self.first_frame.is_none() {
            self.first_frame = Some(seen.number);
            self.times_ns[0] = seen.time_ns;
        }
        self.times_ns[1] = self.times_ns[1].max(seen.time_ns);
        self.sent.packets += 1;
        let dscp = packet.net.traffic_class() >> 2;
        let ecn = packet.net.ecn();
        self.sent.ecn_capable += u64::from(ecn != Ecn::NotEct);
        if ecn == Ecn::Ce {
            self.mark(seen, is_cnp);
        }
        let hop_limit = packet.net.hop_limit();
        let [least, most] = self.hop_limits.unwrap_or([hop_limit; 2]);
        self.hop_limits = Some([least.min(hop_limit), most.max(hop_limit)]);
        if hop_limit <= 1 && self.last_hop_frame.is_none() {
            self.last_hop_frame = Some(seen.number);
        }
        if is_cnp {
            self.notify(seen, dscp);
            return;
        }
        let pcp = packet.eth.tags.first().map(|tag| (tag.tci >> 13) as u8);
        self.classes.add(Class { dscp, pcp }, seen.number);
        if let Some(udp) = packet.udp {
            let ports = &mut self.sent.source_ports;
            if !ports.contains(&udp.sport) && ports.len() < MOST_PORTS {
                ports.push(udp.sport);
            }
        }
    }

    fn mark(&mut self, seen: &Seen<'_>, is_cnp: bool) {
        self.sent.ce_marks += 1;
        if is_cnp || seen.packet.payload.is_empty() {
            return;
        }
        if self.ce_data == 0 {
            (self.ce_frame, self.ce_times_ns[0]) = (Some(seen.number), seen.time_ns);
        }
        self.ce_data += 1;
        self.ce_times_ns[1] = seen.time_ns;
    }

    fn notify(&mut self, seen: &Seen<'_>, dscp: u8) {
        self.sent.cnps += 1;
        self.cnp_frame = self.cnp_frame.or(Some(seen.number));
        self.cnp_dscp.add(dscp, seen.number);
        if let Some(last) = self.last_cnp_ns.replace(seen.time_ns) {
            self.sent.cnp_spacing.add(seen.time_ns.saturating_sub(last));
        }
    }

    /// Payload of a request or of a response.
    #[inline]
    pub(super) fn payload(&mut self, seen: &Seen<'_>, info: &Info, is_new: bool) {
        let packet = seen.packet;
        let len = packet.payload.len();
        if len == 0 {
            return;
        }
        self.sent.payload_bytes += len as u64;
        if is_new {
            self.sent.new_bytes += len as u64;
            let first = *self.first_data_ns.get_or_insert(seen.time_ns);
            self.sent.data_ns = self.sent.data_ns.max(seen.time_ns.saturating_sub(first));
        }
        if info.payload == PayloadRule::Full {
            match self.full {
                None => self.full = Some((len, seen.number)),
                Some((full, _)) => self.fulls_differ |= full != len,
            }
        }
    }

    /// A message has begun.
    #[inline]
    pub(super) fn message(&mut self, opcode: Opcode, frame: u64) {
        self.messages.add(opcode.operation(), frame);
    }

    pub(super) fn rnr(&mut self, frame: u64, timer: RnrTimer) {
        let wait = timer.duration();
        self.sent.rnr_naks += 1;
        self.sent.rnr_waits.add(wait.as_nanos() as u64);
        if self.longest_wait.is_none_or(|(longest, _)| wait > longest.duration()) {
            self.longest_wait = Some((timer, frame));
        }
    }

    pub(super) fn nak(&mut self, code: NakCode) {
        self.naks.add(code.get(), 0);
    }

    /// NAKs of any code.
    pub(in crate::check) fn naks(&self) -> u64 {
        self.naks.iter().map(|entry| entry.count).sum()
    }

    /// NAKs of this code.
    pub(in crate::check) fn naks_of(&self, code: NakCode) -> u64 {
        self.naks.iter().find(|entry| entry.key == code.get()).map_or(0, |entry| entry.count)
    }

    /// What is reported.
    pub(super) fn finish(self) -> Sent {
        let mut sent = self.sent;
        for Entry { key, count, .. } in self.classes.iter() {
            *sent.dscp.entry(key.dscp).or_default() += count;
            if let Some(pcp) = key.pcp {
                *sent.pcp.entry(pcp).or_default() += count;
            }
        }
        sent.cnp_dscp = self.cnp_dscp.iter().map(|entry| (entry.key, entry.count)).collect();
        sent.naks = self.naks.iter().map(|entry| (nak_name(entry.key), entry.count)).collect();
        for entry in self.messages.iter() {
            *sent.messages.entry(message_name(entry.key)).or_default() += entry.count;
        }
        sent
    }
}

fn nak_name(code: u8) -> String {
    NakCode::new(code).name().map_or_else(|| format!("reserved_{code}"), str::to_owned)
}

/// What a message is called, by the operation of its first packet: the same number in every transport.
fn message_name(operation: u8) -> String {
    let name = Opcode(operation).info().map_or("", |info| info.name);
    let name = name.strip_prefix("RC_").unwrap_or(name);
    let kinds = ["SEND", "RDMA_WRITE", "RDMA_READ", "COMPARE_SWAP", "FETCH_ADD", "FLUSH", "ATOMIC_WRITE"];
    kinds.into_iter().find(|kind| name.starts_with(kind)).unwrap_or("OTHER").to_owned()
}
