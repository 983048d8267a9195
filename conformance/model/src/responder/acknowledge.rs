//! ACKs, NAKs and RNR NAKs.

use rocespec_codec::{Credits, NakCode, Psn, RnrTimer, Syndrome};

use super::outbox::Response;
use super::request::Request;
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::{AckWhen, CreditPolicy};
use crate::qp::Qp;

/// Acknowledges a SEND or WRITE packet that was executed, if it asked or the policy does so anyway.
pub(super) fn if_wanted(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    // rule: uc.responder.silent
    if !qp.kind.is_reliable() && !cx.has(Defect::UcAcknowledges) {
        return;
    }
    let ends = request.info.ends_message();
    // rule: rc.responder.ack
    let asked = request.packet.bth.ack_req && (ends || !cx.has(Defect::IgnoresAckRequestInMessage));
    let wanted = match cx.policy.ack {
        AckWhen::Asked => asked,
        AckWhen::EveryMessage => asked || ends,
        AckWhen::EveryPacket => true,
    };
    if wanted {
        acknowledge(qp, request.packet.bth.psn, cx);
    }
}

/// Sends an ACK, or lets one that waits stand for it.
pub(super) fn acknowledge(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) {
    let psn = if cx.has(Defect::AcksNextPsn) { psn.next() } else { psn };
    let syndrome = syndrome(qp, cx);
    let msn = qp.responder.msn;
    if !qp.responder.outbox.merge_ack(psn, syndrome, msn, cx) {
        qp.responder.outbox.push(Response::Acknowledge { psn, syndrome, msn, covers: 1 }, cx);
    }
}

/// Sends a NAK.
pub(super) fn nak(qp: &mut Qp, psn: Psn, code: NakCode, cx: &mut Context<'_>) {
    cx.count(Counter::NakSent);
    let response = Response::Acknowledge { psn, syndrome: Syndrome::nak(code), msn: qp.responder.msn, covers: 1 };
    qp.responder.outbox.push(response, cx);
}

/// Sends an RNR NAK.
pub(super) fn rnr_nak(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) {
    cx.count(Counter::RnrNakSent);
    // rule: rc.responder.rnr-timer
    let timer = if cx.has(Defect::RnrTimerZero) { RnrTimer::new(0) } else { qp.rnr_timer() };
    let response = Response::Acknowledge { psn, syndrome: Syndrome::rnr_nak(timer), msn: qp.responder.msn, covers: 1 };
    qp.responder.outbox.push(response, cx);
}

/// Syndrome of what acknowledges.
pub(super) fn syndrome(qp: &Qp, cx: &Context<'_>) -> Syndrome {
    // rule: rc.responder.credits
    if cx.has(Defect::PromisesTooManyCredits) {
        return Syndrome::ack(Credits::new(30));
    }
    // Receives that others may take first cannot be promised.
    // rule: rc.responder.srq-credits
    Syndrome::ack(match cx.policy.credits {
        _ if qp.shares_receives() && cx.has(Defect::SrqGivesCredits) => Credits::from_count(1),
        _ if qp.shares_receives() => Credits::NONE,
        CreditPolicy::NotGiven => Credits::NONE,
        CreditPolicy::Given => Credits::from_count(qp.receives.len()),
    })
}
