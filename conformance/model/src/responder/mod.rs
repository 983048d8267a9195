//! The responder: what happens to a request, from its PSN to its answer.
//!
//! The checks stand in the order in which they decide: PSN, opcode order, what the queue pair allows, receive or
//! READ/ATOMIC resources, lengths, key and range and rights; then the request is executed, counted and acknowledged.
//!
//! Where several answers are right and no [`crate::Policy`] chooses, this one does the following:
//! - a WRITE_FIRST whose RETH names no more than it brings itself is refused with the next packet, not at once;
//! - the alignment of an ATOMIC is looked at before its key, and an access that fails both is an invalid request;
//! - responses that repeat carry the MSN of now, not that of the first time;
//! - a duplicate READ may end earlier than the original, and begins where its PSN says;
//! - ATOMIC WRITE needs the right to WRITE, as in the one implementation that is known, not that to ATOMICs;
//! - a FLUSH of no bytes has its key looked at like one of some; reserved bits of its header are ignored, but one that
//!   asks for no placement or has a reserved selectivity is an invalid request;
//! - SEND with invalidate of a key that cannot be invalidated gets no answer; its receive completes in error;
//! - a message that has begun when another error ends the connection has its receive flushed like the others.

mod acknowledge;
mod atomic;
mod atomic_write;
mod duplicate;
mod flush;
mod gap;
mod length;
mod outbox;
mod read;
mod refuse;
mod remembered;
mod request;
mod respond;
mod rights;
mod send;
mod uc;
mod ud;
mod write;
mod xrc;

use rocespec_codec::{Msn, NakCode, Psn, Roce};

use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::qp::Qp;
use crate::receives::Receive;
use crate::verbs::{QpKind, Status};
use outbox::Outbox;
use refuse::Refusal;
use remembered::Remembered;
use request::{Operation, Request};

pub(crate) use length::{MAX_MESSAGE, read_psns};

/// State of the responder's side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Responder {
    /// PSN that the next new request has to have.
    pub(crate) expected: Psn,
    /// Messages completed.
    msn: Msn,
    waiting: Waiting,
    /// The message that has begun and not ended.
    message: Option<Message>,
    remembered: Remembered,
    /// Responses that have not left yet.
    pub(crate) outbox: Outbox,
}

/// Whether a NAK is out and its packet not here yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Waiting {
    #[default]
    Nothing,
    /// A NAK for a gap was sent.
    Missing,
    /// An RNR NAK was sent.
    Retry,
}

/// A message that has begun and not ended.
#[derive(Debug, Clone, Copy)]
enum Message {
    /// SEND, into this receive.
    Send { receive: Receive, received: u32 },
    /// SEND that is acknowledged and lost, which only a defect does.
    LostSend,
    /// What is left of it is passed over (UC).
    Dropped,
    /// WRITE, to where the next packet's data goes.
    Write(write::Cursor),
}

/// Where a PSN lies, seen from the one that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    /// ePSN itself.
    New,
    /// The 2^23 before it.
    Duplicate,
    /// The 2^23 - 1 behind it.
    Ahead,
}

/// The next response that is due; `None` when there is nothing to send after all.
pub(crate) fn next_packet(qp: &mut Qp, cx: &mut Context<'_>) -> Option<Packet> {
    let mut packet = respond::next_packet(qp, cx)?;
    xrc::spoil(&mut packet, qp, cx);
    Some(packet)
}

/// Takes a request that is for this queue pair.
pub(crate) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    match qp.kind {
        QpKind::Uc => return uc::receive(qp, packet, cx),
        QpKind::Ud => return ud::receive(qp, packet, cx),
        QpKind::Rc | QpKind::XrcInitiator | QpKind::XrcTarget => {}
    }
    if qp.responder.outbox.is_full() {
        return cx.count(Counter::DropBusy);
    }
    match region(packet.bth.psn, qp.responder.expected, cx) {
        Region::New => in_order(qp, packet, cx),
        Region::Duplicate => duplicate::answer(qp, packet, cx),
        Region::Ahead => gap::answer(qp, packet, cx),
    }
}

/// rule: rc.responder.psn-region, rc.responder.psn-wrap
fn region(psn: Psn, expected: Psn, cx: &Context<'_>) -> Region {
    let distance = if cx.has(Defect::ComparesPsnWithoutWrap) {
        psn.get() as i32 - expected.get() as i32
    } else {
        psn.since(expected)
    };
    match distance {
        0 => Region::New,
        ..0 => Region::Duplicate,
        _ => Region::Ahead,
    }
}

/// Takes a packet that is no request for one with an opcode that it does not know, as only a defect does.
pub(crate) fn refuse_as_request(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    acknowledge::nak(qp, packet.bth.psn, NakCode::InvalidRequest, cx);
}

fn in_order(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    // rule: rc.responder.nak-rearmed
    if !cx.has(Defect::DoesNotRearmNak) {
        qp.responder.waiting = Waiting::Nothing;
    }
    if let Err(refusal) = execute(qp, packet, cx) {
        refuse::refuse(qp, packet.bth.psn, refusal, cx);
    }
}

fn execute(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    // rule: rc.responder.reserved-opcode
    let Some(request) = Request::of(packet, cx.capabilities) else {
        if cx.has(Defect::IgnoresReservedOpcode) {
            return Ok(());
        }
        if cx.has(Defect::AcksReservedOpcode) {
            qp.responder.advance(1);
            acknowledge::acknowledge(qp, packet.bth.psn, cx);
            return Ok(());
        }
        return Err(Refusal::InvalidRequest);
    };
    carry_out(qp, &request, cx)
}

fn carry_out(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    request::check_order(&mut qp.responder.message, request, cx)?;
    rights::check_operation(qp, request, cx)?;
    xrc::find_srq(qp, request, cx)?;
    match request.operation {
        Operation::Send => send::execute(qp, request, cx)?,
        Operation::Write => write::execute(qp, request, cx)?,
        Operation::Read => read::execute(qp, request, cx)?,
        Operation::CompareSwap | Operation::FetchAdd => atomic::execute(qp, request, cx)?,
        Operation::Flush => flush::execute(qp, request, cx)?,
        Operation::AtomicWrite => atomic_write::execute(qp, request, cx)?,
    }
    cx.count(Counter::RequestsExecuted);
    Ok(())
}

impl Responder {
    /// The request took so many PSNs.
    fn advance(&mut self, psns: u32) {
        self.expected = self.expected.plus(psns);
    }

    /// rule: rc.responder.msn
    fn count_message(&mut self, request: &Request<'_, '_>, cx: &Context<'_>) {
        let is_uncounted_write = request.operation == Operation::Write && cx.has(Defect::MsnNotAdvancedByWrite);
        let counts = request.info.ends_message() && !is_uncounted_write;
        if counts || cx.has(Defect::MsnCountsPackets) {
            self.msn = self.msn.next();
        }
    }
}

impl Qp {
    /// Ends a message that will not be completed; the receive that it took completes with `status`.
    pub(crate) fn abandon_message(&mut self, status: Status, cx: &mut Context<'_>) {
        if let Some(Message::Send { receive, .. }) = self.responder.message.take() {
            self.complete_unused(receive, status, cx);
        }
    }
}
