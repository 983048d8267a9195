//! One connection of a capture: each end judged by its own oracle.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use rocespec_codec::icrc::Verdict;
use rocespec_codec::{Info, Mtu, Net, PayloadRule, Psn, Qpn, Roce, Transport, icrc};
use rocespec_model::Time;
use rocespec_reports::examination::{self, Paired};
use rocespec_reports::outcome::Level;

use super::copies::Copies;
use super::counts::Counts;
use super::doubt;
use super::faults::Faults;
use super::findings::Collected;
use super::packet::Seen;
use super::recent::Recent;
use super::senders::Sender;
use super::ways::widen;
use crate::oracle::{Breach, Ends, FAR, Oracle, OracleConfig, StreamConfig, wrong_icrc};

/// Who begins again with old PSNs after so long a silence may be another queue pair with the same number, in nanoseconds.
const SILENCE_NS: u64 = 1_000_000_000;

/// What is known of one end.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndFacts {
    /// Its address.
    pub(super) address: Ipv6Addr,
    /// Its queue pair, where one is named.
    pub(super) qpn: Option<Qpn>,
    /// First PSN that it sends, where the connection manager said so.
    pub(super) sends_from: Option<Psn>,
    /// READs and ATOMICs that it may have outstanding.
    pub(super) max_rd_atomic: Option<usize>,
    /// Nothing that it sends or receives is missing in the capture.
    pub(super) is_whole: bool,
    /// Its packets are judged.
    pub(super) is_judged: bool,
    /// The record of its address.
    pub(super) sender: Sender,
}

#[derive(Debug, Clone)]
struct End {
    facts: EndFacts,
    oracle: Oracle,
    /// Path MTU that its packets show.
    mtu: Option<usize>,
    copies: Copies,
    packets: u64,
    /// Wrong ICRCs. Whether they are faults shows when all packets of the sender are known.
    wrong_icrcs: Collected,
    /// What packets with a wrong ICRC break, before any had a right one: it counts where placeholders stand in place of all.
    doubtful: Collected,
    /// There were such packets.
    is_doubtful: bool,
    /// It has answered: what was sent to it was accepted.
    has_answered: bool,
    said: Said,
}

/// What an end said last: enough to tell that another queue pair has taken its place.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    /// PSN of its last response.
    answered: Option<Psn>,
    /// PSNs of the requests that came since then, the first and the last.
    asked: Option<(Psn, Psn)>,
    /// UDP source ports of its last request and of its last response.
    ports: [Option<u16>; 2],
    /// Number of its last frame.
    frame: u64,
    /// The time of it.
    time_ns: u64,
}

impl Said {
    /// A response with this PSN answers nothing that it was asked since its last response. `next`: the PSN that it will be
    /// asked for next.
    fn is_idle(&self, psn: Psn, next: Option<Psn>) -> bool {
        let is_asked = self.asked.is_some_and(|(first, last)| psn.since(first) >= 0 && psn.since(last) <= 0);
        let is_answered = self.answered.is_some_and(|answered| psn.since(answered) <= 0);
        !is_asked && (is_answered || next.is_some_and(|next| psn.since(next) >= 0))
    }
}

/// A connection.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    transport: Transport,
    pub(super) paired: Paired,
    ends: [End; 2],
    /// Path MTU that the connection manager said.
    agreed_mtu: Option<usize>,
    /// The end that sent the last packet.
    last_from: Option<usize>,
    counts: Counts,
    findings: Collected,
    recent: Recent,
    frames: Option<[u64; 2]>,
    times_ns: [u64; 2],
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was judged.
    Judged,
    /// It is a copy that the capture made.
    Copy,
}

impl Connection {
    pub(super) fn new(transport: Transport, paired: Paired, ends: [EndFacts; 2], mtu: Option<usize>) -> Connection {
        let end = |at: usize| End {
            facts: ends[at],
            oracle: oracle(transport, &ends[at], &ends[1 - at], mtu),
            mtu: None,
            copies: Copies::default(),
            packets: 0,
            wrong_icrcs: Collected::default(),
            doubtful: Collected::default(),
            is_doubtful: false,
            has_answered: false,
            said: Said::default(),
        };
        Connection {
            transport,
            paired,
            ends: [end(0), end(1)],
            agreed_mtu: mtu,
            last_from: None,
            counts: Counts::new(),
            findings: Collected::default(),
            recent: Recent::default(),
            frames: None,
            times_ns: [0; 2],
        }
    }

