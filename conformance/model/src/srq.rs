//! Receive queues that several queue pairs take from.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rocespec_codec::Qpn;

use crate::receives::Receive;
use crate::verbs::{Completion, PdHandle, SrqHandle, SrqInit, XrcDomainHandle};

/// A shared receive queue.
#[derive(Debug)]
pub(crate) struct Srq {
    pub(crate) pd: PdHandle,
    pub(crate) capacity: u32,
    /// Below so many receives the software is told once; 0: it is not.
    pub(crate) limit: u32,
    /// The XRC domain whose targets take from it.
    pub(crate) domain: Option<XrcDomainHandle>,
    pub(crate) receives: VecDeque<Receive>,
    /// What XRC targets have completed.
    pub(crate) completions: VecDeque<Completion>,
    /// Queue pairs that were made with it.
    pub(crate) users: u32,
}

/// The shared receive queues of an endpoint. Handles count up from 1 and are not used again; the number on the wire is
/// the handle's.
#[derive(Debug, Default)]
pub(crate) struct Srqs(Vec<Option<Srq>>);

impl Srqs {
    pub(crate) fn create(&mut self, init: &SrqInit) -> SrqHandle {
        self.0.push(Some(Srq {
            pd: init.pd,
            capacity: init.max_wr,
            limit: 0,
            domain: init.xrc_domain,
            receives: VecDeque::new(),
            completions: VecDeque::new(),
            users: 0,
        }));
        SrqHandle(self.0.len() as u32)
    }

    pub(crate) fn get(&self, handle: SrqHandle) -> Option<&Srq> {
        self.0.get(slot(handle)?)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, handle: SrqHandle) -> Option<&mut Srq> {
        self.0.get_mut(slot(handle)?)?.as_mut()
    }

    /// The one that an XRCETH names.
    pub(crate) fn numbered(&self, number: Qpn) -> Option<SrqHandle> {
        let handle = SrqHandle(number.get());
        self.get(handle).map(|_| handle)
    }

    /// The first one of an XRC domain.
    pub(crate) fn first_of(&self, domain: Option<XrcDomainHandle>) -> Option<SrqHandle> {
        let mut known = self.0.iter().zip(1..).filter_map(|(srq, handle)| Some((srq.as_ref()?, SrqHandle(handle))));
        known.find(|(srq, _)| srq.domain == domain).map(|(_, handle)| handle)
    }

    pub(crate) fn remove(&mut self, handle: SrqHandle) -> Option<Srq> {
        self.0.get_mut(slot(handle)?)?.take()
    }
}

fn slot(handle: SrqHandle) -> Option<usize> {
    (handle.0 as usize).checked_sub(1)
}
