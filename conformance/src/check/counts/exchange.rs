//! The requests of one end, and what the other one answers.

use std::collections::VecDeque;

use rocespec_codec::{Header, Info, Opcode, Psn, Roce, SyndromeClass, Transport};
use rocespec_reports::examination::Mark;

use super::sequence::{Place, Sequence};
use super::side::Side;
use crate::check::packet::Seen;
use crate::oracle::is_read_like;

/// A packet that fills a gap this soon, with no NAK before it, was overtaken: no timeout of a device is as short, and
/// one that was told of the gap would have been told by a NAK.
const OVERTAKEN_NS: u64 = 100_000;

/// Requests that wait for their response, at most, and READs that are open. A device has no more than 255 of these.
const MOST_WAITING: usize = 32;
const MOST_READS: usize = 256;

/// More PSNs than that in one step are not acknowledged by one ACK.
const FAR: i32 = 1 << 22;

/// A READ takes no more PSNs than that: more could not be told from older ones.
const MOST_PSNS: u32 = 1 << 22;

const READ: u8 = Opcode::RC_RDMA_READ_REQUEST.operation();
const ACKNOWLEDGE: u8 = Opcode::RC_ACKNOWLEDGE.operation();

/// What asks a requester to send again.
#[derive(Debug, Clone, Copy)]
struct Reason {
    psn: Psn,
    time_ns: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A NAK: at once.
    Nak,
    /// An RNR NAK: after a wait.
    Wait,
    /// Responses with data that are missing.
    Missing,
}

/// How a packet counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) mark: Mark,
    /// PSNs that it stands for.
    pub(super) psns: u32,
    /// Its payload was not seen before.
    pub(super) is_new: bool,
}

/// Requests of one end, and the responses to them.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange {
    requests: Sequence,
    /// The PSNs of responses with data.
    responses: Sequence,
    /// While requests are sent again: the one that follows.
    again: Option<Psn>,
    /// Behind packets that were taken for overtaken ones, and how many they are.
    behind_late: Option<(Psn, u64)>,
    reason: Option<Reason>,
    /// The last one that was acknowledged.
    acked: Option<Psn>,
    /// Anything was heard of the other end.
    is_answered: bool,
    /// Requests that ask for a response, and when they were sent.
    waiting: VecDeque<(Psn, u64)>,
    /// The last PSNs of READs and ATOMICs that are open.
    reads: VecDeque<Psn>,
}

impl Exchange {
    /// A request.
    #[inline]
    pub(super) fn request(&mut self, seen: &Seen<'_>, info: &Info, mtu: Option<usize>, by: &mut Side) -> Verdict {
        let packet = seen.packet;
        let psn = packet.bth.psn;
        let transport = packet.bth.opcode.transport();
        if matches!(transport, Transport::Ud | Transport::Rd) {
            // One queue pair numbers what it sends to all others: what is missing here went to them.
            return Verdict { mark: Mark::Request, psns: 1, is_new: true };
        }
        let count = psns(packet, info, mtu);
        let psns = count.0;
        let place = self.requests.place(psn, count, false, seen.time_ns);
        let new = Verdict { mark: Mark::Request, psns, is_new: true };
        match place {
            Place::Next => {}
            Place::BehindGap => by.sent.gaps += 1,
            Place::Beginning => self.forget(),
            Place::Filling { since_ns, was_naked } => {
                let is_overtaken = self.reason.is_none() && self.again.is_none() && !was_naked;
                let is_soon = seen.time_ns.saturating_sub(since_ns) < OVERTAKEN_NS;
                if transport == Transport::Uc || is_overtaken && is_soon {
                    by.sent.late += 1;
                    let before = self.behind_late.filter(|(behind, _)| *behind == psn).map_or(0, |(_, count)| count);
                    self.behind_late = Some((psn.plus(psns), before + 1));
                    return new;
                }
                self.send_again(psn, psns, seen.time_ns, by);
                return Verdict { mark: Mark::Retransmission, psns, is_new: true };
            }
            // UC sends nothing again: a packet that was overtaken by very much, or a copy.
            Place::Again if transport == Transport::Uc => return Verdict { is_new: false, ..new },
            Place::Again => {
                if let Some((_, count)) = self.behind_late.filter(|(behind, _)| *behind == psn) {
                    // So they were no late ones: all that follows is sent again.
                    by.sent.late -= count;
                    by.sent.retransmissions += count;
                    by.sent.timeouts += 1;
                    self.again = Some(psn);
                }
                self.send_again(psn, psns, seen.time_ns, by);
                return Verdict { mark: Mark::Retransmission, psns, is_new: false };
            }
        }
        self.again = None;
        self.behind_late = None;
        self.wait_for(seen, psns);
        new
    }

    /// What was on the way belongs to another stream.
    fn forget(&mut self) {
        (self.acked, self.reason) = (None, None);
        self.waiting.clear();
        self.reads.clear();
    }

    fn send_again(&mut self, psn: Psn, psns: u32, time_ns: u64, by: &mut Side) {
        by.sent.retransmissions += 1;
        self.behind_late = None;
        let last = psn.plus(psns - 1);
        by.sent.duplicates += u64::from(self.acked.is_some_and(|acked| last.since(acked) <= 0));
        let goes_on = self.again.is_some_and(|again| psn.since(again) >= 0);
        if !goes_on {
            // A response may now be to either.
            self.waiting.clear();
            match self.reason.take() {
                Some(reason) if reason.kind == Kind::Nak && reason.psn == psn => {
                    by.sent.nak_reaction.add(time_ns.saturating_sub(reason.time_ns));
                }
                Some(_) => {}
                None => by.sent.timeouts += 1,
            }
        }
        self.again = Some(psn.plus(psns));
    }

