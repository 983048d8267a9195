//! What a responder sends: answers to what it received, and no more.

use std::collections::VecDeque;

use rocespec_codec::{Header, Info, Msn, NakCode, Opcode, PayloadRule, Psn, Roce, SyndromeClass, Transport};
use rocespec_reports::outcome::Level;

use super::counted::Counted;
use super::holes::Holes;
use super::{
    ACKNOWLEDGE, COMPARE_SWAP, FAR, FETCH_ADD, LEAST_MTU, READ, StreamConfig, WRITE_LAST, WRITE_ONLY, is_read_like,
    must, psns,
};
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
    /// No right responder expects a PSN beyond this one. `None` where nothing was seen.
    reach: Option<Psn>,
    /// The lowest PSN that was expected or received. `None` where what was received before is not known.
    floor: Option<Psn>,
    /// A request was received.
    any: bool,
    /// A new request was seen: all before it are accounted for.
    heard: bool,
    /// The first request that was seen, until it is answered: what came before it may be answered as well.
    joins: Option<Psn>,
    /// Ends of messages that were seen since then.
    messages: u32,
    /// The last MSN since then.
    joining_msn: Option<Msn>,
    /// Everything that it received is known.
    has_joined: bool,
    /// Nothing is known of some requests with PSNs before this one.
    unseen: Option<Psn>,
    holes: Holes,
    counted: Counted,
    asked: VecDeque<Asked>,
    /// How many of those are not answered; they are among the last ones.
    open: usize,
    /// Some have been forgotten.
    forgotten: bool,
    /// The last PSN that was answered.
    answered: Option<Psn>,
    /// PSN and MSN of the last ACK.
    acknowledged: Option<(Psn, Msn)>,
    /// PSN of the sequence NAK whose packet has not come yet.
    gap: Option<Psn>,
    /// PSNs of the requests that came last: the NAK for a gap may leave when the gap is filled long since.
    recent: VecDeque<Psn>,
    /// PSN of the NAK that ended the connection.
    failed: Option<Psn>,
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

    /// The response fits a READ of a part of this one, which may have been asked for unseen.
    fn has_rest(&self, psn: Psn, info: &Info, len: usize, config: &StreamConfig) -> bool {
        let place = psn.minus(self.psn.get()).get();
        if self.opcode.operation() != READ || place >= self.psns || info.has(Header::AtomicAckEth) {
            return false;
        }
        let mtu = config.mtu.unwrap_or(LEAST_MTU as usize);
        let rest = (self.len as usize).saturating_sub(place as usize * mtu);
        if info.ends_message() { (1..=rest.min(mtu)).contains(&len) } else { len == mtu && rest > mtu }
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
            heard: false,
            joins: None,
            messages: 0,
            joining_msn: None,
            has_joined: config.expects_from.is_some(),
            unseen: None,
            holes: Holes::default(),
            counted: Counted::new(config.expects_from.is_some()),
            asked: VecDeque::new(),
            open: 0,
            forgotten: false,
            answered: None,
            acknowledged: config.expects_from.map(|first| (first.minus(1), Msn::new(0))),
            gap: None,
            recent: VecDeque::new(),
            failed: None,
        }
    }

    /// Everything that it received was seen.
    pub(super) fn is_whole(&self, config: &StreamConfig) -> bool {
        config.is_whole && self.has_joined
    }

    /// A request with this PSN would lie behind a gap.
    pub(super) fn is_beyond(&self, psn: Psn) -> bool {
        self.reach.is_some_and(|reach| psn.since(reach) > 0)
    }

    /// A request has come.
    pub(super) fn request(&mut self, packet: &Roce<'_>, info: &Info, is_right: bool, config: &StreamConfig) {
        let psn = packet.bth.psn;
        let opcode = packet.bth.opcode;
        let len = if info.has(Header::Reth) { packet.ext.reth.len } else { 0 };
        self.any = true;
        if !self.is_whole(config) {
            self.joins = self.joins.or(Some(psn));
            self.messages += u32::from(info.ends_message());
            self.pass_over(psn);
        }
        let reach = *self.reach.get_or_insert(psn);
        self.heard |= psn.since(reach) >= 0;
        let Some(psns) = psns(packet, config.mtu) else {
            // Where it ends is not known, so neither is what answers it and what comes behind it.
            self.counted = Counted::new(false);
            // It takes no more than this.
            self.unseen = Some(psn.plus(len.div_ceil(LEAST_MTU)));
            (self.joins, self.joining_msn, self.messages, self.has_joined) = (None, None, 0, false);
            self.reach = None;
            self.floor = None;
            return;
        };
        // Only one that is new for certain must be answered before what follows.
        let asked = Asked { psn, psns, opcode, len, answered: psn != reach };
        self.floor = self.floor.map(|floor| {
            let lowest = if psn.since(floor) < 0 { psn } else { floor };
            later(lowest, reach.minus(OLDEST))
        });
        if psn.since(reach) <= 0 || !config.go_back_n {
            self.counted.came(info.ends_message());
            if psn.since(reach) < 0 && !info.ends_message() {
                self.counted.ends_elsewhere(psn);
            } else if psn.since(reach) >= 0 && info.ends_message() && is_right && !may_be_uncounted(opcode) {
                self.counted.ends(asked.end().minus(1));
            }
            self.reach = Some(later(reach, asked.end()));
        }
        self.note(psn);
        self.remember(asked);
    }

    /// A packet with this PSN was seen: what should have come before it was not, and each may have been a message.
    fn pass_over(&mut self, psn: Psn) -> u32 {
        let reach = self.reach.unwrap_or(psn);
        if psn.since(reach).unsigned_abs() > FAR {
            // What was taken for the place where it is was not.
            (self.reach, self.floor, self.unseen) = (Some(psn), None, Some(psn));
            self.counted = Counted::new(false);
            (self.joins, self.joining_msn, self.messages) = (None, None, 0);
            return 0;
        }
        if psn.since(reach) < 0 || self.reach == Some(psn) {
            return 0;
        }
        let skipped = psn.since(reach) as u32;
        self.counted.may_have_come(skipped);
        self.unseen = Some(self.unseen.map_or(psn, |unseen| later(unseen, psn)));
        self.reach = Some(psn);
        skipped
    }

    /// What was not seen of what it answers.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    /// A packet whose opcode nobody knows has come. It is refused where it is expected.
    pub(super) fn unknown(&mut self, psn: Psn) {
        self.floor = self.floor.map(|floor| if psn.since(floor) < 0 { psn } else { floor });
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
        let is_read_like = is_read_like(asked.opcode);
        let is_same = |known: &Asked| Asked { answered: asked.answered, ..*known } == asked;
        // One that is new was not asked before.
        if is_read_like && asked.answered && self.asked.iter().any(is_same) {
            return;
        }
        // Of two requests in one place only one was taken, and nobody but the device knows which.
        for known in unanswered(&mut self.asked, self.open).filter(|known| known.overlaps(&asked)) {
            known.answered = true;
            self.open -= 1;
        }
        if is_read_like {
            if self.asked.len() >= LIMIT {
                let forgotten = self.asked.pop_front();
                self.open -= usize::from(forgotten.is_some_and(|asked| !asked.answered));
                self.forgotten = true;
            }
            self.open += usize::from(!asked.answered);
            self.asked.push_back(asked);
        }
    }

    pub(super) fn judge(&mut self, packet: &Roce<'_>, info: &Info, config: &StreamConfig) -> Vec<Breach> {
        let seen = || seen(packet, info);
        let mut breaches = Vec::new();
        // A capture may have turned them around.
        let is_after = |failed: Psn| self.is_whole(config) || packet.bth.psn.since(failed) >= 0;
        if self.failed.is_some_and(is_after) {
            // rule: rc.responder.error-silence
            let why = "a NAK that ends the connection is the last word";
            breaches.push(must("rc.responder.error-silence", "nothing".to_owned(), seen(), why));
            return breaches;
        }
        let class = if info.has(Header::Aeth) { Some(packet.ext.aeth.syndrome.class()) } else { None };
        let is_positive = matches!(class, None | Some(SyndromeClass::Ack(_)));
        let is_whole = self.is_whole(config);
        if !is_whole {
            // Somebody who answers has received: the request was not captured, or came before the first that was seen.
            let psn = packet.bth.psn;
            // Responses of a READ of whose length nothing was known belong to a request that was seen.
            let is_known = !info.starts_message() || self.unseen.is_some_and(|unseen| psn.since(unseen) < 0);
            let skipped = self.pass_over(if is_positive { psn.next() } else { psn });
            if skipped > 0 && !is_known {
                self.holes.answered(skipped);
            }
            self.any = true;
        }
        breaches.extend(self.judge_psn(packet.bth.psn, is_positive, &seen));
        if info.has(Header::Aeth) {
            breaches.extend(self.judge_msn(packet, is_positive, is_whole));
        }
        match class {
            Some(SyndromeClass::Nak(NakCode::PsnSequenceError)) => {
                breaches.extend(self.judge_gap(packet.bth.psn, config));
            }
            Some(SyndromeClass::Nak(_)) => self.failed = Some(packet.bth.psn),
            _ => {}
        }
        if info.payload != PayloadRule::Empty || info.has(Header::AtomicAckEth) {
            breaches.extend(self.judge_answer(packet, info, config));
        } else if is_positive {
            breaches.extend(self.judge_order(packet.bth.psn, &seen));
        }
        if !self.has_joined && info.has(Header::Aeth) && is_positive {
            self.join(packet.bth.psn, packet.ext.aeth.msn);
        }
        breaches
    }

    /// A response says where the responder is: at its beginning, when all that its MSN counts was seen, or behind the last
    /// request, when that was executed and not answered again.
    fn join(&mut self, psn: Psn, msn: Msn) {
        let has_grown = self.joining_msn.replace(msn).is_some_and(|before| msn.since(before) > 0);
        let is_last = self.reach == Some(psn.next());
        let is_answer = self.joins.is_some_and(|first| psn.since(first) >= 0);
        self.has_joined = is_answer && (msn.get() <= self.messages || has_grown && is_last);
    }

    /// rule: rc.responder.unexpected-response
    fn judge_psn(&self, psn: Psn, is_positive: bool, seen: &impl Fn() -> String) -> Option<Breach> {
        let reach = self.reach?;
        let too_far = psn.since(reach) >= if is_positive { 0 } else { 1 };
        // One before the first: nothing is acknowledged, as an ACK that only gives credits says.
        let too_old = self.floor.is_some_and(|floor| psn.since(floor) < -1);
        let why = "a response answers a request that was received";
        (too_far || too_old || !self.any).then(|| {
            let last = reach.minus(1).get();
            let expected = match self.floor {
                _ if !self.any => "nothing, since nothing was received".to_owned(),
                Some(floor) => format!("psn=@{:#08x} to @{last:#08x}", floor.get()),
                None => format!("psn=@{last:#08x} or before"),
            };
            must("rc.responder.unexpected-response", expected, seen(), why)
        })
    }

    /// rule: rc.responder.msn
    fn judge_msn(&mut self, packet: &Roce<'_>, is_positive: bool, is_whole: bool) -> Option<Breach> {
        let (psn, msn) = (packet.bth.psn, packet.ext.aeth.msn);
        let is_acknowledgement = packet.bth.opcode.operation() == ACKNOWLEDGE;
        if is_acknowledgement && is_positive {
            self.counted.executed_to(psn);
        }
        // One that a capture has turned around with a later one tells less.
        let is_latest = self.answered.is_none_or(|last| psn.since(last) >= 0);
        self.answered = if is_latest { Some(psn) } else { self.answered };
        let at_least = is_acknowledgement && is_positive && (is_whole || is_latest);
        // What is on its way when a capture begins is executed before it shows, and old responses say so, too.
        let at_most = match (is_whole, self.heard && is_latest) {
            (true, _) => Some(Level::Must),
            (false, heard) => heard.then_some(Level::Should),
        };
        let covered = if is_positive { psn.next() } else { psn };
        let outstanding = self.reach.map_or(0, |reach| reach.since(covered).max(0) as u32);
        if let Some(breach) = self.counted.judge(msn, at_least, at_most, outstanding) {
            let is_too_low = breach.level == Level::Must && !is_whole;
            if is_too_low && !self.has_joined {
                // The answers to duplicates, with which a capture may begin, say the MSN of what was executed before.
                self.counted = Counted::new(false);
                return None;
            }
            return Some(breach);
        }
        if !is_acknowledgement {
            // The responses of a READ show when it was executed, and may be told again later.
            return None;
        }
        let (psn_before, before) = self.acknowledged.replace((psn, msn))?;
        // A capture may have turned two around.
        let is_back = msn.since(before) < 0 && (is_whole || psn.since(psn_before) > 0);
        let why = "the MSN never steps back";
        is_back.then(|| must("rc.responder.msn", format!("msn={before} or more"), format!("msn={msn}"), why))
    }

    /// rule: rc.responder.one-nak-per-gap
    fn judge_gap(&mut self, psn: Psn, config: &StreamConfig) -> Option<Breach> {
        // Who keeps what lies behind a gap may ask again for what is missing.
        if !config.go_back_n {
            return None;
        }
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
        let fits = |asked: &Asked| {
            let place = psn.minus(asked.psn.get()).get();
            if place >= asked.psns {
                return false;
            }
            match asked.opcode.operation() {
                READ => {
                    let (starts, ends) = (place == 0, place + 1 == asked.psns);
                    // What is remembered of a READ takes one PSN, or has a known MTU.
                    let mtu = config.mtu.unwrap_or(LEAST_MTU as usize);
                    let wanted = (asked.len as usize).saturating_sub(place as usize * mtu).min(mtu);
                    let at = (info.starts_message(), info.ends_message());
                    !is_atomic_answer && at == (starts, ends) && len == wanted
                }
                COMPARE_SWAP | FETCH_ADD => is_atomic_answer,
                _ => !is_atomic_answer && info.starts_message() && info.ends_message() && len == 0,
            }
        };
        // A READ and the retry of its rest end with the same response.
        let mut is_answer = false;
        for asked in unanswered(&mut self.asked, self.open).filter(|asked| fits(asked)) {
            is_answer = true;
            if asked.end() == psn.next() {
                asked.answered = true;
                self.open -= 1;
            }
        }
        if is_answer || self.asked.iter().any(fits) {
            return None;
        }
        let before_memory = self.asked.front().is_none_or(|first| psn.since(first.psn) < 0);
        if self.forgotten && before_memory || self.unseen.is_some_and(|unseen| psn.since(unseen) < 0) {
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
        let mut breach = must(rule, "a response that fits a request at this PSN".to_owned(), seen, why);
        if !self.is_whole(config) && self.asked.iter().any(|asked| asked.has_rest(psn, info, len, config)) {
            breach.level = Level::Should;
        }
        Some(breach)
    }

    /// An ACK does not overtake the responses of what came before it.
    ///
    /// rule: rc.responder.response-order
    fn judge_order(&self, psn: Psn, seen: &impl Fn() -> String) -> Option<Breach> {
        let open = self.asked.iter().rev().filter(|asked| !asked.answered).take(self.open);
        let passed = open.filter(|asked| asked.end().since(psn) <= 0).last()?;
        let why = "responses leave in the order of their requests";
        let expected = format!("first the response to {:?} psn=@{:#08x}", passed.opcode, passed.psn.get());
        Some(must("rc.responder.response-order", expected, seen(), why))
    }
}

/// Those that are not answered, the last one first: so many there are.
fn unanswered(asked: &mut VecDeque<Asked>, count: usize) -> impl Iterator<Item = &mut Asked> {
    asked.iter_mut().rev().filter(|asked| !asked.answered).take(count)
}

/// Messages that a device may acknowledge and not count. A WRITE that nobody but the MSN tells of: devices are known that
/// do not count it, and no peer minds, so both readings are accepted. A SEND whose invalidation fails may be acknowledged
/// and never complete.
fn may_be_uncounted(opcode: Opcode) -> bool {
    let write = matches!(opcode.operation(), WRITE_LAST | WRITE_ONLY);
    write || opcode.headers().contains(&Header::Ieth)
}

/// The one of two PSNs that comes behind the other.
fn later(one: Psn, other: Psn) -> Psn {
    if one.since(other) > 0 { one } else { other }
}
