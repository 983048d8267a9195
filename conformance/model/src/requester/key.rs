//! Requests that change keys of the queue pair's own memory: nothing is sent.

use super::complete;
use crate::context::Context;
use crate::memory::Binding;
use crate::qp::Qp;
use crate::verbs::{SendOperation, SendRequest, Status};

/// Carries out the oldest request, which is to bind a memory window or to invalidate a key.
pub(super) fn change(qp: &mut Qp, cx: &mut Context<'_>) {
    let Some(request) = qp.requester.queue.front().map(|work| work.request) else { return };
    let result = match request.operation {
        SendOperation::LocalInvalidate => {
            let (plain_regions, defects) = (cx.policy.invalidates_plain_regions, cx.defects);
            let done = cx.memory.invalidate(cx.owner, request.rkey, plain_regions, defects);
            done.map_err(|_| Status::LocalQpOperationError)
        }
        _ => bind(&request, cx),
    };
    match result {
        Ok(()) => complete::first(qp, Status::Success, cx),
        Err(status) => complete::fail(qp, status, cx),
    }
}

fn bind(request: &SendRequest, cx: &mut Context<'_>) -> Result<(), Status> {
    let bind = request.bind.ok_or(Status::MwBindError)?;
    let binding = Binding {
        window: bind.window,
        region: request.mr,
        offset: request.offset,
        len: request.length.into(),
        access: bind.access,
        key: bind.key,
    };
    cx.memory.bind(cx.owner, &binding, cx.defects)
}
