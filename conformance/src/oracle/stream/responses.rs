//! What a responder sends: answers to what it received, and no more.

use std::collections::VecDeque;

use rocespec_codec::{Header, Info, Msn, NakCode, Opcode, PayloadRule, Psn, Roce, SyndromeClass, Transport};

use super::{ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD, READ, StreamConfig, is_read_like, must, psns};
use crate::oracle::Breach;

/// Most READs, ATOMICs and the like that are remembered; responses to older ones are no longer judged.
const LIMIT: usize = 256;
/// Most requests that a device has taken in before it answers the first of them.
const UNANSWERED: usize = 1024;
/// How far back a PSN is still that of a duplicate.
const OLDEST: u32 = (1 << 23) - 1;

/// What a responder received and sent.
#[derive(Debug, Clone)]
pub(super) struct Responses {
    /// No right responder expects a PSN beyond this one.
    reach: Psn,
    /// The lowest PSN that was expected or received.
    floor: Psn,
    /// A request was received.
    any: bool,
    /// Packets received that may have ended a message: no responder has counted more messages.
    endings: u64,
    asked: VecDeque<Asked>,
    /// Some have been forgotten.
    forgotten: bool,
    /// Messages that the responder has said to have counted.
    messages: u64,
    /// MSN of the last ACK.
    acknowledged: Msn,
    /// PSN of the sequence NAK whose packet has not come yet.
    gap: Option<Psn>,
    /// PSNs of the requests that came last: the NAK for a gap may leave when the gap is filled long since.
    recent: VecDeque<Psn>,
    /// It has sent a NAK that ends the connection.
    failed: bool,
}

/// A request that is answered by responses of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    psn: Psn,
    psns: u32,
    opcode: Opcode,
    len: u32,
    /// Its last response was sent, or it is not known whether there is one.
    answered: bool,
}

impl Asked {
    fn end(&self) -> Psn {
        self.psn.plus(self.psns)
    }

    fn overlaps(&self, other: &Asked) -> bool {
        other.psn.is_within(self.psn, self.psns) || self.psn.is_within(other.psn, other.psns)
    }
}

