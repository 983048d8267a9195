//! The verbs: objects that the device's own software makes and uses.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use rocespec_codec::Qpn;

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::multicast;
use crate::qp::{Qp, Receive};
use crate::requester;
use crate::transition;
use crate::verbs::{
    Access, Capacity, Completion, MemoryHandle, MemoryRegion, QpAttributes, QpHandle, QpKind, QpState, SendRequest,
    VerbError,
};

/// Most work requests in one queue.
const MAX_QUEUE: u32 = 16384;

impl Endpoint {
    /// Makes a queue pair with a completion queue of its own, in state RESET.
    ///
    /// # Errors
    /// [`VerbError::Unsupported`] for XRC; [`VerbError::OutOfRange`] for queues of more than 16384 requests.
    pub fn create_qp(&mut self, kind: QpKind, capacity: Capacity) -> Result<(QpHandle, Qpn), VerbError> {
        if matches!(kind, QpKind::XrcInitiator | QpKind::XrcTarget) {
            return Err(VerbError::Unsupported);
        }
        if capacity.max_recv_wr > MAX_QUEUE || capacity.max_send_wr > MAX_QUEUE {
            return Err(VerbError::OutOfRange("capacity"));
        }
        let Config { first_qpn, port_mtu, .. } = self.config;
        Ok(self.qps.create(first_qpn, |handle, qpn| Qp::new(handle, qpn, kind, capacity, port_mtu)))
    }

    /// Moves a queue pair to a state and sets attributes on the way.
    ///
    /// # Errors
    /// When there is no such move, or it lacks an attribute or has one too many. Nothing is changed then.
    pub fn modify_qp(&mut self, qp: QpHandle, attributes: &QpAttributes) -> Result<(), VerbError> {
        let known = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?;
        let to = transition::check(known.kind, known.state, attributes, &self.config.gids)?;
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
        self.schedule.settle(qp, &mut gone.place, 0, None, None);
        self.groups.forget(qp);
        Ok(())
    }

    /// Lets a UD queue pair have the datagrams to a multicast group as well. What it sends there itself does not come back
    /// to this port.
    ///
    /// # Errors
    /// When there is no such queue pair, it is none of UD, or `group` is no multicast GID.
    pub fn attach_multicast(&mut self, qp: QpHandle, group: Ipv6Addr) -> Result<(), VerbError> {
        let kind = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?.kind;
        if kind != QpKind::Ud {
            return Err(VerbError::Unsupported);
        }
        if !multicast::is_group(group) {
            return Err(VerbError::OutOfRange("group"));
        }
        self.groups.attach(group, qp);
        Ok(())
    }

    /// Takes a queue pair out of a multicast group.
    ///
    /// # Errors
    /// When it is not in it.
    pub fn detach_multicast(&mut self, qp: QpHandle, group: Ipv6Addr) -> Result<(), VerbError> {
        if self.groups.detach(group, qp) { Ok(()) } else { Err(VerbError::NoSuchObject) }
    }

    /// Registers zeroed memory. Remote write and remote atomic rights bring local write with them.
    ///
    /// # Errors
    /// When `length` is 0 or above [`crate::MAX_REGION`].
    pub fn register_memory(&mut self, length: u64, access: Access) -> Result<MemoryRegion, VerbError> {
        self.memory.register(length, access)
    }

    /// Takes memory back; its keys stop to work.
    ///
    /// # Errors
    /// When there is no such region.
    pub fn deregister_memory(&mut self, mr: MemoryHandle) -> Result<(), VerbError> {
        self.memory.deregister(mr)
    }

    /// Puts bytes into a region.
    ///
    /// # Errors
    /// When there is no such region, or the bytes do not fit it.
    pub fn write_memory(&mut self, mr: MemoryHandle, offset: u64, data: &[u8]) -> Result<(), VerbError> {
        self.memory.bytes_mut(mr, offset, data.len() as u64)?.copy_from_slice(data);
        Ok(())
    }

    /// Takes bytes out of a region.
    ///
    /// # Errors
    /// When there is no such region, or it does not reach so far.
    pub fn read_memory(&self, mr: MemoryHandle, offset: u64, length: u64) -> Result<Vec<u8>, VerbError> {
        Ok(self.memory.bytes(mr, offset, length)?.to_vec())
    }

    /// Posts a receive of one buffer. Whether the buffer can be written shows only when a message comes for it, as on
    /// devices: the message is then answered with NAK remote operational error. In state ERROR the receive is flushed
    /// at once.
    ///
    /// # Errors
    /// When there is no such queue pair or region, the queue pair is in RESET, or its receive queue is full.
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
        let qp = self.qps.get_mut(qp).ok_or(VerbError::NoSuchObject)?;
        if qp.state == QpState::Reset {
            return Err(VerbError::WrongState(qp.state));
        }
        if qp.receives.len() >= qp.capacity.max_recv_wr as usize {
            return Err(VerbError::QueueFull);
        }
        qp.receives.push_back(Receive { wr_id, mr, offset, length });
        if qp.state == QpState::Error {
            qp.flush_receives();
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
