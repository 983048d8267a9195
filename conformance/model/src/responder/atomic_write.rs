//! ATOMIC WRITE: eight bytes that no reader sees half written (A19.4.2).

use super::request::Request;
use super::{flush, length, refuse::Refusal, rights};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::Access;

/// Bytes that are written.
const LEN: u32 = 8;

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    rights::check_read_resources(qp, cx)?;
    length::check_packet(request, qp.mtu(), cx)?;
    perform(request, cx)?;
    flush::done(qp, request, cx);
    Ok(())
}

/// Carries it out.
pub(super) fn perform(request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    let reth = request.packet.ext.reth;
    // rule: rc.responder.atomic-write-length
    if reth.len != LEN && !cx.has(Defect::IgnoresAtomicWriteLength) {
        return Err(Refusal::InvalidRequest);
    }
    // rule: rc.responder.atomic-write-alignment
    if !reth.va.is_multiple_of(LEN.into()) && !cx.has(Defect::AcceptsMisalignedAtomicWrite) {
        return Err(Refusal::InvalidRequest);
    }
    // rule: rc.responder.atomic-write-range
    let region = cx.authorize(reth.rkey, reth.va, LEN.into(), Access::REMOTE_WRITE)?;
    cx.memory.write_remote(region, reth.va, request.packet.payload);
    Ok(())
}
