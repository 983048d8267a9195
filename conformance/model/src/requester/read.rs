//! Responses to READs, ATOMICs, FLUSHes and ATOMIC WRITEs.

use rocespec_codec::{Opcode, Position, Psn, Roce};

use super::{acknowledge, complete, retry};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::{SendOperation, Status};

/// A response of its own for something that is outstanding.
pub(super) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    let psn = packet.bth.psn;
    match acknowledge::credits(packet) {
        Some(credits) => qp.requester.credit.update(packet.ext.aeth.msn, credits),
        None if acknowledge::has_aeth(packet) => return acknowledge::reserved(qp, cx),
        None => {}
    }
    // Responses come in order: what lies before this one has arrived.
    if psn != qp.requester.oldest {
        acknowledge::acknowledge(qp, psn.minus(1), cx);
    }
    let Some((work, span)) = qp.requester.queue.front().and_then(|work| Some((work, work.span()?))) else {
        return cx.count(Counter::DropUnexpectedResponse);
    };
    let expected = span.first.plus(work.answered);
    let accepts_gap = span.contains(psn) && cx.has(Defect::AcceptsReadGap);
    match psn.since(expected) {
        ..0 => return cx.count(Counter::DropUnexpectedResponse),
        0 => {}
        // rule: rc.requester.read-response-gap, rc.requester.implied-nak
        _ if cx.has(Defect::MissesImpliedNak) => return,
        _ if accepts_gap => {}
        _ if work.needs_response() => return retry::on_betrayed_loss(qp, cx),
        _ => return complete::fail(qp, Status::BadResponseError, cx),
    }
    if let Err(status) = take(qp, packet, psn, cx) {
        complete::fail(qp, status, cx);
    }
}

/// Takes the response that is expected next.
fn take(qp: &mut Qp, packet: &Roce<'_>, psn: Psn, cx: &mut Context<'_>) -> Result<(), Status> {
    let Some(work) = qp.requester.queue.front() else { return Ok(()) };
    let operation = packet.bth.opcode.operation();
    // rule: rc.requester.response-type
    let is_right_type = match work.request.operation {
        SendOperation::RdmaRead => is_read_response(operation),
        SendOperation::CompareSwap | SendOperation::FetchAdd => operation == Opcode::RC_ATOMIC_ACKNOWLEDGE.0,
        SendOperation::Flush | SendOperation::AtomicWrite => operation == Opcode::RC_RDMA_READ_RESPONSE_ONLY.0,
        _ => false,
    };
    if !is_right_type {
        if cx.has(Defect::AcceptsWrongResponseType) {
            complete::first(qp, Status::Success, cx);
            return Ok(());
        }
        return Err(Status::BadResponseError);
    }
    match work.request.operation {
        SendOperation::RdmaRead => take_read(qp, packet, psn, cx),
        SendOperation::CompareSwap | SendOperation::FetchAdd => {
            // The value lies in memory as the host has it, with its low byte first.
            let value = packet.ext.atomic_ack.original.to_le_bytes();
            let (mr, offset) = (work.request.mr, work.request.offset);
            cx.memory.place(cx.owner.pd, mr, offset, &value, cx.defects).ok_or(Status::LocalProtectionError)?;
            finish(qp, cx);
            Ok(())
        }
        _ if !packet.payload.is_empty() => Err(Status::LocalLengthError),
        _ => {
            finish(qp, cx);
            Ok(())
        }
    }
}

/// Responses that bring data.
pub(crate) fn is_read_response(operation: u8) -> bool {
    (Opcode::RC_RDMA_READ_RESPONSE_FIRST.0..=Opcode::RC_RDMA_READ_RESPONSE_ONLY.0).contains(&operation)
}

fn take_read(qp: &mut Qp, packet: &Roce<'_>, psn: Psn, cx: &mut Context<'_>) -> Result<(), Status> {
    let mtu = qp.mtu() as u32;
    let Some(work) = qp.requester.queue.front_mut() else { return Ok(()) };
    // rule: rc.requester.response-order
    // A retry is answered as a READ of its own; responses of the first time that are late go on as they were.
    let position = packet.bth.opcode.info().map_or(Position::Only, |info| info.position);
    let in_order = match position {
        Position::First | Position::Only => work.answered == work.resumed,
        Position::Middle | Position::Last => work.answered > 0,
    };
    if !in_order && !cx.has(Defect::AcceptsResponseDisorder) {
        return Err(Status::BadResponseError);
    }
    // rule: rc.requester.response-length
    let done = work.answered * mtu;
    let left = work.request.length.saturating_sub(done);
    let len = packet.payload.len() as u32;
    let ends = matches!(position, Position::Last | Position::Only);
    let has_right_length = if ends { len == left && left <= mtu } else { len == mtu && left > mtu };
    if !has_right_length && !cx.has(Defect::AcceptsResponseOfAnyLength) {
        return Err(Status::LocalLengthError);
    }
    if len > 0 {
        let offset = work.request.offset + u64::from(done);
        cx.memory
            .place(cx.owner.pd, work.request.mr, offset, packet.payload, cx.defects)
            .ok_or(Status::LocalProtectionError)?;
    }
    work.answered += 1;
    let is_new = work.answered > work.most_answered;
    work.most_answered = work.most_answered.max(work.answered);
    qp.requester.oldest = psn.next();
    if ends {
        complete::first(qp, Status::Success, cx);
    }
    if is_new {
        retry::on_progress(qp, cx);
    } else {
        retry::restart_timer(qp, cx);
    }
    Ok(())
}

/// The only response of the oldest request has come.
fn finish(qp: &mut Qp, cx: &mut Context<'_>) {
    complete::first(qp, Status::Success, cx);
    retry::on_progress(qp, cx);
}
