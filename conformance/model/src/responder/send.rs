//! SEND: into the receives that the software posted.

use rocespec_codec::Header;

use super::request::Request;
use super::{Message, acknowledge, length, refuse::Refusal};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::{Delivery, Qp};
use crate::verbs::{CompletionKind, Status};

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let begins = qp.responder.message.is_none();
    if begins && qp.receives.is_empty() {
        if !cx.has(Defect::AcksWhenNotReady) {
            return Err(Refusal::NotReady);
        }
        qp.responder.message = Some(Message::LostSend);
    }
    length::check_packet(request, qp.mtu(), cx)?;
    if begins && let Some(receive) = qp.receives.pop_front() {
        qp.responder.message = Some(Message::Send { receive, received: 0 });
    }
    place(qp, request, cx)?;
    let ends = request.info.ends_message();
    if ends {
        complete(qp, request, cx)?;
    }
    qp.responder.advance(1);
    qp.responder.count_message(request, cx);
    acknowledge::if_wanted(qp, request, cx);
    Ok(())
}

/// Puts the payload behind what the message brought so far.
fn place(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let Some(Message::Send { receive, received }) = &mut qp.responder.message else { return Ok(()) };
    let room = receive.length - *received;
    // rule: rc.responder.receive-length
    if request.len() > room && !cx.has(Defect::TruncatesLongSend) {
        return Err(Refusal::ReceiveTooShort);
    }
    let count = request.len().min(room);
    let data = &request.packet.payload[..count as usize];
    // rule: rc.responder.local-fault
    let offset = receive.offset.saturating_add(u64::from(*received));
    if !data.is_empty() && cx.memory.place(receive.mr, offset, data).is_none() && !cx.has(Defect::IgnoresLocalFault) {
        return Err(Refusal::LocalFault);
    }
    *received += count;
    Ok(())
}

fn complete(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let ext = &request.packet.ext;
    // rule: rc.responder.invalidate
    let invalidated = request.info.has(Header::Ieth).then_some(ext.ieth.0);
    if let Some(rkey) = invalidated
        && !cx.has(Defect::IgnoresInvalidate)
    {
        // The keys of plain regions are the only ones there are.
        if !cx.policy.invalidates_plain_regions || cx.memory.invalidate(rkey).is_err() {
            return Err(Refusal::CannotInvalidate);
        }
    }
    let Some(Message::Send { receive, received }) = qp.responder.message.take() else { return Ok(()) };
    let pad = if cx.has(Defect::CountsPadAsReceived) { u32::from(request.packet.bth.pad_count) } else { 0 };
    let delivery = Delivery {
        byte_len: received + pad,
        immediate: immediate(request, cx),
        invalidated,
        solicited: solicited(request, cx),
        ..Delivery::default()
    };
    qp.complete(receive, Status::Success, CompletionKind::Receive, delivery);
    Ok(())
}

/// rule: rc.responder.immediate
pub(super) fn immediate(request: &Request<'_, '_>, cx: &Context<'_>) -> Option<u32> {
    let immediate = request.info.has(Header::ImmDt).then_some(request.packet.ext.immdt.0)?;
    Some(if cx.has(Defect::ImmediateByteSwapped) { immediate.swap_bytes() } else { immediate })
}

/// rule: rc.responder.solicited
pub(super) fn solicited(request: &Request<'_, '_>, cx: &Context<'_>) -> bool {
    request.packet.bth.se && request.info.may_solicit() && !cx.has(Defect::IgnoresSolicited)
}
