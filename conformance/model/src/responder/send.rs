//! SEND: into the receives that the software posted.

use rocespec_codec::Header;

use super::request::Request;
use super::{Message, acknowledge, length, refuse::Refusal};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::receives::Delivery;
use crate::verbs::{CompletionKind, Status};

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let begins = qp.responder.message.is_none();
    if begins && qp.next_receive(cx).is_none() {
        if !cx.has(Defect::AcksWhenNotReady) {
            return Err(Refusal::NotReady);
        }
        qp.responder.message = Some(Message::LostSend);
    }
    length::check_packet(request, qp.mtu(), cx)?;
    if begins && let Some(receive) = qp.take_receive(cx) {
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
    if !data.is_empty() && receive.place(*received, data, cx).is_none() && !cx.has(Defect::IgnoresLocalFault) {
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
        let (plain_regions, defects) = (cx.policy.invalidates_plain_regions, cx.defects);
        let done = cx.memory.invalidate(cx.owner, rkey, plain_regions, defects);
        done.map_err(|_| Refusal::CannotInvalidate)?;
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
    qp.complete(receive, Status::Success, CompletionKind::Receive, delivery, cx);
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
