//! FLUSH: what was written before becomes visible to everybody, or persistent (annex A19).
//!
//! What a peer writes is visible at once here, so that there is nothing to do but to check and to answer.

use rocespec_codec::{Msn, Psn, Reth};

use super::request::Request;
use super::{length, outbox::Response, refuse::Refusal, remembered, respond::ReadStream, rights};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::Access;

/// What a FLUSH is about: bits 5:4 of its header.
const SELECTIVITY_RANGE: u32 = 0;
const SELECTIVITY_REGION: u32 = 1;

/// Longest range in bytes (clause unverified).
const MAX_RANGE: u32 = (1 << 31) - 1;

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    rights::check_read_resources(qp, cx)?;
    // rule: rc.responder.flush-payload
    if !cx.has(Defect::AcceptsFlushPayload) {
        length::check_packet(request, qp.mtu(), cx)?;
    }
    check_region(request, cx)?;
    done(qp, request, cx);
    Ok(())
}

/// The rights that the placement asks for: bits 3:0 of the header.
pub(super) fn placement(request: &Request<'_, '_>) -> Access {
    let bits = request.packet.ext.feth.0;
    let asked = [(1, Access::FLUSH_GLOBAL), (2, Access::FLUSH_PERSISTENT)];
    asked.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, right)| right).collect()
}

fn check_region(request: &Request<'_, '_>, cx: &Context<'_>) -> Result<(), Refusal> {
    let (reth, placement) = (request.packet.ext.reth, placement(request));
    if placement == Access::NONE {
        return Err(Refusal::InvalidRequest);
    }
    // rule: rc.responder.flush-placement
    let right = if cx.has(Defect::IgnoresFlushPlacement) { Access::NONE } else { placement };
    // rule: rc.responder.flush-selectivity
    match request.packet.ext.feth.0 >> 4 & 3 {
        SELECTIVITY_REGION if !cx.has(Defect::ChecksRangeOfWholeFlush) => {
            cx.authorize_region(reth.rkey, reth.va, right)?;
        }
        SELECTIVITY_RANGE | SELECTIVITY_REGION if reth.len <= MAX_RANGE => {
            cx.authorize(reth.rkey, reth.va, reth.len.into(), right)?;
        }
        _ => return Err(Refusal::InvalidRequest),
    }
    Ok(())
}

/// Counts, remembers and answers a FLUSH or an ATOMIC WRITE.
pub(super) fn done(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) {
    let psn = request.packet.bth.psn;
    let limit = qp.max_dest_rd_atomic();
    qp.responder.remembered.push(remembered::Entry { psn, psns: 1, what: remembered::What::Placed }, limit);
    qp.responder.count_message(request, cx);
    qp.responder.advance(1);
    answer(qp, psn, qp.responder.msn, false, cx);
}

/// Sends the empty READ response that answers a FLUSH or an ATOMIC WRITE, for the first time or again.
pub(super) fn answer(qp: &mut Qp, psn: Psn, msn: Msn, again: bool, cx: &mut Context<'_>) {
    // rule: rc.responder.flush, rc.responder.atomic-write
    if cx.has(Defect::AnswersFlushWithAck) {
        return super::acknowledge::acknowledge(qp, psn, cx);
    }
    let response = Response::Read(ReadStream::new(psn, Reth::default(), msn));
    if again {
        qp.responder.outbox.push_again(response, cx);
    } else {
        qp.responder.outbox.push(response, cx);
    }
}