    /// There are thousands of connections: less is told of this one. To be said before its first packet.
    pub(super) fn one_of_many(&mut self) {
        self.counts.one_of_many();
        self.findings.one_of_many();
        for end in &mut self.ends {
            end.wrong_icrcs.one_of_many();
            end.doubtful.one_of_many();
        }
    }

    /// The other direction has been found.
    pub(super) fn is_with(&mut self, qpn: Qpn) {
        self.paired = Paired::Traffic;
        self.ends[0].facts.qpn = Some(qpn);
        self.restart();
    }

    pub(super) fn sender(&self, end: usize) -> Sender {
        self.ends[end].facts.sender
    }

    /// The end has sent a packet. `is_received`: nothing keeps the other end from taking it, as far as its ICRC tells.
    pub(super) fn packet(&mut self, from: usize, seen: &Seen<'_>, is_received: bool) -> Taken {
        let is_next = self.last_from == Some(from);
        if self.ends[from].copies.is_copy(seen, is_next) {
            return Taken::Copy;
        }
        self.last_from = Some(from);
        self.ends[from].packets += 1;
        self.span(seen);
        let wrong_icrc = seen.right_icrc.filter(|right| *right != seen.packet.icrc);
        let is_whole = self.ends[from].facts.is_whole;
        if let Some(right) = wrong_icrc
            && !is_received
            && !is_whole
        {
            // Damaged on its way, so that nothing in it says what was sent.
            self.counts.note(from, seen, self.mtu(from));
            self.recent.note(from, seen);
            self.findings.goes_on(&self.recent);
            self.hold_icrc(from, seen, right);
            return Taken::Judged;
        }
        if wrong_icrc.is_none() && seen.right_icrc.is_some() && std::mem::take(&mut self.ends[from].is_doubtful) {
            self.ends[from].doubtful = Collected::default();
            self.restart();
        }
        self.ends[from].is_doubtful |= wrong_icrc.is_some() && !is_whole;
        self.learn_mtu(from, seen);
        if self.is_another(from, seen) {
            self.restart();
        }
        self.note_said(from, seen);
        self.counts.note(from, seen, self.mtu(from));
        self.recent.note(from, seen);
        self.findings.goes_on(&self.recent);
        let now = Time::ZERO + Duration::from_nanos(seen.time_ns);
        // Of a packet that is cut there is more than nothing to hold against what is sent again.
        let right_icrc = seen.right_icrc.unwrap_or_else(|| icrc::compute(seen.packet));
        let breaches = self.ends[from].oracle.sent_with(now, seen.packet, right_icrc);
        let is_right = breaches.is_empty();
        for breach in breaches {
            self.add(from, seen, breach, wrong_icrc.is_some() && !is_whole);
        }
        self.ends[from].has_answered |= seen.info.is_some_and(Info::is_response);
        if let Some(right) = wrong_icrc {
            self.hold_icrc(from, seen, right);
        }
        let receiver = &mut self.ends[1 - from].oracle;
        match (is_received, is_right) {
            (true, true) => receiver.received_right(now, seen.packet),
            (true, false) => receiver.received_whole(now, seen.packet),
            (false, _) => {}
        }
        Taken::Judged
    }

    /// Packets that waited for their connection come behind later ones of it.
    fn span(&mut self, seen: &Seen<'_>) {
        let [first, last] = *self.frames.get_or_insert([u64::MAX, 0]);
        if seen.number < first {
            self.times_ns[0] = seen.time_ns;
        }
        if seen.number > last {
            self.times_ns[1] = seen.time_ns;
        }
        self.frames = Some([first.min(seen.number), last.max(seen.number)]);
    }

    /// The ICRC of a packet of this end is wrong, by whatever cause.
    fn hold_icrc(&mut self, from: usize, seen: &Seen<'_>, right: u32) {
        let end = &mut self.ends[from];
        if end.facts.is_judged {
            let explanation = icrc::explain(seen.packet);
            // No damage on the way looks like a mistake that is known.
            let is_certain =
                end.facts.is_whole || !matches!(explanation.verdict, Verdict::Wrong | Verdict::Placeholder);
            if let Some(breach) = wrong_icrc(seen.packet, right) {
                let breach = Breach { seen: explanation.to_string(), ..breach };
                end.wrong_icrcs.add(from, seen, breach, is_certain, &self.recent);
            }
        }
    }

