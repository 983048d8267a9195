//! What a queue pair needs of the endpoint around it while it handles a packet.

use alloc::collections::VecDeque;

use rocespec_codec::{PKey, RKey};

use crate::config::Capabilities;
use crate::congestion::CongestionConfig;
use crate::counters::{Counter, Counters};
use crate::defect::{Defect, Defects};
use crate::memory::{AccessError, Memory, Owner};
use crate::pause::LinkSpeed;
use crate::policy::Policy;
use crate::schedule::Turn;
use crate::srq::Srqs;
use crate::time::Time;
use crate::verbs::{Access, AsyncEvent, EventKind, MemoryHandle, QpHandle};

/// What a queue pair needs of the endpoint around it while it handles a packet.
pub(crate) struct Context<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) srqs: &'a mut Srqs,
    /// The queue pair and its protection domain.
    pub(crate) owner: Owner,
    pub(crate) capabilities: Capabilities,
    pub(crate) pkeys: &'a [PKey],
    pub(crate) policy: &'a Policy,
    pub(crate) defects: Defects,
    pub(crate) congestion: &'a CongestionConfig,
    /// Speed of the link.
    pub(crate) link: LinkSpeed,
    pub(crate) now: Time,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: &'a mut VecDeque<AsyncEvent>,
    /// When a response to this packet leaves.
    pub(crate) due: Time,
    /// Counts turns over all queue pairs: those that are due at the same time leave in this order.
    pub(crate) order: &'a mut u64,
}

impl Context<'_> {
    pub(crate) fn has(&self, defect: Defect) -> bool {
        self.defects.has(defect)
    }

    pub(crate) fn count(&mut self, counter: Counter) {
        self.counters.count(counter);
    }

    pub(crate) fn report(&mut self, kind: EventKind, qp: QpHandle) {
        self.events.push_back(AsyncEvent { kind, qp: Some(qp), srq: None });
    }

    /// Which region the peer may use so, with key, range and rights checked.
    pub(crate) fn authorize(&self, rkey: RKey, va: u64, len: u64, right: Access) -> Result<MemoryHandle, AccessError> {
        self.memory.authorize(self.owner, rkey, va, len, right, self.defects)
    }

    /// As [`Context::authorize`], for a part of a range that was let in as a whole: the key may open less by now. What a
    /// defect let in is not looked at again.
    pub(crate) fn still_authorize(
        &self,
        rkey: RKey,
        va: u64,
        len: u64,
        right: Access,
    ) -> Result<MemoryHandle, AccessError> {
        let len = if self.has(Defect::AnswersDuplicateReadOutside) { None } else { Some(len) };
        self.memory.authorize_part(self.owner, rkey, va, len, right, self.defects)
    }

    /// As [`Context::authorize`], for a request that does not say how far it reaches.
    pub(crate) fn authorize_region(&self, rkey: RKey, va: u64, right: Access) -> Result<MemoryHandle, AccessError> {
        self.memory.authorize_part(self.owner, rkey, va, None, right, self.defects)
    }

    /// A turn to send at this time, behind all that were given out before for the same time.
    pub(crate) fn turn_at(&mut self, due: Time) -> Turn {
        *self.order += 1;
        Turn { due, order: *self.order }
    }
}
