//! Packets that come before an earlier one did.

use rocespec_codec::{NakCode, Psn, Roce};

use super::{Waiting, acknowledge, in_order};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::BehindRnr;
use crate::qp::Qp;

pub(super) fn answer(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    cx.count(Counter::OutOfSequence);
    let psn = packet.bth.psn;
    if cx.has(Defect::AcceptsPsnGap) {
        qp.responder.expected = psn;
        return in_order(qp, packet, cx);
    }
    if cx.has(Defect::IgnoresPsnGap) {
        return;
    }
    match qp.responder.waiting {
        Waiting::Nothing => nak(qp, psn, cx),
        // rule: rc.responder.one-nak-per-gap
        Waiting::Missing if cx.has(Defect::RepeatsGapNak) => nak(qp, psn, cx),
        // rule: rc.responder.rnr-behind
        Waiting::Retry if cx.has(Defect::RepeatsRnrNak) => acknowledge::rnr_nak(qp, psn, cx),
        Waiting::Retry if cx.policy.behind_rnr == BehindRnr::SequenceNak => nak(qp, psn, cx),
        Waiting::Missing | Waiting::Retry => cx.count(Counter::DropBehindNak),
    }
}

fn nak(qp: &mut Qp, arrived: Psn, cx: &mut Context<'_>) {
    qp.responder.waiting = Waiting::Missing;
    // rule: rc.responder.gap-nak
    let missing = qp.responder.expected;
    let psn = if cx.has(Defect::GapNakOffByOne) {
        missing.minus(1)
    } else if cx.has(Defect::GapNakWithPsnOfPacket) {
        arrived
    } else {
        missing
    };
    acknowledge::nak(qp, psn, NakCode::PsnSequenceError, cx);
}