    /// A rule that is broken by a packet of this end. `is_doubtful`: its ICRC is wrong.
    fn add(&mut self, from: usize, seen: &Seen<'_>, mut breach: Breach, is_doubtful: bool) {
        let is_mtu_hearsay = self.agreed_mtu.is_some() && self.ends.iter().all(|end| end.mtu.is_none());
        if is_mtu_hearsay && doubt::is_of_mtu(breach.rule) {
            breach.level = breach.level.min(Level::Should);
        }
        let facts = &self.ends[from].facts;
        let is_explained = match breach.rule {
            // Whether the sender or a switch set the mark shows in all packets together.
            "lint.ecn" => true,
            "lint.ip-checksum" => has_no_checksum(seen.packet),
            _ => false,
        };
        if facts.is_judged && !is_explained {
            let is_whole = facts.is_whole;
            let list = if is_doubtful { &mut self.ends[from].doubtful } else { &mut self.findings };
            list.add(from, seen, breach, is_whole, &self.recent);
        }
    }

    /// The path MTU that an end uses.
    fn mtu(&self, end: usize) -> Option<usize> {
        self.ends[end].mtu.or(self.ends[1 - end].mtu).or(self.agreed_mtu)
    }

    /// A full packet shows the path MTU, whatever the connection manager said: programs may set another one.
    fn learn_mtu(&mut self, from: usize, seen: &Seen<'_>) {
        let len = seen.packet.payload.len();
        if self.ends[from].mtu.is_some()
            || !seen.info.is_some_and(|info| info.payload == PayloadRule::Full)
            || Mtu::from_bytes(len).is_none()
        {
            return;
        }
        self.ends[from].mtu = Some(len);
        self.ends[from].oracle.set_mtu(len);
        if self.ends[1 - from].mtu.is_none() {
            self.ends[1 - from].oracle.set_mtu(len);
            if self.agreed_mtu.is_some_and(|agreed| agreed != len) {
                // What was measured by the other one is wrong.
                self.restart();
            }
        }
    }

    /// A new queue pair has the number of an old one.
    fn is_another(&self, from: usize, seen: &Seen<'_>) -> bool {
        let Some(info) = seen.info else { return false };
        let (psn, said) = (seen.packet.bth.psn, &self.ends[from].said);
        let is_old = if info.is_request() {
            let Some(next) = self.ends[from].oracle.next_psn() else { return false };
            let distance = psn.since(next);
            if distance.unsigned_abs() > FAR {
                return true;
            }
            let is_answered = self.ends[1 - from].said.answered.is_some_and(|answered| psn.since(answered) <= 0);
            let last_ns = self.ends[0].said.time_ns.max(self.ends[1].said.time_ns);
            let is_late = seen.time_ns.saturating_sub(last_ns) >= SILENCE_NS;
            if is_late && is_answered && info.starts_message() {
                return true;
            }
            distance < 0
        } else {
            self.is_idle(from, psn)
        };
        // A queue pair keeps its source port, so that its packets keep their order.
        let (before, port) = (said.ports[usize::from(info.is_response())], seen.packet.udp.map(|udp| udp.sport));
        is_old && before.is_some() && before != port
    }

    fn note_said(&mut self, from: usize, seen: &Seen<'_>) {
        (self.ends[from].said.frame, self.ends[from].said.time_ns) = (seen.number, seen.time_ns);
        let Some(info) = seen.info else { return };
        let psn = seen.packet.bth.psn;
        self.ends[from].said.ports[usize::from(info.is_response())] = seen.packet.udp.map(|udp| udp.sport);
        if info.is_response() {
            (self.ends[from].said.answered, self.ends[from].said.asked) = (Some(psn), None);
        } else {
            widen(&mut self.ends[1 - from].said.asked, psn);
        }
    }

    /// A response of this end with this PSN answers nothing that the other end has asked: it may be meant for another one.
    pub(super) fn is_idle(&self, end: usize, psn: Psn) -> bool {
        self.ends[end].said.is_idle(psn, self.ends[1 - end].oracle.next_psn())
    }

