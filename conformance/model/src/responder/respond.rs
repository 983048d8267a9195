//! Responses to packets, one at a time, when they leave.

use rocespec_codec::{Aeth, AtomicAckEth, Extensions, Msn, NakCode, Opcode, Psn, Reth, Syndrome};

use super::outbox::Response;
use super::{acknowledge, refuse};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::memory::AccessError;
use crate::packet::{Packet, Payload};
use crate::qp::Qp;
use crate::verbs::{Access, EventKind, QpState, Status};

/// What is left of a READ. Its packets are made when they leave, so that a long one takes no more room than a short one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadStream {
    psn: Psn,
    reth: Reth,
    msn: Msn,
    begun: bool,
}

impl ReadStream {
    pub(super) fn new(psn: Psn, reth: Reth, msn: Msn) -> ReadStream {
        ReadStream { psn, reth, msn, begun: false }
    }
}

/// The next packet that is due; `None` when there is nothing to send after all.
pub(super) fn next_packet(qp: &mut Qp, cx: &mut Context<'_>) -> Option<Packet> {
    let response = *qp.responder.outbox.front_response()?;
    match response {
        Response::Acknowledge { psn, syndrome, msn, .. } => {
            qp.responder.outbox.pop();
            Some(acknowledgement(psn, syndrome, msn))
        }
        Response::Atomic { psn, msn, original } => {
            qp.responder.outbox.pop();
            // rule: rc.responder.atomic-ack
            let opcode = if cx.has(Defect::AnswersAtomicWithAck) {
                Opcode::RC_ACKNOWLEDGE
            } else {
                Opcode::RC_ATOMIC_ACKNOWLEDGE
            };
            let aeth = Aeth { syndrome: acknowledge::syndrome(qp, cx), msn };
            let ext = Extensions { aeth, atomic_ack: AtomicAckEth { original }, ..Extensions::default() };
            Some(Packet::new(opcode, psn, ext))
        }
        Response::Read(stream) => match segment(&stream, qp, cx) {
            Ok((packet, rest)) => {
                match (rest, qp.responder.outbox.front_response()) {
                    (Some(rest), Some(front)) => *front = Response::Read(rest),
                    _ => qp.responder.outbox.pop(),
                }
                Some(packet)
            }
            Err(AccessError) => lost_access(&stream, qp, cx),
        },
    }
}

fn acknowledgement(psn: Psn, syndrome: Syndrome, msn: Msn) -> Packet {
    let ext = Extensions { aeth: Aeth { syndrome, msn }, ..Extensions::default() };
    Packet::new(Opcode::RC_ACKNOWLEDGE, psn, ext)
}

/// The next packet of a READ, and what is left then.
///
/// rule: rc.responder.read-segmentation, rc.responder.read-psn, rc.responder.read-msn
fn segment(stream: &ReadStream, qp: &Qp, cx: &Context<'_>) -> Result<(Packet, Option<ReadStream>), AccessError> {
    let full = if cx.has(Defect::ReadSegmentsShort) { qp.mtu() / 2 } else { qp.mtu() };
    let len = stream.reth.len.min(full as u32);
    let is_last = stream.reth.len == len;
    let payload = if len == 0 {
        Payload::None
    } else {
        let Reth { rkey, va, .. } = stream.reth;
        let region = cx.still_authorize(rkey, va, u64::from(len), Access::REMOTE_READ)?;
        cx.memory.read_remote(region, va, len)
    };
    let opcode = match (stream.begun, is_last) {
        (false, true) => Opcode::RC_RDMA_READ_RESPONSE_ONLY,
        (false, false) => Opcode::RC_RDMA_READ_RESPONSE_FIRST,
        (true, true) if !cx.has(Defect::ReadEndsWithMiddle) => Opcode::RC_RDMA_READ_RESPONSE_LAST,
        (true, _) => Opcode::RC_RDMA_READ_RESPONSE_MIDDLE,
    };
    let ext =
        Extensions { aeth: Aeth { syndrome: acknowledge::syndrome(qp, cx), msn: stream.msn }, ..Extensions::default() };
    let mut packet = Packet { payload, ..Packet::new(opcode, stream.psn, ext) };
    if opcode == Opcode::RC_RDMA_READ_RESPONSE_LAST && cx.has(Defect::ReadLastWithoutAeth) {
        leave_out_aeth(&mut packet, cx);
    }
    let reth = Reth { va: stream.reth.va.wrapping_add(u64::from(len)), len: stream.reth.len - len, ..stream.reth };
    let psn = if cx.has(Defect::ReadRepeatsPsn) { stream.psn } else { stream.psn.next() };
    let rest = ReadStream { psn, reth, begun: true, ..*stream };
    Ok((packet, (!is_last).then_some(rest)))
}

/// The payload begins where the AETH belongs.
fn leave_out_aeth(packet: &mut Packet, cx: &Context<'_>) {
    if let Some((&[syndrome, high, middle, low], rest)) = packet.payload.bytes(cx.memory).split_first_chunk() {
        packet.ext.aeth =
            Aeth { syndrome: Syndrome(syndrome), msn: Msn::new(u32::from_be_bytes([0, high, middle, low])) };
        packet.payload = Payload::Bytes(rest.to_vec());
    }
}

/// The memory went away while it was being read: deregistered, or its key invalidated. A READ that was answered before is
/// one of those that cannot be answered again.
fn lost_access(stream: &ReadStream, qp: &mut Qp, cx: &mut Context<'_>) -> Option<Packet> {
    if qp.responder.outbox.front_is_repeated() {
        qp.responder.outbox.pop();
        cx.count(Counter::DropDuplicate);
        return None;
    }
    qp.responder.outbox.clear();
    if qp.state == QpState::Error {
        return None;
    }
    cx.count(Counter::NakSent);
    qp.abandon_message(Status::FlushError, cx);
    refuse::fail(qp, Some(EventKind::QpAccessError), cx);
    Some(acknowledgement(stream.psn, Syndrome::nak(NakCode::RemoteAccessError), stream.msn))
}
