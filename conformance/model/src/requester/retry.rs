//! Sending again: ACK timeout, NAK, RNR NAK, and losses that later responses betray.

use core::time::Duration;

use rocespec_codec::{Opcode, Psn};

use super::work::Work;
use super::{Cursor, Timer, complete};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::policy::ReadRetry;
use crate::qp::Qp;
use crate::verbs::{SendOperation, Status};

/// The RNR retry count that stands for "without end".
const RNR_WITHOUT_END: u8 = 7;

/// Restores the retry counts.
///
/// rule: rc.requester.retry-refill
pub(super) fn refill(qp: &mut Qp) {
    qp.requester.retries_left = qp.attributes.retry_count.unwrap_or(0);
    qp.requester.rnr_retries_left = qp.attributes.rnr_retry.unwrap_or(0);
}

/// Something was acknowledged.
pub(super) fn on_progress(qp: &mut Qp, cx: &Context<'_>) {
    if !cx.has(Defect::DoesNotRefillRetries) {
        refill(qp);
    }
    qp.requester.loss_is_known = false;
    restart_timer(qp, cx);
    skip_acknowledged(qp);
}

/// The peer answers: whatever is outstanding has its time again.
pub(super) fn restart_timer(qp: &mut Qp, cx: &Context<'_>) {
    if !matches!(qp.requester.timer, Timer::Rnr(_)) {
        qp.requester.timer = Timer::Off;
        if qp.requester.outstanding() > 0 {
            start_timer(qp, cx);
        }
    }
}

/// The cursor does not stay on what needs not be sent again.
fn skip_acknowledged(qp: &mut Qp) {
    let requester = &mut qp.requester;
    if requester.cursor_psn().since(requester.oldest) >= 0 {
        return;
    }
    if let Some(work) = requester.queue.front()
        && let Some(span) = work.span()
        && !work.needs_response()
    {
        requester.cursor = Cursor { work: 0, packet: requester.oldest.since(span.first).max(0) as u32 };
    }
}

/// Starts the ACK timeout anew.
///
/// rule: rc.requester.ack-timeout, rc.requester.timeout-zero
pub(super) fn start_timer(qp: &mut Qp, cx: &Context<'_>) {
    let code = match qp.attributes.timeout.unwrap_or(0) {
        0 if cx.has(Defect::TimesOutWhenTold) => 8,
        code => code,
    };
    let never = code == 0 || cx.has(Defect::NeverTimesOut);
    qp.requester.timer = if never {
        Timer::Off
    } else {
        let shortest = Duration::from_nanos(4096 << code.min(31));
        let early = if cx.has(Defect::TimesOutEarly) { 8 } else { 1 };
        Timer::Ack(cx.now + shortest * cx.policy.timeout_multiple.clamp(1, 4) / early)
    };
}

pub(super) fn on_ack_timeout(qp: &mut Qp, cx: &mut Context<'_>) {
    cx.count(Counter::AckTimeouts);
    qp.requester.loss_is_known = false;
    try_again(qp, qp.requester.oldest, cx);
}

/// rule: rc.requester.go-back-n
pub(super) fn on_sequence_nak(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) {
    if is_to_be_sent(qp, psn) {
        return cx.count(Counter::DropUnexpectedResponse);
    }
    cx.count(Counter::SequenceNaks);
    let psn = if cx.has(Defect::ResumesBehindNak) { psn.next() } else { psn };
    try_again(qp, psn, cx);
}

/// A response shows that an earlier one is lost. Only the first one does: those behind it show the same.
pub(super) fn on_betrayed_loss(qp: &mut Qp, cx: &mut Context<'_>) {
    if qp.requester.loss_is_known || is_to_be_sent(qp, qp.requester.oldest) {
        return cx.count(Counter::DropUnexpectedResponse);
    }
    cx.count(Counter::ImpliedNaks);
    // With no timeout to fall back on every sign counts.
    qp.requester.loss_is_known = qp.attributes.timeout.is_some_and(|code| code != 0);
    try_again(qp, qp.requester.oldest, cx);
}

