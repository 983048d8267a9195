//! ACKs, NAKs and RNR NAKs.

use rocespec_codec::{Aeth, Header, NakCode, Psn, Roce, SyndromeClass};

use super::{ACKNOWLEDGE, complete, retry};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::ReservedSyndrome;
use crate::qp::Qp;
use crate::verbs::Status;

/// An ACK, a NAK or an RNR NAK for something that is outstanding.
pub(super) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    let Aeth { syndrome, msn } = packet.ext.aeth;
    let psn = packet.bth.psn;
    match syndrome.class() {
        SyndromeClass::Ack(credits) => {
            qp.requester.credit.update(msn, credits);
            // rule: rc.requester.implied-nak
            if is_blocked_up_to(qp, psn, cx) && !cx.has(Defect::MissesImpliedNak) {
                retry::on_betrayed_loss(qp, cx);
            }
        }
        SyndromeClass::RnrNak(timer) => {
            if acknowledge_before(qp, psn, cx) {
                retry::on_rnr_nak(qp, psn, timer.duration(), cx);
            }
        }
        SyndromeClass::Nak(NakCode::PsnSequenceError) => {
            if acknowledge_before(qp, psn, cx) {
                retry::on_sequence_nak(qp, psn, cx);
            }
        }
        // rule: rc.requester.nak-status
        SyndromeClass::Nak(NakCode::InvalidRequest) => fatal(qp, psn, Status::RemoteInvalidRequestError, cx),
        SyndromeClass::Nak(NakCode::RemoteAccessError) => {
            let confuses = cx.has(Defect::ReportsAccessErrorAsInvalid);
            let status = if confuses { Status::RemoteInvalidRequestError } else { Status::RemoteAccessError };
            fatal(qp, psn, status, cx);
        }
        SyndromeClass::Nak(NakCode::RemoteOperationalError) => fatal(qp, psn, Status::RemoteOperationError, cx),
        // rule: rc.requester.reserved-syndrome
        SyndromeClass::Nak(_) | SyndromeClass::Reserved(_) => match cx.policy.reserved_syndrome {
            ReservedSyndrome::Ignored => cx.count(Counter::DropUnexpectedResponse),
            ReservedSyndrome::Fatal => fatal(qp, psn, Status::BadResponseError, cx),
        },
    }
}

/// A response for something that is not outstanding. The last ACK may come again to bring more credits; everything else
/// is dropped. True when a defect takes it for more than that.
///
/// rule: rc.requester.duplicate-ack, rc.requester.ghost-ack, rc.requester.unsolicited-ack
pub(super) fn take_old_or_ghost(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) -> bool {
    let is_ack = packet.bth.opcode.operation() == ACKNOWLEDGE;
    let requester = &mut qp.requester;
    let is_old = packet.bth.psn.since(requester.oldest) < 0;
    if let SyndromeClass::Ack(credits) = packet.ext.aeth.syndrome.class()
        && packet.bth.opcode.headers().contains(&Header::Aeth)
        && is_old
        && !cx.has(Defect::IgnoresUnsolicitedCredits)
    {
        requester.credit.update(packet.ext.aeth.msn, credits);
    }
    let defect = if is_old { Defect::CompletesOnDuplicateAck } else { Defect::CompletesOnGhostAck };
    if is_ack && cx.has(defect) && requester.queue.front().is_some_and(|work| work.span.is_some()) {
        complete::first(qp, Status::Success, cx);
    }
    false
}

/// Completes what `psn` acknowledges. True when a request that needs a response of its own stands in the way.
///
/// rule: rc.requester.coalesced-ack
pub(super) fn is_blocked_up_to(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) -> bool {
    let before = qp.requester.oldest;
    let mut blocked = false;
    while let Some(work) = qp.requester.queue.front()
        && let Some(span) = work.span
        && psn.since(span.first) >= 0
    {
        if work.needs_response() {
            blocked = true;
            break;
        }
        if psn.since(span.last()) < 0 {
            if psn.since(qp.requester.oldest) >= 0 {
                qp.requester.oldest = psn.next();
            }
            break;
        }
        complete::first(qp, Status::Success, cx);
        if cx.has(Defect::CompletesOnePerAck) {
            break;
        }
    }
    if qp.requester.oldest != before {
        retry::on_progress(qp, cx);
    }
    blocked
}

/// Acknowledges what lies before a NAK. False when a lost response before it has to be seen to first.
///
/// rule: rc.requester.nak-acknowledges
pub(super) fn acknowledge_before(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) -> bool {
    let is_first = psn == qp.requester.oldest;
    if is_first || cx.has(Defect::NakAcknowledgesNothing) || !is_blocked_up_to(qp, psn.minus(1), cx) {
        return true;
    }
    // The NAK may be for a later response of the same READ.
    if qp.requester.queue.front().and_then(|work| work.span).is_some_and(|span| span.contains(psn)) {
        return true;
    }
    retry::on_betrayed_loss(qp, cx);
    false
}

/// rule: rc.requester.nak-fatal
fn fatal(qp: &mut Qp, psn: Psn, status: Status, cx: &mut Context<'_>) {
    if cx.has(Defect::GoesOnAfterFatalNak) {
        return retry::on_sequence_nak(qp, psn, cx);
    }
    if psn != qp.requester.oldest {
        is_blocked_up_to(qp, psn.minus(1), cx);
    }
    while let Some(span) = qp.requester.queue.front().and_then(|work| work.span)
        && !span.contains(psn)
        && psn.since(span.first) > 0
    {
        complete::first(qp, Status::FlushError, cx);
    }
    complete::fail(qp, status, cx);
}
