//! What a requester sends: new packets in sequence, old ones as they were.

use std::collections::VecDeque;
use std::time::Duration;

use rocespec_codec::{
    Header, Info, Mtu, Net, Opcode, PayloadRule, Position, Psn, Reth, Roce, SyndromeClass, Transport, icrc,
};
use rocespec_model::Time;
use rocespec_reports::outcome::Level;

use super::holes::Holes;
use super::retries::Retries;
use super::{ACKNOWLEDGE, LEAST_MTU, MOST_MTU, StreamConfig, is_read_like, must, psns};
use crate::oracle::Breach;

/// Most packets that are remembered. More than any device has outstanding; older ones are no longer judged.
const LIMIT: usize = 1 << 16;
/// The same for a capture, in which there may be thousands of connections.
const CAPTURE_LIMIT: usize = 1 << 8;
/// What is seen of a packet that was sent again with the same headers.
pub const OTHER_PAYLOAD: &str = "the same headers with another payload";
/// Acknowledged packets that are remembered.
const DONE: usize = 16;
/// First number of outstanding PSNs that is too many: beyond it a duplicate cannot be told from a new packet.
const SPAN: u32 = 1 << 23;

/// What a requester sent.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    /// PSN of the next new packet.
    next: Option<Psn>,
    /// Everything before it is acknowledged, but for what has responses of its own.
    acknowledged: Option<Psn>,
    place: Place,
    sent: VecDeque<Sent>,
    /// The last ones that were acknowledged: their PSNs are taken.
    done: VecDeque<Sent>,
    /// A READ that was the last request, as long as the path MTU that says how many PSNs it takes is not known.
    unmeasured: Option<Sent>,
    retries: Retries,
    holes: Holes,
}

/// Where in its messages a requester is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Packets before were not seen.
    Unknown,
    Between,
    Within(Message),
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
    /// Bytes of payload.
    len: usize,
    icrc: u32,
    changing: Changing,
    /// Its last response has come.
    answered: bool,
}

impl Sent {
    fn end(&self) -> Psn {
        self.psn.plus(self.psns)
    }

    /// The packet has the content of the one that was sent: with what may change as it was then, it has its ICRC.
    fn is_same(&self, packet: &Roce<'_>) -> bool {
        let mut as_before = packet.clone();
        self.changing.put(&mut as_before);
        icrc::compute(&as_before) == self.icrc
    }
}

/// What the ICRC covers and a packet may have otherwise when it is sent again.
#[derive(Debug, Clone, Copy)]
struct Changing {
    id: u16,
    sport: u16,
    ack_req: bool,
    migreq: bool,
}

impl Changing {
    fn of(packet: &Roce<'_>) -> Changing {
        let id = match packet.net {
            Net::V4(ip) => ip.id,
            Net::V6(_) | Net::Grh(_) => 0,
        };
        let sport = packet.udp.map_or(0, |udp| udp.sport);
        Changing { id, sport, ack_req: packet.bth.ack_req, migreq: packet.bth.migreq }
    }

    fn put(&self, packet: &mut Roce<'_>) {
        if let Net::V4(ip) = &mut packet.net {
            ip.id = self.id;
        }
        if let Some(udp) = &mut packet.udp {
            udp.sport = self.sport;
        }
        (packet.bth.ack_req, packet.bth.migreq) = (self.ack_req, self.migreq);
    }
}

impl Requests {
    pub(super) fn new(config: &StreamConfig, skew: Duration) -> Requests {
        let next = config.sends_from;
        let retries = Retries::new(config.ack_timeout, skew);
        let place = if next.is_some() { Place::Between } else { Place::Unknown };
        Requests {
            next,
            acknowledged: next,
            place,
            sent: VecDeque::new(),
            done: VecDeque::new(),
            unmeasured: None,
            retries,
            holes: Holes::default(),
        }
    }

    pub(super) fn next(&self) -> Option<Psn> {
        self.next
    }

