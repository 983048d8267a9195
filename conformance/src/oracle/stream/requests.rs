//! What a requester sends: new packets in sequence, old ones as they were.

use std::collections::VecDeque;

use rocespec_codec::{
    Header, Info, Net, Opcode, PayloadRule, Position, Psn, Reth, Roce, SyndromeClass, Transport, Udp, icrc,
};

use super::{ACKNOWLEDGE, StreamConfig, is_read_like, must, psns};
use crate::oracle::Breach;

/// Most packets that are remembered. More than any device has outstanding; older ones are no longer judged.
const LIMIT: usize = 1 << 16;
/// First number of outstanding PSNs that is too many: beyond it a duplicate cannot be told from a new packet.
const SPAN: u32 = 1 << 23;

/// What a requester sent.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    /// PSN of the next new packet.
    next: Psn,
    /// Everything before it is acknowledged, but for what has responses of its own.
    acknowledged: Psn,
    message: Option<Message>,
    sent: VecDeque<Sent>,
}

/// A message that has begun and not ended.
#[derive(Debug, Clone, Copy)]
struct Message {
    is_write: bool,
    /// Bytes that its RETH still promises.
    left: Option<u32>,
}

/// A packet that may have to be sent again.
#[derive(Debug, Clone, Copy)]
struct Sent {
    psn: Psn,
    psns: u32,
    opcode: Opcode,
    reth: Reth,
    digest: u32,
    /// Its last response has come.
    answered: bool,
}

impl Sent {
    fn end(&self) -> Psn {
        self.psn.plus(self.psns)
    }
}

impl Requests {
    pub(super) fn new(config: &StreamConfig) -> Requests {
        let next = config.sends_from;
        Requests { next, acknowledged: next, message: None, sent: VecDeque::new() }
    }

    pub(super) fn next(&self) -> Psn {
        self.next
    }

    /// A response has come: what it acknowledges is forgotten.
    pub(super) fn response(&mut self, packet: &Roce<'_>, info: &Info) {
        let psn = packet.bth.psn;
        let class = packet.ext.aeth.syndrome.class();
        let covered = if !info.has(Header::Aeth) || matches!(class, SyndromeClass::Ack(_)) { psn.next() } else { psn };
        // Beyond what was sent it is none of ours.
        if covered.since(self.acknowledged) > 0 && covered.since(self.next) <= 0 {
            self.acknowledged = covered;
        }
        if info.ends_message() && packet.bth.opcode.operation() != ACKNOWLEDGE {
            let answered = |sent: &&mut Sent| is_read_like(sent.opcode) && sent.end() == psn.next();
            if let Some(sent) = self.sent.iter_mut().find(answered) {
                sent.answered = true;
            }
        }
        while let Some(sent) = self.sent.front()
            && (sent.answered || !is_read_like(sent.opcode) && sent.end().since(self.acknowledged) <= 0)
        {
            self.sent.pop_front();
        }
    }

