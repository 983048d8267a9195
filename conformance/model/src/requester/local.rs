//! What can be wrong with a request before anything is sent.

use super::work::Span;
use crate::context::Context;
use crate::defect::Defect;
use crate::memory::Memory;
use crate::qp::Qp;
use crate::verbs::{Access, QpKind, QpState, SendOperation, SendRequest, Status, VerbError};

/// Longest message in bytes.
const MAX_MESSAGE: u32 = 1 << 31;

/// Whether a request can be posted at all.
pub(crate) fn may_post(qp: &Qp, request: &SendRequest, memory: &Memory) -> Result<(), VerbError> {
    if matches!(qp.state, QpState::Reset | QpState::Init | QpState::Rtr) {
        return Err(VerbError::WrongState(qp.state));
    }
    if qp.requester.pending() >= qp.capacity.max_send_wr as usize {
        return Err(VerbError::QueueFull);
    }
    if qp.kind == QpKind::XrcTarget {
        return Err(VerbError::Unsupported);
    }
    if request.length > MAX_MESSAGE {
        return Err(VerbError::OutOfRange("length"));
    }
    let uses_memory = request.length > 0 && request.operation != SendOperation::Flush;
    if uses_memory && !memory.exists(request.mr) {
        return Err(VerbError::NoSuchObject);
    }
    Ok(())
}

/// Gives the request that the cursor stands on its PSNs, when it is its turn for the first time.
///
/// # Errors
/// The status with which it fails, when it cannot be carried out.
pub(super) fn begin(qp: &mut Qp, cx: &Context<'_>) -> Result<(), Status> {
    let (mtu, depth) = (qp.mtu(), qp.attributes.max_rd_atomic.unwrap_or(0));
    let requester = &mut qp.requester;
    let Some(work) = requester.queue.get_mut(requester.cursor.work).filter(|work| work.span.is_none()) else {
        return Ok(());
    };
    let SendRequest { operation, mr, offset, length, .. } = work.request;
    if work.needs_response() && depth == 0 && !cx.has(Defect::ExceedsRdAtomic) {
        return Err(Status::LocalQpOperationError);
    }
    let (bytes, right) = match operation {
        SendOperation::RdmaRead => (length, Access::LOCAL_WRITE),
        SendOperation::CompareSwap | SendOperation::FetchAdd => (8, Access::LOCAL_WRITE),
        SendOperation::AtomicWrite => (8, Access::NONE),
        SendOperation::Flush => (0, Access::NONE),
        _ => (length, Access::NONE),
    };
    if bytes > 0 && work.data.is_none() && !cx.memory.allows_local(mr, offset, u64::from(bytes), right) {
        return Err(Status::LocalProtectionError);
    }
    let psns = if cx.has(Defect::ReadTakesOnePsn) { work.packets(mtu) } else { work.psns(mtu) };
    work.span = Some(Span { first: requester.next, psns });
    requester.next = requester.next.plus(psns);
    Ok(())
}
