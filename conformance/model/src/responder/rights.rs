//! What the queue pair itself allows.

use super::flush;
use super::refuse::Refusal;
use super::request::{Operation, Request};
use crate::context::Context;
use crate::defect::Defect;
use crate::policy::ExcessReads;
use crate::qp::Qp;
use crate::verbs::Access;

/// rule: rc.responder.qp-rights
pub(super) fn check_operation(qp: &Qp, request: &Request<'_, '_>, cx: &Context<'_>) -> Result<(), Refusal> {
    let needed = match request.operation {
        Operation::Send => Access::NONE,
        Operation::Write | Operation::AtomicWrite => Access::REMOTE_WRITE,
        Operation::Read => Access::REMOTE_READ,
        Operation::CompareSwap | Operation::FetchAdd => Access::REMOTE_ATOMIC,
        Operation::Flush => flush::placement(request),
    };
    if qp.access().contains(needed) || cx.has(Defect::IgnoresQpRights) {
        return Ok(());
    }
    Err(if cx.policy.qp_rights_as_access_error { Refusal::AccessError } else { Refusal::InvalidRequest })
}

/// rule: rc.responder.rd-atomic-limit
pub(super) fn check_read_resources(qp: &Qp, cx: &Context<'_>) -> Result<(), Refusal> {
    let granted = qp.max_dest_rd_atomic();
    if granted == 0 && !cx.has(Defect::IgnoresRdAtomicLimit) {
        return Err(Refusal::InvalidRequest);
    }
    // rule: rc.responder.rd-atomic-excess
    if cx.policy.excess_reads == ExcessReads::Nak && qp.responder.outbox.reads() >= granted.max(1) {
        return Err(Refusal::InvalidRequest);
    }
    Ok(())
}
