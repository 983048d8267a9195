//! The end of requests.

use rocespec_codec::Qpn;

use super::work::Work;
use super::{Cursor, Timer, unreliable};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::{Completion, Status};

/// Completes the oldest request.
pub(super) fn first(qp: &mut Qp, status: Status, cx: &Context<'_>) {
    let requester = &mut qp.requester;
    let Some(work) = requester.queue.pop_front() else { return };
    if let Some(span) = work.span() {
        let behind = span.last().next();
        if behind.since(requester.oldest) > 0 {
            requester.oldest = behind;
        }
    }
    if requester.cursor.work > 0 {
        requester.cursor.work -= 1;
        requester.reads = requester.reads.saturating_sub(usize::from(work.needs_response()));
    } else {
        requester.cursor.packet = 0;
    }
    // rule: rc.requester.error-completion
    let is_error = status != Status::Success && !cx.has(Defect::KeepsUnsignaledErrors);
    if work.request.flags.signaled || is_error {
        qp.completions.push_back(completion(&work, status));
    }
}

/// The oldest request fails with `status`, and the queue pair with it.
pub(super) fn fail(qp: &mut Qp, status: Status, cx: &mut Context<'_>) {
    first(qp, status, cx);
    if !qp.kind.is_reliable() {
        return unreliable::stop(qp, cx);
    }
    // rule: rc.requester.error-silence
    if cx.has(Defect::SendsAfterFailure) {
        return;
    }
    qp.fall_silent(cx);
    flush(qp, cx);
}

/// Completes all requests as flushed.
///
/// rule: rc.requester.flush
pub(super) fn flush(qp: &mut Qp, cx: &Context<'_>) {
    let requester = &mut qp.requester;
    (requester.timer, requester.turn) = (Timer::Off, None);
    if cx.has(Defect::ForgetsToFlush) {
        requester.queue.clear();
    }
    while !qp.requester.queue.is_empty() {
        first(qp, Status::FlushError, cx);
    }
    qp.requester.cursor = Cursor::default();
    qp.requester.reads = 0;
}

fn completion(work: &Work, status: Status) -> Completion {
    Completion {
        wr_id: work.request.wr_id,
        status,
        kind: work.request.operation.completion(),
        byte_len: if status == Status::Success { work.response_len() } else { 0 },
        immediate: None,
        invalidated: None,
        solicited: false,
        src_qpn: Qpn::default(),
        grh: false,
    }
}
