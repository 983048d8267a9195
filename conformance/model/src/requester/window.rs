//! What holds a packet back: the state of the queue pair, an RNR NAK, the window, the depth of READs, a fence, credits.

use super::work::{Stage, Work};
use super::{Requester, Timer};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::QpState;

/// Most PSNs that can be outstanding: the peer tells old from new by half of the numbers.
///
/// rule: rc.requester.psn-span
const MAX_OUTSTANDING: u32 = (1 << 23) - 1;

/// True when the packet that the cursor stands on may leave now.
pub(super) fn may_send(qp: &Qp, cx: &Context<'_>) -> bool {
    let requester = &qp.requester;
    let Some(work) = requester.queue.get(requester.cursor.work) else { return false };
    let may_begin = match qp.state {
        QpState::Rts => true,
        // What has begun goes on.
        // rule: rc.requester.drain
        QpState::Sqd => work.span().is_some() || cx.has(Defect::BeginsWhileStopped),
        _ => false,
    };
    // A request that cannot be carried out fails in its place, when those before it are done. What is done here waits for
    // them as well.
    let must_wait = (matches!(work.stage, Stage::Faulty(_)) || work.is_local()) && requester.cursor.work > 0;
    may_begin
        && !must_wait
        && !matches!(requester.timer, Timer::Rnr(_))
        && has_room(requester, work, qp.mtu(), cx)
        && has_depth(qp, work, cx)
        && passes_fence(requester, work, cx)
        && has_credit(requester, work, cx)
}

/// True when nothing but time keeps the packet behind the last one that was sent from leaving.
pub(super) fn has_room_behind(qp: &Qp, cx: &Context<'_>) -> bool {
    let next = qp.requester.queue.get(qp.requester.cursor.work);
    qp.requester.in_flight() < limit(cx) && next.is_none_or(|work| has_credit(&qp.requester, work, cx))
}

fn limit(cx: &Context<'_>) -> u32 {
    cx.policy.window.clamp(1, MAX_OUTSTANDING)
}

fn has_room(requester: &Requester, work: &Work, mtu: usize, cx: &Context<'_>) -> bool {
    let in_flight = requester.in_flight();
    let takes = if work.needs_response() { work.psns(mtu).saturating_sub(work.answered) } else { 1 };
    in_flight == 0 || in_flight + takes <= limit(cx)
}

/// rule: rc.requester.rd-atomic
fn has_depth(qp: &Qp, work: &Work, cx: &Context<'_>) -> bool {
    let depth = usize::from(qp.attributes.max_rd_atomic.unwrap_or(0));
    // With no depth at all the request fails when it begins.
    !work.needs_response() || depth == 0 || qp.requester.reads < depth || cx.has(Defect::ExceedsRdAtomic)
}

/// rule: rc.requester.fence
fn passes_fence(requester: &Requester, work: &Work, cx: &Context<'_>) -> bool {
    !work.request.flags.fence || requester.reads == 0 || cx.has(Defect::IgnoresFence)
}

/// rule: rc.requester.credit-limit
fn has_credit(requester: &Requester, work: &Work, cx: &Context<'_>) -> bool {
    // One packet may always go to find out, when no other is on its way.
    let may_probe = requester.cursor_psn() == requester.oldest;
    !work.needs_receive() || requester.credit.covers(work.number) || may_probe || cx.has(Defect::IgnoresCredits)
}