/// An unreliable service has answered.
///
/// rule: uc.responder.silent, ud.responder.silent
pub(super) fn from_unreliable(packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Breach {
    let is_uc = config.transport == Transport::Uc;
    let rule = if is_uc { "uc.responder.silent" } else { "ud.responder.silent" };
    let why = "an unreliable service acknowledges nothing";
    must(rule, "nothing".to_owned(), seen(packet, info), why)
}

fn seen(packet: &Roce<'_>, info: &Info) -> String {
    format!("{} psn=@{:#08x}", info.name, packet.bth.psn.get())
}

impl Responses {
    pub(super) fn new(config: &StreamConfig) -> Responses {
        Responses {
            reach: config.expects_from,
            floor: config.expects_from,
            any: false,
            endings: 0,
            asked: VecDeque::new(),
            forgotten: false,
            messages: 0,
            acknowledged: Msn::new(0),
            gap: None,
            recent: VecDeque::new(),
            failed: false,
        }
    }

    /// A request has come.
    pub(super) fn request(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) {
        let psn = packet.bth.psn;
        let opcode = packet.bth.opcode;
        let len = if info.has(Header::Reth) { packet.ext.reth.len } else { 0 };
        // Only one that is new for certain must be answered before what follows.
        let asked = Asked { psn, psns: psns(packet, config.mtu), opcode, len, answered: psn != self.reach };
        let later = |one: Psn, other: Psn| if one.since(other) > 0 { one } else { other };
        let lowest = if psn.since(self.floor) < 0 { psn } else { self.floor };
        self.floor = later(lowest, self.reach.minus(OLDEST));
        self.any = true;
        if psn.since(self.reach) <= 0 || !config.go_back_n {
            self.endings += u64::from(info.ends_message());
            self.reach = later(self.reach, asked.end());
        }
        self.note(psn);
        self.remember(asked);
    }

    /// A packet whose opcode nobody knows has come. It is refused where it is expected.
    pub(super) fn unknown(&mut self, psn: Psn) {
        if psn.since(self.floor) < 0 {
            self.floor = psn;
        }
        self.any = true;
        self.note(psn);
    }

    fn note(&mut self, psn: Psn) {
        if self.recent.len() == UNANSWERED {
            self.recent.pop_front();
        }
        self.recent.push_back(psn);
    }

    fn remember(&mut self, asked: Asked) {
        let same = |known: &&mut Asked| Asked { answered: asked.answered, ..**known } == asked;
        if let Some(known) = self.asked.iter_mut().find(same) {
            known.answered &= asked.answered;
            return;
        }
        // Of two requests in one place only one was taken, and nobody but the device knows which.
        for known in self.asked.iter_mut().filter(|known| known.opcode != asked.opcode && known.overlaps(&asked)) {
            known.answered = true;
        }
        if is_read_like(asked.opcode) {
            if self.asked.len() >= LIMIT {
                self.asked.pop_front();
                self.forgotten = true;
            }
            self.asked.push_back(asked);
        }
    }

    pub(super) fn judge(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Vec<Breach> {
        let seen = seen(packet, info);
        let mut breaches = Vec::new();
        if self.failed {
            // rule: rc.responder.error-silence
            let why = "a NAK that ends the connection is the last word";
            breaches.push(must("rc.responder.error-silence", "nothing".to_owned(), seen, why));
            return breaches;
        }
        let class = if info.has(Header::Aeth) { Some(packet.ext.aeth.syndrome.class()) } else { None };
        let is_positive = matches!(class, None | Some(SyndromeClass::Ack(_)));
        breaches.extend(self.judge_psn(packet.bth.psn, is_positive, &seen));
        if info.has(Header::Aeth) {
            breaches.extend(self.judge_msn(packet));
        }
        match class {
            Some(SyndromeClass::Nak(NakCode::PsnSequenceError)) => breaches.extend(self.judge_gap(packet.bth.psn)),
            Some(SyndromeClass::Nak(_)) => self.failed = true,
            _ => {}
        }
        if info.payload != PayloadRule::Empty || info.has(Header::AtomicAckEth) {
            breaches.extend(self.judge_answer(packet, info, config));
        } else if is_positive {
            breaches.extend(self.judge_order(packet.bth.psn, &seen));
        }
        breaches
    }

    /// rule: rc.responder.unexpected-response
    fn judge_psn(&self, psn: Psn, is_positive: bool, seen: &str) -> Option<Breach> {
        let too_far = psn.since(self.reach) >= if is_positive { 0 } else { 1 };
        // One before the first: nothing is acknowledged, as an ACK that only gives credits says.
        let too_old = psn.since(self.floor) < -1;
        let why = "a response answers a request that was received";
        (too_far || too_old || !self.any).then(|| {
            let expected = match self.any {
                true => format!("psn=@{:#08x} to @{:#08x}", self.floor.get(), self.reach.minus(1).get()),
                false => "nothing, since nothing was received".to_owned(),
            };
            must("rc.responder.unexpected-response", expected, seen.to_owned(), why)
        })
    }

    /// rule: rc.responder.msn
    fn judge_msn(&mut self, packet: &Roce<'_>) -> Option<Breach> {
        let msn = packet.ext.aeth.msn;
        let step = msn.since(Msn::new(self.messages as u32));
        let total = self.messages.saturating_add_signed(i64::from(step));
        let most = self.endings;
        if total > most {
            let expected = format!("msn={} or less", Msn::new(most as u32));
            let why = "the MSN counts messages that are complete, and no more were received";
            return Some(must("rc.responder.msn", expected, format!("msn={msn}"), why));
        }
        self.messages = self.messages.max(total);
        if packet.bth.opcode.operation() != ACKNOWLEDGE {
            // The responses of a READ show when it was executed, and may be told again later.
            return None;
        }
        let before = std::mem::replace(&mut self.acknowledged, msn);
        let why = "the MSN never steps back";
        (msn.since(before) < 0)
            .then(|| must("rc.responder.msn", format!("msn={before} or more"), format!("msn={msn}"), why))
    }

    /// rule: rc.responder.one-nak-per-gap
    fn judge_gap(&mut self, psn: Psn) -> Option<Breach> {
        if self.recent.contains(&psn) {
            self.gap = None;
            return None;
        }
        let repeated = self.gap.replace(psn) == Some(psn);
        let why = "one sequence NAK asks for a packet, until it has come";
        let expected = "silence until that packet comes".to_owned();
        repeated.then(|| {
            must("rc.responder.one-nak-per-gap", expected, format!("a second NAK for psn=@{:#08x}", psn.get()), why)
        })
    }

    /// A response with data, or an ATOMIC's, belongs to a request of its kind.
    fn judge_answer(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Option<Breach> {
        let psn = packet.bth.psn;
        let len = packet.payload.len();
        let is_atomic_answer = info.has(Header::AtomicAckEth);
        let fits = |asked: &&mut Asked| {
            let place = psn.minus(asked.psn.get()).get();
            if place >= asked.psns {
                return false;
            }
            match asked.opcode.operation() {
                READ => {
                    let (starts, ends) = (place == 0, place + 1 == asked.psns);
                    let skipped = place as usize * config.mtu;
                    let wanted = (asked.len as usize).saturating_sub(skipped).min(config.mtu);
                    let at = (info.starts_message(), info.ends_message());
                    !is_atomic_answer && at == (starts, ends) && len == wanted
                }
                COMPARE_SWAP | FETCH_ADD => is_atomic_answer,
                _ => !is_atomic_answer && info.starts_message() && info.ends_message() && len == 0,
            }
        };
        // A READ and the retry of its rest end with the same response.
        let mut is_answer = false;
        for asked in self.asked.iter_mut().filter(fits) {
            is_answer = true;
            asked.answered |= asked.end() == psn.next();
        }
        if is_answer {
            return None;
        }
        let before_memory = self.asked.front().is_none_or(|first| psn.since(first.psn) < 0);
        if self.forgotten && before_memory {
            return None;
        }
        let within = self.asked.iter().any(|asked| psn.is_within(asked.psn, asked.psns));
        // rule: rc.responder.read-segmentation, rc.responder.atomic-ack
        let rule = match (within, is_atomic_answer) {
            (false, _) => "rc.responder.unexpected-response",
            (true, false) => "rc.responder.read-segmentation",
            (true, true) => "rc.responder.atomic-ack",
        };
        let seen = format!("{} psn=@{:#08x} {len}B", info.name, psn.get());
        let why = "a response with data belongs to a READ, its place and length to its PSN; other requests have others";
        Some(must(rule, "a response that fits a request at this PSN".to_owned(), seen, why))
    }

    /// An ACK does not overtake the responses of what came before it.
    ///
    /// rule: rc.responder.response-order
    fn judge_order(&self, psn: Psn, seen: &str) -> Option<Breach> {
        let passed = self.asked.iter().find(|asked| !asked.answered && asked.end().since(psn) <= 0)?;
        let why = "responses leave in the order of their requests";
        let expected = format!("first the response to {:?} psn=@{:#08x}", passed.opcode, passed.psn.get());
        Some(must("rc.responder.response-order", expected, seen.to_owned(), why))
    }
}