    /// Number of the last frame of both ends.
    pub(super) fn last_frame(&self) -> u64 {
        self.ends[0].said.frame.max(self.ends[1].said.frame)
    }

    /// Nothing is known of what was sent before.
    fn restart(&mut self) {
        for at in [0, 1] {
            self.ends[at].facts.is_whole = false;
            let facts = |end: usize| EndFacts { sends_from: None, ..self.ends[end].facts };
            self.ends[at].oracle = oracle(self.transport, &facts(at), &facts(1 - at), self.mtu(at));
            let Said { frame, time_ns, .. } = self.ends[at].said;
            self.ends[at].said = Said { frame, time_ns, ..Said::default() };
        }
    }

    /// Packets that were certainly sent and received, and are not in the file.
    pub(super) fn missing(&self) -> u64 {
        self.ends.iter().map(|end| end.oracle.missing()).sum()
    }

    /// Number of the first frame; `None` when there is no packet of it.
    pub(super) fn first_frame(&self) -> Option<u64> {
        self.frames.map(|[first, _]| first)
    }

    /// One of two directions is missing in the capture.
    pub(super) fn is_one_direction(&self) -> bool {
        matches!(self.transport, Transport::Rc | Transport::Xrc) && self.ends.iter().any(|end| end.packets == 0)
    }

    /// The other end has answered this one.
    pub(super) fn is_answered(&self, end: usize) -> bool {
        self.ends[1 - end].has_answered
    }

    /// `faults` is told of it; `has_placeholders`: what stands in place of the ICRCs of an address is no fault of its own.
    pub(super) fn finish(
        mut self,
        number: u32,
        faults: &mut Faults<'_>,
        has_placeholders: impl Fn(Ipv6Addr) -> bool,
    ) -> examination::Connection {
        for end in &mut self.ends {
            let held = if has_placeholders(end.facts.address) { &mut end.doubtful } else { &mut end.wrong_icrcs };
            self.findings.merge(std::mem::take(held));
        }
        let gaps = self.ends.iter().any(|end| end.oracle.gaps() > 0);
        let missing = self.ends.iter().any(|end| end.oracle.missing() > 0);
        let end = |end: &End| examination::End {
            address: address(end.facts.address),
            qpn: end.facts.qpn.map(Qpn::get),
            mtu: end.mtu.map(|mtu| mtu as u32),
            silent: end.packets == 0,
        };
        let ends = [end(&self.ends[0]), end(&self.ends[1])];
        faults.connection(number, &ends, self.agreed_mtu, &self.counts);
        let (sent, points) = self.counts.finish();
        examination::Connection {
            number,
            transport: name(self.transport).to_owned(),
            paired: self.paired,
            ends,
            frames: self.frames.unwrap_or_default(),
            times_ns: self.times_ns,
            sent,
            findings: self.findings.finish(gaps, missing),
            points,
        }
    }
}

fn oracle(transport: Transport, own: &EndFacts, peer: &EndFacts, mtu: Option<usize>) -> Oracle {
    let none = Qpn::new(0);
    Oracle::new(OracleConfig {
        ends: Ends {
            own_qpn: own.qpn.unwrap_or(none),
            peer_qpn: peer.qpn.unwrap_or(none),
            path: None,
            station: None,
            pkey: None,
        },
        stream: StreamConfig {
            transport,
            mtu,
            sends_from: own.sends_from,
            expects_from: peer.sends_from,
            is_whole: own.is_whole,
            max_rd_atomic: own.max_rd_atomic,
            go_back_n: true,
            // A response that was not captured may have asked for it.
            ack_timeout: None,
        },
        skew: Duration::ZERO,
    })
}

/// The adapter fills the IP header checksum in later.
pub(super) fn has_no_checksum(packet: &Roce<'_>) -> bool {
    matches!(packet.net, Net::V4(ip) if ip.checksum == 0 && ip.right_checksum() != 0)
}

/// An address as people write it.
pub(super) fn address(gid: Ipv6Addr) -> String {
    IpAddr::V6(gid).to_canonical().to_string()
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Rc => "RC",
        Transport::Uc => "UC",
        Transport::Ud => "UD",
        Transport::Xrc => "XRC",
        Transport::Cnp => "CNP",
        _ => "?",
    }
}