/// rule: rc.requester.rnr-wait, rc.requester.rnr-limit, rc.requester.rnr-seven
pub(super) fn on_rnr_nak(qp: &mut Qp, psn: Psn, wait: Duration, cx: &mut Context<'_>) {
    let wait = if cx.has(Defect::DoesNotWaitForRnr) { wait / 8 } else { wait };
    if is_to_be_sent(qp, psn) {
        // The packet was about to be sent again for another reason; the peer gets its time all the same.
        if !matches!(qp.requester.timer, Timer::Rnr(_)) {
            qp.requester.timer = Timer::Rnr(cx.now + wait);
        }
        return cx.count(Counter::DropUnexpectedResponse);
    }
    cx.count(Counter::RnrNaks);
    let limit = qp.attributes.rnr_retry.unwrap_or(0);
    let has_end = limit != RNR_WITHOUT_END || cx.has(Defect::RnrSevenHasAnEnd);
    if has_end && !cx.has(Defect::IgnoresRnrLimit) {
        if qp.requester.rnr_retries_left == 0 {
            return complete::fail(qp, Status::RnrRetryExceeded, cx);
        }
        qp.requester.rnr_retries_left -= 1;
    }
    go_back(qp, psn, cx);
    qp.requester.timer = Timer::Rnr(cx.now + wait);
}

/// True when the packet of this PSN waits to be sent again: a NAK for it is the last one once more.
fn is_to_be_sent(qp: &Qp, psn: Psn) -> bool {
    qp.requester.cursor_psn().since(psn) <= 0
}

/// rule: rc.requester.retry-limit, rc.requester.retry-seven
fn try_again(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) {
    let seven_is_endless = cx.has(Defect::RetrySevenHasNoEnd) && qp.attributes.retry_count == Some(7);
    if !cx.has(Defect::RetriesWithoutEnd) && !seven_is_endless {
        if qp.requester.retries_left == 0 {
            return complete::fail(qp, Status::RetryExceeded, cx);
        }
        qp.requester.retries_left -= 1;
    }
    go_back(qp, psn, cx);
}

/// Puts the cursor back to the packet of this PSN; everything from there on is sent again.
fn go_back(qp: &mut Qp, psn: Psn, cx: &Context<'_>) {
    let whole = cx.policy.read_retry == ReadRetry::Whole;
    let requester = &mut qp.requester;
    // The time that an RNR NAK asked for is kept whatever else turns out meanwhile.
    if matches!(requester.timer, Timer::Ack(_)) {
        requester.timer = Timer::Off;
    }
    let holds = |work: &Work| work.span().is_some_and(|span| span.contains(psn));
    let Some(index) = requester.queue.iter().position(holds) else { return };
    let work = &mut requester.queue[index];
    let packet = match work.span() {
        Some(span) if !work.needs_response() => psn.since(span.first).max(0) as u32,
        Some(span) if whole && work.request.operation == SendOperation::RdmaRead && work.answered > 0 => {
            work.answered = 0;
            requester.oldest = span.first;
            0
        }
        _ => 0,
    };
    requester.cursor = Cursor { work: index, packet };
    requester.reads = requester.queue.iter().take(index).filter(|work| work.needs_response()).count();
}

/// What defects do to a packet that is sent again.
///
/// rule: rc.requester.retransmission-unchanged
pub(super) fn spoil(packet: &mut Packet, first: Psn, cx: &Context<'_>) {
    if cx.has(Defect::ResendsWithOtherPsn) {
        packet.psn = packet.psn.next();
    }
    if cx.has(Defect::ResendsMiddleAsFirst) && packet.psn != first {
        packet.opcode = match packet.opcode {
            Opcode::RC_SEND_MIDDLE => Opcode::RC_SEND_FIRST,
            Opcode::RC_RDMA_WRITE_MIDDLE => Opcode::RC_RDMA_WRITE_FIRST,
            opcode => opcode,
        };
    }
}
