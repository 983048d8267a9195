//! The requester: from a posted request to its completion.
//!
//! Requests wait in one queue, oldest first, and complete in that order. A cursor says which packet is sent next; sending
//! moves it on, a retry moves it back to the oldest packet that is not acknowledged, and everything behind is sent again
//! as it was (go-back-N).
//!
//! Where several behaviours are right and no [`crate::Policy`] chooses, this one does the following:
//! - a loss that a later response betrays is acted upon once; the ACK timeout does the rest;
//! - a fatal NAK ends READs and ATOMICs before it as flushed, since their responses cannot come any more;
//! - a memory window is bound, and a key invalidated, when all requests before are done, and those behind wait for that;
//! - timers and retry counts are renewed by each step forward, within a message too;
//! - a NAK for a packet that waits to be sent again is taken for a repetition;
//! - a request that cannot be carried out fails when those before it are done, and nothing behind it begins until then.

mod acknowledge;
mod complete;
mod credit;
mod key;
mod local;
mod read;
mod retry;
mod segment;
mod unreliable;
mod window;
mod work;

use alloc::collections::VecDeque;

use rocespec_codec::{Msn, Opcode, Psn, Roce};

use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::qp::Qp;
use crate::responder::refuse_as_request;
use crate::schedule::Turn;
use crate::time::Time;
use crate::verbs::{Destination, EventKind, QpKind, QpState, SendRequest};
use credit::Credit;
use work::{Stage, Work};

pub(crate) use local::may_post;
pub(crate) use read::is_read_response;

/// State of the requester's side of a queue pair.
#[derive(Debug, Default)]
pub(crate) struct Requester {
    /// Requests that were posted and are not done, oldest first.
    queue: VecDeque<Work>,
    cursor: Cursor,
    /// Oldest PSN that is not acknowledged.
    oldest: Psn,
    /// The PSN behind the newest one that was ever sent.
    sent: Psn,
    /// The PSN that the next request begins with.
    next: Psn,
    /// Messages posted: number of the last one.
    posted: Msn,
    credit: Credit,
    /// READs, ATOMICs and the like that were sent and not answered, as the cursor sees it.
    reads: usize,
    retries_left: u8,
    rnr_retries_left: u8,
    /// A loss that a later response betrayed was acted upon, and nothing went forward since.
    loss_is_known: bool,
    timer: Timer,
    /// The software stopped the send queue and was not told yet that all that had begun is done.
    drains: bool,
    turn: Option<Turn>,
}

/// What the requester waits for, at most one thing at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timer {
    #[default]
    Off,
    /// An acknowledgement, until the ACK timeout runs out.
    Ack(Time),
    /// The end of the time that an RNR NAK asked for; nothing is sent before.
    Rnr(Time),
}

/// Which packet is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Cursor {
    /// Index in the queue; that of its end when all is sent.
    work: usize,
    /// Index among the packets of the request.
    packet: u32,
}

impl Requester {
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// When the timer runs out.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        match self.timer {
            Timer::Off => None,
            Timer::Ack(end) | Timer::Rnr(end) => Some(end),
        }
    }

    /// Where the packet that is sent next goes, when its request says so.
    pub(crate) fn next_destination(&self) -> Option<&Destination> {
        self.queue.get(self.cursor.work)?.request.destination.as_ref()
    }

    /// Requests that are posted and not done.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len()
    }

    /// PSNs that were sent and are not acknowledged.
    fn outstanding(&self) -> u32 {
        self.sent.since(self.oldest).max(0) as u32
    }

    /// PSNs between the oldest that is not acknowledged and the packet that is sent next.
    fn in_flight(&self) -> u32 {
        self.cursor_psn().since(self.oldest).max(0) as u32
    }

    /// PSN of the packet that is sent next.
    fn cursor_psn(&self) -> Psn {
        let Some(work) = self.queue.get(self.cursor.work) else { return self.next };
        match work.span() {
            Some(span) if work.needs_response() => span.first.plus(work.answered),
            Some(span) => span.first.plus(self.cursor.packet),
            None => self.next,
        }
    }
}

/// The queue pair may send from now on.
pub(crate) fn start(qp: &mut Qp, cx: &Context<'_>) {
    // rule: rc.requester.start-psn
    let first = if cx.has(Defect::IgnoresStartPsn) { Psn::new(0) } else { qp.attributes.sq_psn.unwrap_or_default() };
    let requester = &mut qp.requester;
    (requester.oldest, requester.sent, requester.next) = (first, first, first);
    requester.credit = Credit::new(cx.policy.credit_use);
    retry::refill(qp);
}

/// The software stops the send queue: what has begun goes on, nothing new begins.
pub(crate) fn stop(qp: &mut Qp) {
    qp.requester.drains = true;
}

/// The software lets the send queue go on.
pub(crate) fn go_on(qp: &mut Qp) {
    qp.requester.drains = false;
}

