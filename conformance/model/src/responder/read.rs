//! READ: from memory that the peer names.

use super::request::Request;
use super::{length, outbox::Response, refuse::Refusal, remembered, respond::ReadStream, rights};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::Access;

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    rights::check_read_resources(qp, cx)?;
    length::check_packet(request, qp.mtu(), cx)?;
    length::check_reth(request, cx)?;
    let reth = request.packet.ext.reth;
    // rule: rc.responder.zero-length
    if reth.len > 0 || cx.has(Defect::ChecksKeyOfZeroLength) {
        cx.authorize(reth.rkey, reth.va, u64::from(reth.len), Access::REMOTE_READ)?;
    }
    let psn = request.packet.bth.psn;
    let psns = length::read_psns(reth.len, qp.mtu());
    let limit = qp.max_dest_rd_atomic();
    qp.responder.remembered.push(remembered::Entry { psn, psns, what: remembered::What::Read(reth) }, limit);
    // rule: rc.responder.read-msn
    let before = qp.responder.msn;
    qp.responder.count_message(request, cx);
    let msn = if cx.has(Defect::ReadMsnNotAdvanced) { before } else { qp.responder.msn };
    // rule: rc.responder.read-psn
    qp.responder.advance(if cx.has(Defect::ReadCountsOnePsn) { 1 } else { psns });
    qp.responder.outbox.push(Response::Read(ReadStream::new(psn, reth, msn)), cx);
    Ok(())
}