    #[inline]
    fn wait_for(&mut self, seen: &Seen<'_>, psns: u32) {
        let bth = &seen.packet.bth;
        if bth.opcode.transport() == Transport::Uc {
            return;
        }
        let is_read_like = is_read_like(bth.opcode);
        if (bth.ack_req || is_read_like) && self.waiting.len() < MOST_WAITING {
            self.waiting.push_back((bth.psn, seen.time_ns));
        }
        if is_read_like {
            if self.reads.len() == MOST_READS {
                // Their responses are not captured.
                self.reads.clear();
            }
            self.reads.push_back(bth.psn.plus(psns - 1));
        }
    }

    /// A response from the other end: `from`. `by` sent the requests.
    #[inline]
    pub(super) fn response(&mut self, seen: &Seen<'_>, info: &Info, from: &mut Side, by: &mut Side) -> Verdict {
        let packet = seen.packet;
        let psn = packet.bth.psn;
        self.is_answered = true;
        by.sent.most_reads = by.sent.most_reads.max(self.reads.len() as u64);
        if packet.bth.opcode.operation() == ACKNOWLEDGE {
            return Verdict { mark: self.acknowledge(seen, from), psns: 1, is_new: false };
        }
        let place = self.responses.place(psn, (1, false), info.starts_message(), seen.time_ns);
        if place == Place::BehindGap && self.reason.is_none() {
            // A response is missing: the requester will ask for it again.
            self.reason = Some(Reason { psn, time_ns: seen.time_ns, kind: Kind::Missing });
        }
        self.cover(psn, seen.time_ns, from);
        from.sent.repeated_responses += u64::from(place == Place::Again);
        Verdict { mark: Mark::Response, psns: 1, is_new: place != Place::Again }
    }

    fn acknowledge(&mut self, seen: &Seen<'_>, from: &mut Side) -> Mark {
        let psn = seen.packet.bth.psn;
        match seen.packet.ext.aeth.syndrome.class() {
            SyndromeClass::Ack(_) => {
                from.sent.acks += 1;
                let open = self.reads.front().copied();
                match self.cover(psn, seen.time_ns, from) {
                    Some(0) => from.sent.repeated_acks += 1,
                    Some(count) => from.sent.acked_packets += u64::from(count),
                    None => {}
                }
                if open.is_some_and(|last| self.reads.front() != Some(&last)) {
                    // Behind a READ whose responses are missing: the requester will ask for them again.
                    self.reason = Some(Reason { psn, time_ns: seen.time_ns, kind: Kind::Missing });
                }
                Mark::Ack
            }
            SyndromeClass::RnrNak(timer) => {
                from.rnr(seen.number, timer);
                self.reason = Some(Reason { psn, time_ns: seen.time_ns, kind: Kind::Wait });
                self.cover(psn.minus(1), seen.time_ns, from);
                Mark::RnrNak
            }
            SyndromeClass::Nak(code) => {
                from.nak(code);
                if let Some(since) = self.requests.nak(psn) {
                    from.sent.nak_latency.add(seen.time_ns.saturating_sub(since));
                }
                self.reason = Some(Reason { psn, time_ns: seen.time_ns, kind: Kind::Nak });
                self.cover(psn.minus(1), seen.time_ns, from);
                Mark::Nak
            }
            SyndromeClass::Reserved(_) => Mark::Nak,
        }
    }

    /// All requests up to `psn` are answered: how many were not before; `None` where that cannot be said.
    #[inline]
    fn cover(&mut self, psn: Psn, time_ns: u64, from: &mut Side) -> Option<u32> {
        if self.requests.is_beyond(psn) {
            // Of requests that were not captured, or of none.
            return None;
        }
        let count = match (self.acked, self.requests.first()) {
            (Some(acked), _) => psn.since(acked),
            (None, Some(first)) => psn.since(first) + 1,
            (None, None) => {
                self.acked = Some(psn);
                return None;
            }
        };
        if count <= -FAR || count > FAR {
            self.acked = Some(psn);
            return None;
        }
        if count <= 0 {
            return Some(0);
        }
        self.acked = Some(psn);
        while self.reads.front().is_some_and(|last| last.since(psn) <= 0) {
            self.reads.pop_front();
        }
        while let Some((_, since)) = self.waiting.front().filter(|(asked, _)| asked.since(psn) <= 0) {
            from.sent.response_latency.add(time_ns.saturating_sub(*since));
            self.waiting.pop_front();
        }
        self.reason = self.reason.filter(|reason| reason.kind == Kind::Missing || reason.psn.since(psn) > 0);
        Some(count as u32)
    }

    /// The end of the capture.
    pub(super) fn finish(&self, by: &mut Side) {
        if self.is_answered {
            by.sent.most_reads = by.sent.most_reads.max(self.reads.len() as u64);
        }
    }
}

/// How many PSNs a request takes, and whether it may be more.
#[inline]
fn psns(packet: &Roce<'_>, info: &Info, mtu: Option<usize>) -> (u32, bool) {
    if packet.bth.opcode.operation() != READ || !info.has(Header::Reth) {
        return (1, false);
    }
    let len = packet.ext.reth.len;
    match mtu {
        Some(mtu) if mtu > 0 => {
            let count = len.div_ceil(u32::try_from(mtu).unwrap_or(u32::MAX)).max(1);
            (count.min(MOST_PSNS), count > MOST_PSNS)
        }
        // It fits into the smallest MTU, or nobody knows.
        _ => (1, len > 256),
    }
}
