//! Requests that were executed before.

use rocespec_codec::{NakCode, Psn, Roce};

use super::outbox::Response;
use super::remembered::is_part_of;
use super::request::{Operation, Request};
use super::respond::ReadStream;
use super::{acknowledge, atomic, atomic_write, flush, write};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::DuplicateAck;
use crate::qp::Qp;
use crate::receives::Delivery;
use crate::verbs::{CompletionKind, Status};

pub(super) fn answer(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    cx.count(Counter::DuplicateRequests);
    if cx.has(Defect::NaksDuplicate) {
        return acknowledge::nak(qp, qp.responder.expected, NakCode::PsnSequenceError, cx);
    }
    let Some(request) = Request::of(packet, cx.capabilities) else { return cx.count(Counter::DropDuplicate) };
    match request.operation {
        Operation::Send => {
            // rule: rc.responder.duplicate-send
            if cx.has(Defect::ExecutesDuplicateSend) {
                deliver_again(qp, &request, cx);
            }
            acknowledge_again(qp, &request, cx);
        }
        Operation::Write => {
            // rule: rc.responder.duplicate-write
            if cx.has(Defect::ExecutesDuplicateWrite) {
                write::execute_again(&request, cx);
            }
            acknowledge_again(qp, &request, cx);
        }
        Operation::Read => read_again(qp, &request, cx),
        Operation::CompareSwap | Operation::FetchAdd => atomic_again(qp, &request, cx),
        Operation::Flush | Operation::AtomicWrite => placed_again(qp, &request, cx),
    }
}

fn acknowledge_again(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    let wanted = request.packet.bth.ack_req || cx.policy.ack_unasked_duplicates;
    if wanted && !cx.has(Defect::DropsDuplicate) {
        let psn = ack_psn(qp, request.packet.bth.psn, cx);
        acknowledge::acknowledge(qp, psn, cx);
    }
}

/// rule: rc.responder.duplicate-ack-psn
///
/// Never before the duplicate and never behind the last packet received. A READ or an ATOMIC in between keeps the
/// ACK before itself: only its own responses acknowledge it.
fn ack_psn(qp: &Qp, duplicate: Psn, cx: &Context<'_>) -> Psn {
    if cx.has(Defect::AcksDuplicateWithResetPsn) {
        return Psn::new(0xff_ffff);
    }
    match cx.policy.duplicate_ack {
        DuplicateAck::Own => duplicate,
        DuplicateAck::Latest => {
            qp.responder.remembered.first_behind(duplicate).unwrap_or(qp.responder.expected).minus(1)
        }
    }
}

/// rule: rc.responder.duplicate-read
fn read_again(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    let (psn, mut retry) = (request.packet.bth.psn, request.packet.ext.reth);
    let known = qp.responder.remembered.read(psn);
    let repeats = known.is_some_and(|(original, skipped)| is_part_of(&retry, &original, skipped, qp.mtu(), cx));
    if !repeats || cx.has(Defect::DropsDuplicateRead) {
        return cx.count(Counter::DropDuplicate);
    }
    if cx.has(Defect::RestartsDuplicateRead)
        && let Some((original, _)) = known
    {
        retry.va = original.va;
    }
    qp.responder.outbox.push_again(Response::Read(ReadStream::new(psn, retry, qp.responder.msn)), cx);
}

/// rule: rc.responder.duplicate-atomic
fn atomic_again(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    let psn = request.packet.bth.psn;
    let stored = qp.responder.remembered.atomic(psn);
    let original = if cx.has(Defect::ExecutesDuplicateAtomic) {
        atomic::perform(request, cx).ok()
    } else if cx.has(Defect::AnswersDuplicateAtomicFromMemory) {
        Some(atomic::current(request, cx))
    } else {
        stored
    };
    match original {
        Some(original) => {
            let response = Response::Atomic { psn, msn: qp.responder.msn, original };
            qp.responder.outbox.push_again(response, cx);
        }
        None => cx.count(Counter::DropDuplicate),
    }
}

/// rule: rc.responder.flush, rc.responder.atomic-write
fn placed_again(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    let psn = request.packet.bth.psn;
    if !qp.responder.remembered.placed(psn) || cx.has(Defect::DropsDuplicateFlush) {
        return cx.count(Counter::DropDuplicate);
    }
    if request.operation == Operation::AtomicWrite && cx.has(Defect::ExecutesDuplicateAtomicWrite) {
        let _ = atomic_write::perform(request, cx);
    }
    flush::answer(qp, psn, qp.responder.msn, true, cx);
}

/// Delivers the data of a duplicate again, as only a defect does.
fn deliver_again(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    if request.info.ends_message()
        && let Some(receive) = qp.take_receive(cx)
    {
        let _ = receive.place(0, request.packet.payload, cx);
        let delivery = Delivery { byte_len: request.len(), ..Delivery::default() };
        qp.complete(receive, Status::Success, CompletionKind::Receive, delivery, cx);
    }
}
