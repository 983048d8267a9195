//! ACKs, NAKs and RNR NAKs.

use rocespec_codec::{Aeth, Credits, Header, NakCode, Psn, Roce, SyndromeClass};

use super::work::Work;
use super::{ACKNOWLEDGE, complete, retry};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::{AckInsteadOfResponse, ReservedSyndrome};
use crate::qp::Qp;
use crate::verbs::Status;

/// How far an acknowledgement got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To where it says.
    All,
    /// To a request that is answered by responses of its own: one of them is missing.
    LostResponse,
}

/// An ACK, a NAK or an RNR NAK for something that is outstanding.
pub(super) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    let Aeth { syndrome, msn } = packet.ext.aeth;
    let psn = packet.bth.psn;
    match syndrome.class() {
        SyndromeClass::Ack(credits) => {
            qp.requester.credit.update(msn, credits);
            // rule: rc.requester.implied-nak
            let before = qp.requester.oldest;
            if acknowledge(qp, psn, cx) == Reach::LostResponse && !cx.has(Defect::MissesImpliedNak) {
                // An ACK that brings something else forward may be one for many, up to the latest.
                let is_instead = psn == before;
                on_missing_response(qp, is_instead, cx);
            }
        }
        SyndromeClass::RnrNak(timer) => {
            // Where a response before it is lost the peer gets its time all the same.
            let from = match acknowledge_before(qp, psn, cx) {
                Reach::All => psn,
                Reach::LostResponse => qp.requester.oldest,
            };
            retry::on_rnr_nak(qp, from, timer.duration(), cx);
        }
        SyndromeClass::Nak(NakCode::PsnSequenceError) => match acknowledge_before(qp, psn, cx) {
            Reach::All => retry::on_sequence_nak(qp, psn, cx),
            Reach::LostResponse => retry::on_betrayed_loss(qp, cx),
        },
        // rule: rc.requester.nak-status
        SyndromeClass::Nak(NakCode::InvalidRequest) => fatal(qp, psn, Status::RemoteInvalidRequestError, cx),
        SyndromeClass::Nak(NakCode::RemoteAccessError) => {
            let confuses = cx.has(Defect::ReportsAccessErrorAsInvalid);
            let status = if confuses { Status::RemoteInvalidRequestError } else { Status::RemoteAccessError };
            fatal(qp, psn, status, cx);
        }
        SyndromeClass::Nak(NakCode::RemoteOperationalError) => fatal(qp, psn, Status::RemoteOperationError, cx),
        SyndromeClass::Nak(_) | SyndromeClass::Reserved(_) => reserved(qp, cx),
    }
}

/// An ACK came instead of the response that is expected next, or for something beyond it.
fn on_missing_response(qp: &mut Qp, is_instead: bool, cx: &mut Context<'_>) {
    if is_instead && cx.policy.ack_instead_of_response == AckInsteadOfResponse::BadResponse {
        return complete::fail(qp, Status::BadResponseError, cx);
    }
    retry::on_betrayed_loss(qp, cx);
}

/// A response that says what no response may say. It acknowledges nothing.
///
/// rule: rc.requester.reserved-syndrome
pub(super) fn reserved(qp: &mut Qp, cx: &mut Context<'_>) {
    match cx.policy.reserved_syndrome {
        ReservedSyndrome::Ignored => cx.count(Counter::DropUnexpectedResponse),
        ReservedSyndrome::Fatal => complete::fail(qp, Status::BadResponseError, cx),
    }
}

/// A response for something that is not outstanding. The last ACK may come again to bring more credits; everything else
/// is dropped.
///
/// rule: rc.requester.duplicate-ack, rc.requester.ghost-ack, rc.requester.unsolicited-ack
pub(super) fn take_old_or_ghost(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    cx.count(Counter::DropUnexpectedResponse);
    let is_old = packet.bth.psn.since(qp.requester.oldest) < 0;
    if let Some(credits) = credits(packet)
        && is_old
        && !cx.has(Defect::IgnoresUnsolicitedCredits)
    {
        qp.requester.credit.update(packet.ext.aeth.msn, credits);
    }
    let is_ack = packet.bth.opcode.operation() == ACKNOWLEDGE;
    let defect = if is_old { Defect::CompletesOnDuplicateAck } else { Defect::CompletesOnGhostAck };
    if is_ack && cx.has(defect) && qp.requester.queue.front().is_some_and(|work| work.span().is_some()) {
        complete::first(qp, Status::Success, cx);
    }
}

/// The credits that a positive response brings; MIDDLE responses bring none.
pub(super) fn credits(packet: &Roce<'_>) -> Option<Credits> {
    match packet.ext.aeth.syndrome.class() {
        SyndromeClass::Ack(credits) if has_aeth(packet) => Some(credits),
        _ => None,
    }
}

pub(super) fn has_aeth(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.info().is_some_and(|info| info.has(Header::Aeth))
}

/// Completes what is acknowledged when all up to and with `psn` is, in order.
///
/// rule: rc.requester.coalesced-ack
pub(super) fn acknowledge(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) -> Reach {
    let before = qp.requester.oldest;
    let mut reach = Reach::All;
    while let Some((work, span)) = qp.requester.queue.front().and_then(|work| Some((work, work.span()?)))
        && psn.since(span.first) >= 0
    {
        if work.needs_response() {
            reach = Reach::LostResponse;
            break;
        }
        if psn.since(span.last()) < 0 {
            // A part of the message.
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
    reach
}

/// Acknowledges what lies before a NAK.
///
/// rule: rc.requester.nak-acknowledges
fn acknowledge_before(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) -> Reach {
    if psn == qp.requester.oldest || cx.has(Defect::NakAcknowledgesNothing) {
        return Reach::All;
    }
    let reach = acknowledge(qp, psn.minus(1), cx);
    // Not lost when the NAK is for a later response of the same READ.
    let is_of_first = qp.requester.queue.front().and_then(Work::span).is_some_and(|span| span.contains(psn));
    if is_of_first { Reach::All } else { reach }
}

/// The peer refuses a request for good.
///
/// rule: rc.requester.nak-fatal
fn fatal(qp: &mut Qp, psn: Psn, status: Status, cx: &mut Context<'_>) {
    if cx.has(Defect::GoesOnAfterFatalNak) {
        return retry::on_sequence_nak(qp, psn, cx);
    }
    if psn != qp.requester.oldest {
        acknowledge(qp, psn.minus(1), cx);
    }
    // What the NAK could not acknowledge gets no response any more.
    while let Some(span) = qp.requester.queue.front().and_then(Work::span)
        && psn.since(span.last()) > 0
    {
        complete::first(qp, Status::FlushError, cx);
    }
    complete::fail(qp, status, cx);
}
