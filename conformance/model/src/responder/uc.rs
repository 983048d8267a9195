//! UC: takes what is whole, and never answers.
//!
//! Where the rules leave room, this one does the following:
//! - a packet that is no request of UC counts as one that was lost;
//! - PSNs before the expected one are a gap like any other: nothing is remembered that could be a duplicate;
//! - a message that begins where another one should go on is taken or lost, as the policy says;
//! - only a buffer that the device cannot write stops the queue pair: that is no fault of the peer.

use rocespec_codec::{NakCode, Roce};

use super::refuse::{self, Refusal};
use super::request::Request;
use super::{Message, acknowledge, carry_out};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::Interruption;
use crate::qp::Qp;
use crate::verbs::Status;

/// Takes a packet. What is wrong with it costs the message that it belongs to and nothing else.
pub(super) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    let Some(request) = Request::of(packet, cx.capabilities) else { return cx.count(Counter::DropMessage) };
    if !continues(qp, &request, cx) {
        return cx.count(Counter::DropMessage);
    }
    match carry_out(qp, &request, cx) {
        Ok(()) => {}
        Err(Refusal::LocalFault) => {
            qp.abandon_message(Status::LocalProtectionError, cx);
            refuse::fail(qp, None, cx);
        }
        Err(refusal) => refuse(qp, packet, refusal, cx),
    }
}

/// Whether the packet is the next one of its message, or begins one.
///
/// rule: uc.responder.gap, uc.responder.resync
fn continues(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> bool {
    let psn = request.packet.bth.psn;
    let begins = request.info.starts_message();
    let has_gap = psn != qp.responder.expected && !cx.has(Defect::UcDeliversBrokenMessage);
    let is_dropping = matches!(qp.responder.message, Some(Message::Dropped));
    if has_gap || is_dropping {
        if cx.has(Defect::UcNaksGap) {
            acknowledge::nak(qp, qp.responder.expected, NakCode::PsnSequenceError, cx);
        }
        drop_message(qp, cx);
        if !begins || cx.has(Defect::UcDoesNotResync) {
            return false;
        }
        qp.responder.expected = psn;
    } else if begins && qp.responder.message.is_some() {
        drop_message(qp, cx);
        if cx.policy.uc_interruption == Interruption::Lost {
            return false;
        }
    }
    if begins {
        qp.responder.message = None;
    }
    true
}

/// rule: uc.responder.not-ready, uc.responder.access, uc.responder.length
fn refuse(qp: &mut Qp, packet: &Roce<'_>, refusal: Refusal, cx: &mut Context<'_>) {
    cx.count(if refusal == Refusal::NotReady { Counter::DropNotReady } else { Counter::DropMessage });
    match refusal {
        Refusal::NotReady if cx.has(Defect::UcAnswersNotReady) => acknowledge::rnr_nak(qp, packet.bth.psn, cx),
        Refusal::AccessError if cx.has(Defect::UcStopsOnAccessError) => return refuse::fail(qp, None, cx),
        _ => {}
    }
    drop_message(qp, cx);
}

/// Ends the message that has begun, if any, without a word: what else comes of it is passed over until a packet that
/// begins one, and the receive that it took is the next one to be taken again, or where it is a shared one completes in
/// error.
///
/// rule: uc.responder.broken-receive
fn drop_message(qp: &mut Qp, cx: &mut Context<'_>) {
    let Some(Message::Send { receive, .. }) = qp.responder.message.replace(Message::Dropped) else { return };
    if cx.has(Defect::UcLosesReceive) {
        return;
    }
    if receive.srq.is_some() {
        // Others may have taken those behind it: it cannot go back.
        // rule: uc.responder.broken-srq
        qp.complete_unused(receive, Status::RemoteInvalidRequestError, cx);
    } else {
        qp.receives.push_front(receive);
    }
}
