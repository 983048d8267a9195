//! What a queue pair needs of the endpoint around it while it handles a packet.

use alloc::collections::VecDeque;

use crate::config::Capabilities;
use crate::congestion::CongestionConfig;
use crate::counters::{Counter, Counters};
use crate::defect::{Defect, Defects};
use crate::memory::Memory;
use crate::pause::LinkSpeed;
use crate::policy::Policy;
use crate::schedule::Turn;
use crate::time::Time;
use crate::verbs::{AsyncEvent, EventKind, QpHandle};

/// What a queue pair needs of the endpoint around it while it handles a packet.
pub(crate) struct Context<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) capabilities: Capabilities,
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
        self.events.push_back(AsyncEvent { kind, qp: Some(qp) });
    }

    /// A turn to send at this time, behind all that were given out before for the same time.
    pub(crate) fn turn_at(&mut self, due: Time) -> Turn {
        *self.order += 1;
        Turn { due, order: *self.order }
    }
}
