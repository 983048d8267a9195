//! WRITE: into memory that the peer names.

use rocespec_codec::{Header, RKey};

use super::request::Request;
use super::{Message, acknowledge, length, refuse::Refusal, send};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::receives::Delivery;
use crate::verbs::{Access, CompletionKind, Status};

/// Where the next packet's data goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    rkey: RKey,
    va: u64,
    remaining: u32,
    total: u32,
}

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let takes_receive = request.info.has(Header::ImmDt) && !cx.has(Defect::WriteImmediateKeepsReceive);
    if takes_receive && qp.next_receive(cx).is_none() {
        return Err(Refusal::NotReady);
    }
    length::check_packet(request, qp.mtu(), cx)?;
    let mut cursor = match qp.responder.message {
        Some(Message::Write(cursor)) => cursor,
        _ => begin(request, cx)?,
    };
    check_total(&cursor, request, cx)?;
    if request.info.has(Header::Reth) {
        authorize_all(&cursor, cx)?;
    }
    place(&cursor, request, cx)?;
    cursor.va = cursor.va.wrapping_add(u64::from(request.len()));
    cursor.remaining = cursor.remaining.saturating_sub(request.len());
    qp.responder.message = (!request.info.ends_message()).then_some(Message::Write(cursor));
    if request.info.ends_message() {
        complete(qp, &cursor, request, takes_receive, cx);
    }
    qp.responder.advance(1);
    qp.responder.count_message(request, cx);
    if !cx.has(Defect::NeverAcksWrite) {
        acknowledge::if_wanted(qp, request, cx);
    }
    Ok(())
}

fn begin(request: &Request<'_, '_>, cx: &Context<'_>) -> Result<Cursor, Refusal> {
    length::check_reth(request, cx)?;
    let reth = request.packet.ext.reth;
    Ok(Cursor { rkey: reth.rkey, va: reth.va, remaining: reth.len, total: reth.len })
}

/// The packets together bring what the RETH said. A packet that would go beyond is refused before it writes anything.
fn check_total(cursor: &Cursor, request: &Request<'_, '_>, cx: &Context<'_>) -> Result<(), Refusal> {
    // rule: rc.responder.message-length
    let too_much = request.len() > cursor.remaining;
    let too_little = request.info.ends_message() && request.len() < cursor.remaining;
    if (too_much || too_little) && !cx.has(Defect::IgnoresWriteTotal) {
        return Err(Refusal::InvalidRequest);
    }
    Ok(())
}

/// The whole message is looked at when it begins, so that no part of one that goes wrong is written.
fn authorize_all(cursor: &Cursor, cx: &Context<'_>) -> Result<(), Refusal> {
    // rule: rc.responder.zero-length
    if cursor.total > 0 || cx.has(Defect::ChecksKeyOfZeroLength) {
        let len = u64::from(cursor.total);
        cx.authorize(cursor.rkey, cursor.va, len, Access::REMOTE_WRITE)?;
    }
    Ok(())
}

/// Each packet looks again: the key may have become invalid on the way.
fn place(cursor: &Cursor, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    if request.packet.payload.is_empty() {
        return Ok(());
    }
    let region = cx.still_authorize(cursor.rkey, cursor.va, request.len().into(), Access::REMOTE_WRITE)?;
    cx.memory.write_remote(region, cursor.va, request.packet.payload);
    Ok(())
}

fn complete(qp: &mut Qp, cursor: &Cursor, request: &Request<'_, '_>, takes_receive: bool, cx: &mut Context<'_>) {
    // rule: rc.responder.write-without-receive, rc.responder.write-immediate
    if (takes_receive || cx.has(Defect::WriteTakesReceive))
        && let Some(receive) = qp.take_receive(cx)
    {
        let delivery = Delivery {
            byte_len: cursor.total,
            immediate: send::immediate(request, cx),
            solicited: send::solicited(request, cx),
            ..Delivery::default()
        };
        qp.complete(receive, Status::Success, CompletionKind::ReceiveRdmaWithImmediate, delivery, cx);
    }
}

/// Writes the data of a duplicate again, as only a defect does.
pub(super) fn execute_again(request: &Request<'_, '_>, cx: &mut Context<'_>) {
    if request.info.has(Header::Reth)
        && let Ok(cursor) = begin(request, cx)
        && authorize_all(&cursor, cx).is_ok()
    {
        let _ = place(&cursor, request, cx);
    }
}
