//! A request on its way.

use alloc::vec::Vec;

use rocespec_codec::{Msn, Psn};

use crate::memory::Memory;
use crate::verbs::{SendOperation, SendRequest};

/// A request that was posted and is not done.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) request: SendRequest,
    /// Its number among the messages of the connection, from 1.
    pub(super) number: Msn,
    /// A copy of the data, where it was taken when the request was posted.
    pub(super) data: Option<Vec<u8>>,
    /// PSNs, given when it begins.
    pub(super) span: Option<Span>,
    /// Responses that came.
    pub(super) answered: u32,
    /// How many responses had come when it was last asked for.
    pub(super) resumed: u32,
}

/// The PSNs of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: Psn,
    /// At least 1.
    pub(super) psns: u32,
}

impl Span {
    pub(super) fn last(self) -> Psn {
        self.first.plus(self.psns - 1)
    }

    pub(super) fn contains(self, psn: Psn) -> bool {
        psn.is_within(self.first, self.psns)
    }
}

impl Work {
    pub(super) fn new(request: SendRequest, number: Msn) -> Work {
        Work { request, number, data: None, span: None, answered: 0, resumed: 0 }
    }

    /// Copies the data now: the software may change its buffer at once.
    pub(super) fn keep_data(&mut self, memory: &Memory) {
        let SendRequest { mr, offset, length, .. } = self.request;
        self.data = memory.bytes(mr, offset, u64::from(length)).ok().map(<[u8]>::to_vec);
    }

    /// Answered by responses of its own, not by an ACK; counted against `max_rd_atomic`.
    pub(super) fn needs_response(&self) -> bool {
        use SendOperation::{AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead};
        matches!(self.request.operation, RdmaRead | CompareSwap | FetchAdd | AtomicWrite | Flush)
    }

    /// Takes a receive at the other end.
    pub(super) fn needs_receive(&self) -> bool {
        use SendOperation::{RdmaWriteWithImmediate, Send, SendWithImmediate, SendWithInvalidate};
        matches!(self.request.operation, Send | SendWithImmediate | SendWithInvalidate | RdmaWriteWithImmediate)
    }

    /// Bytes that a READ or an ATOMIC brings home.
    pub(super) fn response_len(&self) -> u32 {
        match self.request.operation {
            SendOperation::RdmaRead => self.request.length,
            SendOperation::CompareSwap | SendOperation::FetchAdd => 8,
            _ => 0,
        }
    }

    /// Packets of the request itself.
    pub(super) fn packets(&self, mtu: usize) -> u32 {
        if self.needs_response() { 1 } else { self.request.length.div_ceil(mtu as u32).max(1) }
    }

    /// PSNs that it takes: one for each packet, for a READ one for each response.
    pub(super) fn psns(&self, mtu: usize) -> u32 {
        match self.request.operation {
            // rule: rc.requester.read-psns
            SendOperation::RdmaRead => self.request.length.div_ceil(mtu as u32).max(1),
            _ => self.packets(mtu),
        }
    }

    /// The PSN behind the ones that are used up once packet `number` has left.
    pub(super) fn psn_behind(&self, number: u32) -> Psn {
        let first = self.span.map_or(Psn::new(0), |span| span.first);
        if self.needs_response() { first.plus(self.span.map_or(1, |span| span.psns)) } else { first.plus(number + 1) }
    }
}
