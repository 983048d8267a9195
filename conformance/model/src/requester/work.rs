//! A request on its way.

use alloc::vec::Vec;

use rocespec_codec::{Msn, Psn};

use crate::memory::Memory;
use crate::responder::read_psns;
use crate::verbs::{Access, SendOperation, SendRequest, Status};

/// A request that was posted and is not done.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) request: SendRequest,
    /// Its number among the messages of the connection, from 1.
    pub(super) number: Msn,
    /// A copy of the data, where it was taken when the request was posted.
    pub(super) data: Option<Vec<u8>>,
    pub(super) stage: Stage,
    /// Responses that came.
    pub(super) answered: u32,
    /// The most responses that came before it was asked for anew: only beyond them it goes forward.
    pub(super) most_answered: u32,
    /// How many responses had come when it was last asked for.
    pub(super) resumed: u32,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It was not its turn yet.
    Waiting,
    /// It has its PSNs, and its first packet leaves with that.
    Begun(Span),
    /// It cannot be carried out, and fails so when those before it are done.
    Faulty(Status),
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

    /// The PSN behind the ones that are used up once packet `number` of its request has left.
    pub(super) fn behind(self, work: &Work, number: u32) -> Psn {
        self.first.plus(if work.needs_response() { self.psns } else { number + 1 })
    }
}

impl Work {
    pub(super) fn new(request: SendRequest, number: Msn) -> Work {
        Work { request, number, data: None, stage: Stage::Waiting, answered: 0, most_answered: 0, resumed: 0 }
    }

    /// Copies the data now: the software may change its buffer at once.
    pub(super) fn keep_data(&mut self, memory: &Memory) {
        let (bytes, right) = buffer(&self.request);
        // What is written to when the response comes cannot be taken before.
        if right == Access::NONE {
            self.data = memory.bytes(self.request.mr, self.request.offset, bytes.into()).ok().map(<[u8]>::to_vec);
        }
    }

    /// Its PSNs, once it has begun.
    pub(super) fn span(&self) -> Option<Span> {
        match self.stage {
            Stage::Begun(span) => Some(span),
            Stage::Waiting | Stage::Faulty(_) => None,
        }
    }

    /// Answered by responses of its own, not by an ACK; counted against `max_rd_atomic`.
    pub(super) fn needs_response(&self) -> bool {
        use SendOperation::{AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead};
        matches!(self.request.operation, RdmaRead | CompareSwap | FetchAdd | AtomicWrite | Flush)
    }

    /// Carried out here, without a packet.
    pub(super) fn is_local(&self) -> bool {
        matches!(self.request.operation, SendOperation::BindWindow | SendOperation::LocalInvalidate)
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
            SendOperation::RdmaRead => read_psns(self.request.length, mtu),
            _ => self.packets(mtu),
        }
    }
}

/// Bytes of local memory that a request takes or fills, and the right that it needs for that.
pub(super) fn buffer(request: &SendRequest) -> (u32, Access) {
    match request.operation {
        SendOperation::RdmaRead => (request.length, Access::LOCAL_WRITE),
        SendOperation::CompareSwap | SendOperation::FetchAdd => (8, Access::LOCAL_WRITE),
        SendOperation::AtomicWrite => (8, Access::NONE),
        SendOperation::Flush | SendOperation::BindWindow | SendOperation::LocalInvalidate => (0, Access::NONE),
        _ => (request.length, Access::NONE),
    }
}
