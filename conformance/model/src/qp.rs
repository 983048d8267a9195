//! A queue pair: its state, its attributes, its queues.

use alloc::collections::VecDeque;

use rocespec_codec::{Ethernet, MacAddr, Mtu, PKey, Qpn, RKey, RnrTimer};

use crate::config::PKEY_TABLE;
use crate::responder::Responder;
use crate::verbs::{
    Access, Capacity, Completion, CompletionKind, MemoryHandle, QpAttributes, QpHandle, QpState, Status,
};

/// A queue pair.
#[derive(Debug)]
pub(crate) struct Qp {
    pub(crate) handle: QpHandle,
    pub(crate) qpn: Qpn,
    pub(crate) capacity: Capacity,
    pub(crate) state: QpState,
    /// What was set so far; `state` in it is unused.
    pub(crate) attributes: QpAttributes,
    pub(crate) receives: VecDeque<Receive>,
    pub(crate) completions: VecDeque<Completion>,
    pub(crate) responder: Responder,
    /// Link header of the last request that was let in: where responses go when the peer is no known neighbour, and
    /// the VLAN tags that they carry.
    pub(crate) last_link: Option<Ethernet>,
    pub(crate) frames_sent: u64,
}

/// A posted receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receive {
    pub(crate) wr_id: u64,
    pub(crate) mr: MemoryHandle,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// What a receive completes with beside its status.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery {
    pub(crate) byte_len: u32,
    pub(crate) immediate: Option<u32>,
    pub(crate) invalidated: Option<RKey>,
    pub(crate) solicited: bool,
}

impl Qp {
    pub(crate) fn new(handle: QpHandle, qpn: Qpn, capacity: Capacity) -> Qp {
        Qp {
            handle,
            qpn,
            capacity,
            state: QpState::Reset,
            attributes: initial_attributes(),
            receives: VecDeque::new(),
            completions: VecDeque::new(),
            responder: Responder::default(),
            last_link: None,
            frames_sent: 0,
        }
    }

    /// Back to how it was made.
    pub(crate) fn reset(&mut self) {
        *self = Qp::new(self.handle, self.qpn, self.capacity);
    }

    /// True when requests from the peer are taken.
    pub(crate) fn can_receive(&self) -> bool {
        matches!(self.state, QpState::Rtr | QpState::Rts | QpState::Sqd | QpState::Sqe)
    }

    /// Path MTU in bytes.
    pub(crate) fn mtu(&self) -> usize {
        self.attributes.path_mtu.map_or(256, Mtu::bytes)
    }

    pub(crate) fn peer_qpn(&self) -> Qpn {
        self.attributes.dest_qpn.unwrap_or_default()
    }

    pub(crate) fn gid_index(&self) -> usize {
        usize::from(self.attributes.gid_index.unwrap_or(0))
    }

    pub(crate) fn pkey(&self) -> PKey {
        PKEY_TABLE[usize::from(self.attributes.pkey_index.unwrap_or(0)) % PKEY_TABLE.len()]
    }

    pub(crate) fn access(&self) -> Access {
        self.attributes.access.unwrap_or_default()
    }

    pub(crate) fn rnr_timer(&self) -> RnrTimer {
        self.attributes.min_rnr_timer.unwrap_or_default()
    }

    pub(crate) fn max_dest_rd_atomic(&self) -> usize {
        usize::from(self.attributes.max_dest_rd_atomic.unwrap_or(0))
    }

    /// The peer's address when it is no known neighbour: the one it sent from.
    pub(crate) fn learned_mac(&self) -> MacAddr {
        self.last_link.as_ref().map_or(MacAddr::default(), |link| link.src)
    }

    /// Completes a receive.
    pub(crate) fn complete(&mut self, receive: Receive, status: Status, kind: CompletionKind, delivery: Delivery) {
        self.completions.push_back(Completion {
            wr_id: receive.wr_id,
            status,
            kind,
            byte_len: delivery.byte_len,
            immediate: delivery.immediate,
            invalidated: delivery.invalidated,
            solicited: delivery.solicited,
            src_qpn: Qpn::default(),
            grh: false,
        });
    }

    /// Completes a receive without having used it.
    pub(crate) fn complete_unused(&mut self, receive: Receive, status: Status) {
        self.complete(receive, status, CompletionKind::Receive, Delivery::default());
    }

    /// Completes all posted receives unused, as a queue pair in error does.
    pub(crate) fn flush_receives(&mut self) {
        while let Some(receive) = self.receives.pop_front() {
            self.complete_unused(receive, Status::FlushError);
        }
    }
}

fn initial_attributes() -> QpAttributes {
    QpAttributes {
        gid_index: Some(0),
        traffic_class: Some(0),
        hop_limit: Some(64),
        flow_label: Some(0),
        service_level: Some(0),
        ..QpAttributes::default()
    }
}
