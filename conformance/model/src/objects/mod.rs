//! The verbs: objects that the device's own software makes and uses.

mod memory;
mod multicast;
mod shared;

use alloc::vec::Vec;

use rocespec_codec::Qpn;

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::qp::Qp;
use crate::receives::Receive;
use crate::requester;
use crate::transition;
use crate::verbs::{
    Capacity, Completion, MemoryHandle, QpAttributes, QpHandle, QpInit, QpKind, QpState, SendRequest, VerbError,
};

/// Most work requests in one queue.
const MAX_QUEUE: u32 = 16384;

impl Endpoint {
    /// Makes a queue pair in the default protection domain that shares nothing. The short form of
    /// [`Endpoint::create_qp_with`].
    ///
    /// # Errors
    /// As that.
    pub fn create_qp(&mut self, kind: QpKind, capacity: Capacity) -> Result<(QpHandle, Qpn), VerbError> {
        self.create_qp_with(&QpInit { capacity, ..QpInit::new(kind) })
    }

    /// Makes a queue pair with a completion queue of its own, in state RESET.
    ///
    /// # Errors
    /// [`VerbError::OutOfRange`] for queues of more than 16384 requests and for a shared receive queue that serves XRC;
    /// [`VerbError::NoSuchObject`] when something that it names is not there; [`VerbError::MissingAttribute`] for an XRC
    /// target without a domain; [`VerbError::UnexpectedAttribute`] for XRC with a shared receive queue of its own.
    pub fn create_qp_with(&mut self, init: &QpInit) -> Result<(QpHandle, Qpn), VerbError> {
        let Capacity { max_send_wr, max_recv_wr } = init.capacity;
        if max_recv_wr > MAX_QUEUE || max_send_wr > MAX_QUEUE {
            return Err(VerbError::OutOfRange("capacity"));
        }
        let is_xrc = matches!(init.kind, QpKind::XrcInitiator | QpKind::XrcTarget);
        if is_xrc && init.srq.is_some() {
            return Err(VerbError::UnexpectedAttribute("srq"));
        }
        if init.kind == QpKind::XrcTarget && init.xrc_domain.is_none() {
            return Err(VerbError::MissingAttribute("xrc_domain"));
        }
        self.hold(init)?;
        let Config { first_qpn, port_mtu, .. } = self.config;
        Ok(self.qps.create(first_qpn, |handle, qpn| Qp::new(handle, qpn, *init, port_mtu)))
    }

    /// Moves a queue pair to a state and sets attributes on the way.
    ///
    /// # Errors
    /// When there is no such move, or it lacks an attribute or has one too many. Nothing is changed then.
    pub fn modify_qp(&mut self, qp: QpHandle, attributes: &QpAttributes) -> Result<(), VerbError> {
        let known = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?;
        let to = transition::check(known.kind, known.state, attributes, &self.config)?;
        self.with_qp(qp, |qp, cx| qp.modify(to, attributes, cx));
        Ok(())
    }

    /// The state and the attributes that were set.
    ///
    /// # Errors
    /// When there is no such queue pair.
    pub fn query_qp(&self, qp: QpHandle) -> Result<QpAttributes, VerbError> {
        let qp = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?;
        Ok(QpAttributes { state: Some(qp.state), ..qp.attributes.clone() })
    }

    /// Destroys a queue pair, with what it still had to send.
    ///
    /// # Errors
    /// When there is no such queue pair.
    pub fn destroy_qp(&mut self, qp: QpHandle) -> Result<(), VerbError> {
        let mut gone = self.qps.remove(qp).ok_or(VerbError::NoSuchObject)?;
        self.schedule.settle(qp, &mut gone.place, self.now, 0, None, None);
        self.groups.forget(qp);
        self.memory.forget_qp(qp);
        self.release(&gone.init);
        Ok(())
    }

    /// Posts a receive of one buffer. Whether the buffer can be written shows only when a message comes for it, as on
    /// devices: the message is then answered with NAK remote operational error. In state ERROR the receive is flushed
    /// at once.
    ///
    /// # Errors
    /// When there is no such queue pair or region, the queue pair is in RESET, its receive queue is full, or it has none of
    /// its own.
    pub fn post_receive(
        &mut self,
        qp: QpHandle,
        wr_id: u64,
        mr: MemoryHandle,
        offset: u64,
        length: u32,
    ) -> Result<(), VerbError> {
        if !self.memory.exists(mr) {
            return Err(VerbError::NoSuchObject);
        }
        let known = self.qps.get_mut(qp).ok_or(VerbError::NoSuchObject)?;
        if known.init.srq.is_some() || matches!(known.kind, QpKind::XrcInitiator | QpKind::XrcTarget) {
            return Err(VerbError::Unsupported);
        }
        if known.state == QpState::Reset {
            return Err(VerbError::WrongState(known.state));
        }
        if known.receives.len() >= known.init.capacity.max_recv_wr as usize {
            return Err(VerbError::QueueFull);
        }
        known.receives.push_back(Receive { wr_id, mr, offset, length, pd: known.init.pd, srq: None });
        if known.state == QpState::Error {
            self.with_qp(qp, Qp::flush_receives);
        }
        Ok(())
    }

    /// Posts a send request. It goes out at once where nothing holds it back. Whether its buffer may be used shows only
    /// when it is its turn. In state ERROR the request is flushed at once.
    ///
    /// # Errors
    /// When there is no such queue pair or region, the queue pair is in RESET, INIT or RTR, the send queue is full, or the
    /// operation is none of this transport.
    pub fn post_send(&mut self, qp: QpHandle, request: &SendRequest) -> Result<(), VerbError> {
        let qp_ref = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?;
        requester::may_post(qp_ref, request, &self.memory, &self.config.gids)?;
        self.with_qp(qp, |qp, cx| requester::post(qp, request, cx));
        Ok(())
    }

    /// Takes finished work requests of a queue pair, oldest first; none when there is no such queue pair.
    pub fn poll(&mut self, qp: QpHandle, max: usize) -> Vec<Completion> {
        self.qps.get_mut(qp).map_or_else(Vec::new, |qp| {
            let count = max.min(qp.completions.len());
            qp.completions.drain(..count).collect()
        })
    }
}