    /// The path MTU is known now, and with it where the READ before ends.
    pub(super) fn set_mtu(&mut self, mtu: usize) {
        let Some(read) = self.unmeasured.take() else { return };
        let read = Sent { psns: read.reth.len.div_ceil(mtu.max(1) as u32), ..read };
        (self.next, self.place) = (Some(read.end()), Place::Between);
        self.sent.push_back(read);
    }

    /// What was not seen of it.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    /// A response has come: what it acknowledges is forgotten.
    pub(super) fn response(
        &mut self,
        now: Time,
        packet: &Roce<'_>,
        info: &Info,
        is_right: bool,
        config: &StreamConfig,
    ) {
        let psn = packet.bth.psn;
        let class = packet.ext.aeth.syndrome.class();
        let Some(next) = self.next else { return };
        let acknowledged = *self.acknowledged.get_or_insert_with(|| self.sent.front().map_or(next, |sent| sent.psn));
        let is_outstanding = psn.since(acknowledged) >= 0 && psn.since(next) < 0;
        let nak = Some(class).filter(|_| info.has(Header::Aeth) && is_outstanding && is_right);
        self.retries.response(now, psn, nak);
        let covered = if !info.has(Header::Aeth) || matches!(class, SyndromeClass::Ack(_)) { psn.next() } else { psn };
        // Beyond what was sent it is none of ours.
        let acknowledged =
            if covered.since(acknowledged) > 0 && covered.since(next) <= 0 { covered } else { acknowledged };
        self.acknowledged = Some(acknowledged);
        self.holes.acknowledged(acknowledged);
        if info.ends_message() && packet.bth.opcode.operation() != ACKNOWLEDGE {
            let answered = |sent: &&mut Sent| is_read_like(sent.opcode) && sent.end() == psn.next();
            if let Some(sent) = self.sent.iter_mut().find(answered) {
                sent.answered = true;
            }
        }
        // The responses of a READ may be missing in a capture; what came behind them tells that they were there.
        let waits = |sent: &Sent| config.is_whole && is_read_like(sent.opcode);
        while let Some(sent) = self.sent.front()
            && (sent.answered || !waits(sent) && sent.end().since(acknowledged) <= 0)
        {
            if self.done.len() == DONE {
                self.done.pop_front();
            }
            self.done.extend(self.sent.pop_front());
        }
    }

    pub(super) fn judge(
        &mut self,
        now: Time,
        packet: &Roce<'_>,
        right_icrc: u32,
        info: &Info,
        config: &StreamConfig,
    ) -> Vec<Breach> {
        let mut breaches = Vec::new();
        self.unmeasured = None;
        // rule: rc.requester.segmentation, uc.requester.segmentation, ud.requester.length
        if !is_allowed(info.payload, packet.payload.len(), config.mtu) {
            let expected = allowed(info.payload, config.mtu);
            let seen = format!("{} with {} bytes", info.name, packet.payload.len());
            breaches.push(must(packet_length(config), expected, seen, "the opcode says how much a packet carries"));
        }
        if config.transport == Transport::Ud {
            return breaches;
        }
        let psn = packet.bth.psn;
        let distance = self.next.map_or(0, |next| psn.since(next));
        if config.transport != Transport::Uc {
            let is_oldest = self.sent.front().is_none_or(|oldest| oldest.psn == psn);
            breaches.extend(self.retries.judge(now, psn, is_oldest));
            if distance < 0 {
                self.holes.fill(psn);
                breaches.extend(self.judge_again(packet, config));
                return breaches;
            }
        }
        if distance > 0 && !config.is_whole {
            self.place = Place::Unknown;
            self.holes.open(psn.minus(distance as u32 & 0xff_ffff), distance as u32);
        }
        if distance != 0 && (distance < 0 || config.is_whole) {
            // rule: rc.requester.psn-order, uc.requester.psn-order
            let rule =
                if config.transport == Transport::Uc { "uc.requester.psn-order" } else { "rc.requester.psn-order" };
            let expected = self.next.map_or_else(String::new, |next| format!("psn=@{:#08x}", next.get()));
            let seen = format!("psn=@{:#08x}", psn.get());
            breaches.push(must(rule, expected, seen, "each new packet takes the PSN behind the one before it"));
            self.place = Place::Between;
        } else {
            breaches.extend(self.judge_place(packet, info, config));
        }
        self.begin(packet, info);
        self.remember(packet, right_icrc, info, config, &mut breaches);
        breaches
    }

