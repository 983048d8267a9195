//! Receives: taken from the queue pair's own queue or a shared one, and completed.

use alloc::collections::VecDeque;

use rocespec_codec::{Qpn, RKey};

use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::{
    AsyncEvent, Completion, CompletionKind, EventKind, MemoryHandle, PdHandle, QpKind, SrqHandle, Status,
};

/// A posted receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receive {
    pub(crate) wr_id: u64,
    pub(crate) mr: MemoryHandle,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The protection domain that the buffer has to be in.
    pub(crate) pd: PdHandle,
    /// The shared queue that it was taken from.
    pub(crate) srq: Option<SrqHandle>,
}

/// What a receive completes with beside its status.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery {
    pub(crate) byte_len: u32,
    pub(crate) immediate: Option<u32>,
    pub(crate) invalidated: Option<RKey>,
    pub(crate) solicited: bool,
    pub(crate) src_qpn: Qpn,
    /// The buffer begins with the GRH area.
    pub(crate) grh: bool,
}

impl Receive {
    /// Places data so many bytes behind the beginning of the buffer. `None` where the buffer is not the device's to write.
    pub(crate) fn place(&self, at: u32, data: &[u8], cx: &mut Context<'_>) -> Option<()> {
        cx.memory.place(self.pd, self.mr, self.offset.saturating_add(at.into()), data, cx.defects)
    }
}

impl Qp {
    /// True when others may take the receives that it counts on.
    pub(crate) fn shares_receives(&self) -> bool {
        self.srq.is_some() || self.kind == QpKind::XrcTarget
    }

    fn queue<'a>(&'a self, cx: &'a Context<'_>) -> Option<&'a VecDeque<Receive>> {
        match self.srq {
            Some(srq) => cx.srqs.get(srq).map(|srq| &srq.receives),
            None => Some(&self.receives),
        }
    }

    /// The receive that is taken next.
    pub(crate) fn next_receive(&self, cx: &Context<'_>) -> Option<Receive> {
        // rule: rc.responder.srq-order
        if self.srq.is_some() && cx.has(Defect::SrqTakesNewestFirst) {
            return self.queue(cx)?.back().copied();
        }
        self.queue(cx)?.front().copied()
    }

    /// Takes the next receive out of its queue.
    pub(crate) fn take_receive(&mut self, cx: &mut Context<'_>) -> Option<Receive> {
        let Some(handle) = self.srq else { return self.receives.pop_front() };
        let newest_first = cx.has(Defect::SrqTakesNewestFirst);
        let srq = cx.srqs.get_mut(handle)?;
        let receive = if newest_first { srq.receives.pop_back() } else { srq.receives.pop_front() };
        // rule: rc.responder.srq-limit
        if srq.receives.len() < srq.limit as usize {
            srq.limit = 0;
            if !cx.has(Defect::SrqForgetsLimit) {
                cx.events.push_back(AsyncEvent { kind: EventKind::SrqLimitReached, qp: None, srq: Some(handle) });
            }
        }
        receive
    }

    /// Completes a receive. Those that an XRC target took complete where they were posted.
    pub(crate) fn complete(
        &mut self,
        receive: Receive,
        status: Status,
        kind: CompletionKind,
        delivery: Delivery,
        cx: &mut Context<'_>,
    ) {
        let done = Completion {
            wr_id: receive.wr_id,
            status,
            kind,
            byte_len: delivery.byte_len,
            immediate: delivery.immediate,
            invalidated: delivery.invalidated,
            solicited: delivery.solicited,
            src_qpn: delivery.src_qpn,
            grh: delivery.grh,
        };
        // rule: xrc.responder.srq-completion
        let is_shared = self.kind == QpKind::XrcTarget && !cx.has(Defect::XrcCompletesOnQp);
        match receive.srq.filter(|_| is_shared).and_then(|srq| cx.srqs.get_mut(srq)) {
            Some(srq) => srq.completions.push_back(done),
            None => self.completions.push_back(done),
        }
    }

    /// Completes a receive without having used it.
    pub(crate) fn complete_unused(&mut self, receive: Receive, status: Status, cx: &mut Context<'_>) {
        self.complete(receive, status, CompletionKind::Receive, Delivery::default(), cx);
    }

    /// Completes all receives of its own unused, as a queue pair in error does. Shared ones stay for the others.
    pub(crate) fn flush_receives(&mut self, cx: &mut Context<'_>) {
        while let Some(receive) = self.receives.pop_front() {
            self.complete_unused(receive, Status::FlushError, cx);
        }
        if self.init.srq.is_some() {
            cx.report(EventKind::LastReceiveTaken, self.handle);
        }
    }
}
