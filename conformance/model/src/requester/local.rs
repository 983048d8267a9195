//! What can be wrong with a request before anything is sent.

use super::work::{Span, Stage, buffer};
use crate::config::GidEntry;
use crate::context::Context;
use crate::defect::Defect;
use crate::memory::Memory;
use crate::qp::Qp;
use crate::responder::MAX_MESSAGE;
use crate::verbs::{Destination, QpKind, QpState, SendOperation, SendRequest, Status, VerbError};

/// Whether a request can be posted at all.
///
/// # Errors
/// Why not.
pub(crate) fn may_post(qp: &Qp, request: &SendRequest, memory: &Memory, gids: &[GidEntry]) -> Result<(), VerbError> {
    if matches!(qp.state, QpState::Reset | QpState::Init | QpState::Rtr) {
        return Err(VerbError::WrongState(qp.state));
    }
    if qp.requester.pending() >= qp.init.capacity.max_send_wr as usize {
        return Err(VerbError::QueueFull);
    }
    if !carries(qp.kind, request.operation) {
        return Err(VerbError::Unsupported);
    }
    if qp.kind == QpKind::Ud && !request.destination.is_some_and(|destination| is_right(&destination, gids)) {
        return Err(VerbError::OutOfRange("destination"));
    }
    if request.length > MAX_MESSAGE {
        return Err(VerbError::OutOfRange("length"));
    }
    let (bytes, _) = buffer(request);
    if bytes > 0 && !memory.exists(request.mr) {
        return Err(VerbError::NoSuchObject);
    }
    Ok(())
}

/// Whether a transport has this operation.
fn carries(kind: QpKind, operation: SendOperation) -> bool {
    use SendOperation::{BindWindow, LocalInvalidate, RdmaWrite, RdmaWriteWithImmediate, Send, SendWithImmediate};
    match kind {
        QpKind::Rc | QpKind::XrcInitiator => true,
        QpKind::Uc => matches!(
            operation,
            Send | SendWithImmediate | RdmaWrite | RdmaWriteWithImmediate | BindWindow | LocalInvalidate
        ),
        QpKind::Ud => matches!(operation, Send | SendWithImmediate),
        QpKind::XrcTarget => false,
    }
}

fn is_right(destination: &Destination, gids: &[GidEntry]) -> bool {
    let Destination { gid, gid_index, flow_label, service_level, .. } = *destination;
    let local = gids.get(usize::from(gid_index));
    flow_label <= 0xf_ffff && service_level <= 7 && local.is_some_and(|local| local.reaches(gid))
}

/// Begins the request that the cursor stands on, when it is its turn for the first time: it gets its PSNs, or turns out
/// to be one that cannot be carried out.
pub(super) fn begin(qp: &mut Qp, cx: &Context<'_>) {
    let (mtu, depth) = (qp.mtu(), qp.attributes.max_rd_atomic.unwrap_or(0));
    let requester = &mut qp.requester;
    let Some(work) = requester.queue.get_mut(requester.cursor.work) else { return };
    if work.stage != Stage::Waiting {
        return;
    }
    let SendRequest { mr, offset, length, .. } = work.request;
    let (bytes, right) = buffer(&work.request);
    let has_data = bytes == 0
        || work.data.is_some()
        || cx.memory.allows_local(cx.owner.pd, mr, offset, bytes.into(), right, cx.defects);
    work.stage = if work.needs_response() && depth == 0 && !cx.has(Defect::ExceedsRdAtomic) {
        Stage::Faulty(Status::LocalQpOperationError)
    } else if qp.kind == QpKind::Ud && length as usize > mtu && !cx.has(Defect::UdSendsTooMuch) {
        // rule: ud.requester.length
        Stage::Faulty(Status::LocalLengthError)
    } else if !has_data {
        Stage::Faulty(Status::LocalProtectionError)
    } else {
        let psns = if cx.has(Defect::ReadTakesOnePsn) { work.packets(mtu) } else { work.psns(mtu) };
        // rule: rc.requester.psn-order, uc.requester.psn-order
        let first = if cx.has(Defect::SkipsPsn) { requester.next.next() } else { requester.next };
        requester.next = first.plus(psns);
        Stage::Begun(Span { first, psns })
    };
}