    /// A new packet fits the message that has begun.
    fn judge_place(&self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Option<Breach> {
        let is_write = is_write(packet.bth.opcode);
        let fits = match (self.place, info.position) {
            (Place::Unknown, _) | (Place::Between, Position::First | Position::Only) => true,
            (Place::Within(message), Position::Middle | Position::Last) => message.is_write == is_write,
            _ => false,
        };
        let uc = config.transport == Transport::Uc;
        if !fits {
            // rule: rc.requester.segmentation, uc.requester.segmentation
            let rule = if uc { "uc.requester.segmentation" } else { "rc.requester.segmentation" };
            let expected = match self.place {
                Place::Within(Message { is_write: true, .. }) => "MIDDLE or LAST of the WRITE that has begun",
                Place::Within(_) => "MIDDLE or LAST of the SEND that has begun",
                _ => "FIRST or ONLY",
            };
            let why = "a message is FIRST, MIDDLEs and LAST, or ONLY, of one operation";
            return Some(must(rule, expected.to_owned(), info.name.to_owned(), why));
        }
        // rule: rc.requester.write-length, uc.requester.write-length
        let len = packet.payload.len() as u32;
        let promised = match self.place {
            _ if !is_write => return None,
            Place::Within(message) => message.left?,
            _ if info.has(Header::Reth) => packet.ext.reth.len,
            _ => return None,
        };
        let right = if info.ends_message() { promised == len } else { promised > len };
        let rule = if uc { "uc.requester.write-length" } else { "rc.requester.write-length" };
        let why = "the packets of a WRITE together carry what its RETH says";
        (!right).then(|| {
            let seen = format!("{} with {len} of the {promised} bytes that are left", info.name);
            must(rule, "as many bytes as the RETH says".to_owned(), seen, why)
        })
    }

    fn begin(&mut self, packet: &Roce<'_>, info: &Info) {
        let promised = info.has(Header::Reth).then_some(packet.ext.reth.len);
        let promised = promised.or(match self.place {
            Place::Within(message) => message.left,
            _ => None,
        });
        let left = promised.map(|left| left.saturating_sub(packet.payload.len() as u32));
        let is_write = is_write(packet.bth.opcode);
        self.place = if info.ends_message() { Place::Between } else { Place::Within(Message { is_write, left }) };
    }

    fn remember(
        &mut self,
        packet: &Roce<'_>,
        right_icrc: u32,
        info: &Info,
        config: &StreamConfig,
        breaches: &mut Vec<Breach>,
    ) {
        let psn = packet.bth.psn;
        let (opcode, reth, len) = (packet.bth.opcode, packet.ext.reth, packet.payload.len());
        let Some(psns) = psns(packet, config.mtu) else {
            (self.next, self.place) = (None, Place::Unknown);
            let changing = Changing::of(packet);
            let read = Sent { psn, psns: 0, opcode, reth, len, icrc: right_icrc, changing, answered: false };
            self.unmeasured = Some(read);
            return;
        };
        self.next = Some(psn.plus(psns));
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
        let outstanding = psn.plus(psns).minus(first.get()).get();
        // rule: rc.requester.psn-span
        if outstanding >= SPAN && config.is_whole {
            let why = "with more, a duplicate could not be told from a new packet";
            let expected = format!("fewer than {SPAN} PSNs outstanding");
            breaches.push(must("rc.requester.psn-span", expected, format!("{outstanding}"), why));
        }
        if self.sent.len() >= if config.is_whole { LIMIT } else { CAPTURE_LIMIT } {
            self.sent.pop_front();
        }
        let changing = Changing::of(packet);
        self.sent.push_back(Sent { psn, psns, opcode, reth, len, icrc: right_icrc, changing, answered: false });
    }

    /// What was sent with this PSN, where it is remembered.
    fn at(&self, psn: Psn) -> Option<Sent> {
        let find = |list: &VecDeque<Sent>| {
            let behind = list.partition_point(|sent| sent.psn.since(psn) <= 0);
            let sent = *list.get(behind.checked_sub(1)?)?;
            psn.is_within(sent.psn, sent.psns).then_some(sent)
        };
        find(&self.sent).or_else(|| find(&self.done))
    }

    /// A packet that was sent before is the same again. A READ may ask for its rest only.
    ///
    /// rule: rc.requester.retransmission-unchanged
    fn judge_again(&self, packet: &Roce<'_>, config: &StreamConfig) -> Option<Breach> {
        let psn = packet.bth.psn;
        // What is forgotten cannot be judged.
        let sent = self.at(psn)?;
        let skipped = psn.minus(sent.psn.get()).get();
        // In a capture it may be the first message of a new queue pair with the number of an old one.
        let starts = packet.bth.opcode.info().is_some_and(Info::starts_message);
        let is_over = !config.is_whole && self.sent.is_empty() && starts;
        let breach = |expected: String, seen: String| {
            let why = "a packet that is sent again keeps its PSN, its opcode and its content";
            let breach = must("rc.requester.retransmission-unchanged", expected, seen, why);
            Some(Breach { level: if is_over { Level::Should } else { Level::Must }, ..breach })
        };
        if skipped > 0 && !(is_read_like(packet.bth.opcode) && packet.bth.opcode == sent.opcode) {
            // rule: rc.requester.read-psns
            let why = "a READ takes one PSN for each of its responses, and the next request the one behind them";
            let expected = format!("psn=@{:#08x} behind the {} responses of the READ", sent.end().get(), sent.psns);
            let seen = format!("{:?} psn=@{:#08x}", packet.bth.opcode, psn.get());
            return Some(must("rc.requester.read-psns", expected, seen, why));
        }
        if packet.bth.opcode != sent.opcode {
            return breach(format!("{:?} as before", sent.opcode), format!("{:?}", packet.bth.opcode));
        }
        if skipped == 0 && sent.is_same(packet) {
            return None;
        }
        if packet.bth.opcode.operation() != super::READ {
            let reth = packet.ext.reth;
            let seen =
                if (reth, packet.payload.len()) == (sent.reth, sent.len) { OTHER_PAYLOAD } else { "another content" };
            return breach("the packet that was sent before".to_owned(), seen.to_owned());
        }
        let bytes = skipped.saturating_mul(config.mtu.unwrap_or(0) as u32);
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

/// So many bytes of payload are right; some are at every MTU, where it is not known.
fn is_allowed(rule: PayloadRule, len: usize, mtu: Option<usize>) -> bool {
    match (rule, mtu) {
        (PayloadRule::Full, None) => Mtu::from_bytes(len).is_some(),
        (_, mtu) => rule.allows(len, mtu.unwrap_or(MOST_MTU)),
    }
}

fn allowed(rule: PayloadRule, mtu: Option<usize>) -> String {
    let (known, mtu) = (mtu.is_some(), mtu.unwrap_or(MOST_MTU));
    match rule {
        PayloadRule::Empty => "no payload".to_owned(),
        PayloadRule::Full if known => format!("{mtu} bytes"),
        PayloadRule::Full => format!("a path MTU, which is {LEAST_MTU}, 512, 1024, 2048 or {MOST_MTU} bytes"),
        PayloadRule::OneToMtu => format!("1 to {mtu} bytes"),
        PayloadRule::ZeroToMtu => format!("0 to {mtu} bytes"),
        PayloadRule::Eight => "8 bytes".to_owned(),
        PayloadRule::Sixteen => "16 bytes".to_owned(),
    }
}