    pub(super) fn judge(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Vec<Breach> {
        let mut breaches = Vec::new();
        // rule: rc.requester.segmentation, uc.requester.segmentation, ud.requester.length
        if !info.payload.allows(packet.payload.len(), config.mtu) {
            let expected = allowed(info.payload, config.mtu);
            let seen = format!("{} with {} bytes", info.name, packet.payload.len());
            breaches.push(must(packet_length(config), expected, seen, "the opcode says how much a packet carries"));
        }
        if config.transport == Transport::Ud {
            return breaches;
        }
        let (psn, distance) = (packet.bth.psn, packet.bth.psn.since(self.next));
        if distance < 0 && config.transport != Transport::Uc {
            breaches.extend(self.judge_again(packet, config));
            return breaches;
        }
        if distance != 0 {
            // rule: rc.requester.psn-order, uc.requester.psn-order
            let rule =
                if config.transport == Transport::Uc { "uc.requester.psn-order" } else { "rc.requester.psn-order" };
            let expected = format!("psn=@{:#08x}", self.next.get());
            let seen = format!("psn=@{:#08x}", psn.get());
            breaches.push(must(rule, expected, seen, "each new packet takes the PSN behind the one before it"));
            self.message = None;
        } else {
            breaches.extend(self.judge_place(packet, info, config));
        }
        self.begin(packet, info);
        self.remember(packet, info, config, &mut breaches);
        breaches
    }

    /// A new packet fits the message that has begun.
    fn judge_place(&self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Option<Breach> {
        let is_write = is_write(packet.bth.opcode);
        let fits = match (self.message, info.position) {
            (None, Position::First | Position::Only) => true,
            (Some(message), Position::Middle | Position::Last) => message.is_write == is_write,
            _ => false,
        };
        let uc = config.transport == Transport::Uc;
        if !fits {
            // rule: rc.requester.segmentation, uc.requester.segmentation
            let rule = if uc { "uc.requester.segmentation" } else { "rc.requester.segmentation" };
            let expected = match self.message {
                Some(Message { is_write: true, .. }) => "MIDDLE or LAST of the WRITE that has begun",
                Some(_) => "MIDDLE or LAST of the SEND that has begun",
                None => "FIRST or ONLY",
            };
            let why = "a message is FIRST, MIDDLEs and LAST, or ONLY, of one operation";
            return Some(must(rule, expected.to_owned(), info.name.to_owned(), why));
        }
        // rule: rc.requester.write-length, uc.requester.write-length
        let len = packet.payload.len() as u32;
        let promised = match self.message {
            _ if !is_write => return None,
            Some(message) => message.left?,
            None => packet.ext.reth.len,
        };
        let right = if info.ends_message() { promised == len } else { promised > len };
        let rule = if uc { "uc.requester.write-length" } else { "rc.requester.write-length" };
        let seen = format!("{} with {len} of the {promised} bytes that are left", info.name);
        let why = "the packets of a WRITE together carry what its RETH says";
        (!right).then(|| must(rule, "as many bytes as the RETH says".to_owned(), seen, why))
    }

    fn begin(&mut self, packet: &Roce<'_>, info: &Info) {
        let promised = info.has(Header::Reth).then_some(packet.ext.reth.len);
        let promised = promised.or(self.message.and_then(|message| message.left));
        let left = promised.map(|left| left.saturating_sub(packet.payload.len() as u32));
        let is_write = is_write(packet.bth.opcode);
        self.message = (!info.ends_message()).then_some(Message { is_write, left });
    }

    fn remember(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig, breaches: &mut Vec<Breach>) {
        let (psn, psns) = (packet.bth.psn, psns(packet, config.mtu));
        self.next = psn.plus(psns);
        if config.transport == Transport::Uc {
            return;
        }
        // rule: rc.requester.rd-atomic
        if is_read_like(packet.bth.opcode)
            && let Some(limit) = config.max_rd_atomic
        {
            let open = self.sent.iter().filter(|sent| is_read_like(sent.opcode) && !sent.answered).count();
            if open >= limit {
                let seen = format!("{} while {open} are outstanding", info.name);
                let why = "the peer keeps room for no more than was agreed on";
                let expected = format!("at most {limit} READs and ATOMICs at once");
                breaches.push(must("rc.requester.rd-atomic", expected, seen, why));
            }
        }
        let first = self.sent.front().map_or(psn, |sent| sent.psn);
        let outstanding = self.next.minus(first.get()).get();
        // rule: rc.requester.psn-span
        if outstanding >= SPAN {
            let why = "with more, a duplicate could not be told from a new packet";
            let expected = format!("fewer than {SPAN} PSNs outstanding");
            breaches.push(must("rc.requester.psn-span", expected, format!("{outstanding}"), why));
        }
        if self.sent.len() >= LIMIT {
            self.sent.pop_front();
        }
        let (opcode, reth) = (packet.bth.opcode, packet.ext.reth);
        self.sent.push_back(Sent { psn, psns, opcode, reth, digest: digest(packet), answered: false });
    }

    /// A packet that was sent before is the same again. A READ may ask for its rest only.
    ///
    /// rule: rc.requester.retransmission-unchanged
    fn judge_again(&self, packet: &Roce<'_>, config: &StreamConfig) -> Option<Breach> {
        let psn = packet.bth.psn;
        let at = self.sent.partition_point(|sent| sent.psn.since(psn) <= 0);
        // What is forgotten cannot be judged.
        let sent = self.sent.get(at.checked_sub(1)?)?;
        let skipped = psn.minus(sent.psn.get()).get();
        if skipped >= sent.psns {
            return None;
        }
        let breach = |expected: String, seen: String| {
            let why = "a packet that is sent again keeps its PSN, its opcode and its content";
            Some(must("rc.requester.retransmission-unchanged", expected, seen, why))
        };
        if packet.bth.opcode != sent.opcode {
            return breach(format!("{:?} as before", sent.opcode), format!("{:?}", packet.bth.opcode));
        }
        if skipped == 0 && digest(packet) == sent.digest {
            return None;
        }
        if packet.bth.opcode.operation() != super::READ {
            return breach("the packet that was sent before".to_owned(), "another content".to_owned());
        }
        let bytes = skipped * config.mtu as u32;
        let rest = Reth {
            va: sent.reth.va.wrapping_add(u64::from(bytes)),
            len: sent.reth.len.saturating_sub(bytes),
            ..sent.reth
        };
        // The end may be left for later.
        let retry = packet.ext.reth;
        let is_part = (retry.va, retry.rkey) == (rest.va, rest.rkey) && retry.len <= rest.len;
        let shown = |reth: Reth| format!("va={:#x} rkey={} len={}", reth.va, reth.rkey, reth.len);
        if is_part { None } else { breach(shown(rest), shown(retry)) }
    }
}

fn is_write(opcode: Opcode) -> bool {
    matches!(opcode.operation(), 0x06..=0x0b)
}

fn packet_length(config: &StreamConfig) -> &'static str {
    match config.transport {
        Transport::Uc => "uc.requester.segmentation",
        Transport::Ud => "ud.requester.length",
        _ => "rc.requester.segmentation",
    }
}

fn allowed(rule: PayloadRule, mtu: usize) -> String {
    match rule {
        PayloadRule::Empty => "no payload".to_owned(),
        PayloadRule::Full => format!("{mtu} bytes"),
        PayloadRule::OneToMtu => format!("1 to {mtu} bytes"),
        PayloadRule::ZeroToMtu => format!("0 to {mtu} bytes"),
        PayloadRule::Eight => "8 bytes".to_owned(),
        PayloadRule::Sixteen => "16 bytes".to_owned(),
    }
}

/// A checksum over what must not change when a packet is sent again: all but the IP identification, the source port,
/// the AckReq and MigReq bits, and what the ICRC leaves out.
fn digest(packet: &Roce<'_>) -> u32 {
    let mut same = packet.clone();
    if let Net::V4(ip) = &mut same.net {
        ip.id = 0;
    }
    same.udp = same.udp.map(|udp| Udp { sport: 0, ..udp });
    (same.bth.ack_req, same.bth.migreq) = (false, false);
    icrc::compute(&same)
}