/// Takes a request that [`may_post`] found right.
pub(crate) fn post(qp: &mut Qp, request: &SendRequest, cx: &mut Context<'_>) {
    let requester = &mut qp.requester;
    let mut work = Work::new(*request, requester.posted.next());
    if !work.is_local() {
        requester.posted = work.number;
    }
    if request.flags.inline {
        work.keep_data(cx.memory);
    }
    requester.queue.push_back(work);
}

/// Looks what can be sent now, after anything has changed.
pub(crate) fn settle(qp: &mut Qp, cx: &mut Context<'_>) {
    if matches!(qp.state, QpState::Error | QpState::Sqe) {
        return complete::flush(qp, cx);
    }
    // rule: rc.requester.drain
    let is_drained = qp.requester.queue.front().is_none_or(|work| work.span().is_none());
    if qp.requester.drains && is_drained {
        qp.requester.drains = false;
        cx.report(EventKind::SendQueueDrained, qp.handle);
    }
    if !window::may_send(qp, cx) {
        qp.requester.turn = None;
    } else if qp.requester.turn.is_none() {
        qp.requester.turn = Some(cx.turn_at(cx.now));
    }
}

/// The next packet, when its turn has come.
pub(crate) fn next_packet(qp: &mut Qp, cx: &mut Context<'_>) -> Option<Packet> {
    qp.requester.turn = None;
    if !window::may_send(qp, cx) {
        return None;
    }
    if qp.requester.queue.get(qp.requester.cursor.work)?.is_local() {
        key::change(qp, cx);
        return None;
    }
    local::begin(qp, cx);
    let mtu = qp.mtu();
    let Cursor { work: index, packet: number } = qp.requester.cursor;
    let work = qp.requester.queue.get_mut(index)?;
    let span = match work.stage {
        Stage::Begun(span) => span,
        Stage::Faulty(status) if index == 0 => {
            complete::fail(qp, status, cx);
            return None;
        }
        Stage::Faulty(_) | Stage::Waiting => return None,
    };
    let mut packet = segment::packet(work, span.first, number, mtu, cx);
    packet.ext.xrceth = segment::xrceth(work, number, cx);
    let is_last = number + 1 >= work.packets(mtu);
    let (behind, needs_response) = (span.behind(work, number), work.needs_response());
    let destination = work.request.destination.filter(|_| qp.kind == QpKind::Ud);
    let is_again = packet.psn.since(qp.requester.sent) < 0;

    if is_last {
        qp.requester.cursor = Cursor { work: index + 1, packet: 0 };
        qp.requester.reads += usize::from(needs_response);
    } else {
        qp.requester.cursor.packet += 1;
    }
    if behind.since(qp.requester.sent) > 0 {
        qp.requester.sent = behind;
    }
    if let Some(destination) = destination {
        unreliable::address(&mut packet, &destination, qp, cx);
    }
    if !qp.kind.is_reliable() {
        unreliable::sent(qp, behind, is_last, cx);
        return Some(packet);
    }
    // rule: rc.requester.ack-request
    let in_message = number > 0 && number.is_multiple_of(cx.policy.ack_every.max(1));
    let must_ask = is_last || in_message || !window::has_room_behind(qp, cx);
    packet.ack_request = must_ask && !cx.has(Defect::NeverAsksForAck);
    if is_again {
        cx.count(Counter::Retransmitted);
        retry::spoil(&mut packet, span.first, cx);
    }
    if qp.requester.timer == Timer::Off {
        retry::start_timer(qp, cx);
    }
    Some(packet)
}

/// Takes a response that is for this queue pair.
pub(crate) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    // rule: bth.responder.stray-response
    if !matches!(qp.state, QpState::Rts | QpState::Sqd) {
        return cx.count(Counter::DropUnexpectedResponse);
    }
    let psn = packet.bth.psn;
    let is_outstanding = psn.is_within(qp.requester.oldest, qp.requester.outstanding());
    if !is_outstanding && cx.has(Defect::AnswersStrayResponse) {
        return refuse_as_request(qp, packet, cx);
    }
    if !is_outstanding {
        return acknowledge::take_old_or_ghost(qp, packet, cx);
    }
    match packet.bth.opcode.operation() {
        ACKNOWLEDGE => acknowledge::receive(qp, packet, cx),
        _ => read::receive(qp, packet, cx),
    }
}

const ACKNOWLEDGE: u8 = Opcode::RC_ACKNOWLEDGE.0;

/// A timer has run out.
pub(crate) fn on_alarm(qp: &mut Qp, cx: &mut Context<'_>) {
    let timer = qp.requester.timer;
    if qp.requester.next_alarm().is_some_and(|end| end <= cx.now) {
        qp.requester.timer = Timer::Off;
        if matches!(timer, Timer::Ack(_)) {
            retry::on_ack_timeout(qp, cx);
        }
    }
}
