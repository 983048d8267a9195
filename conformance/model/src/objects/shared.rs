//! What queue pairs share: protection domains, XRC domains, receive queues.

use alloc::vec::Vec;

use rocespec_codec::Qpn;

use super::MAX_QUEUE;
use crate::endpoint::Endpoint;
use crate::receives::Receive;
use crate::verbs::{Completion, MemoryHandle, PdHandle, QpInit, SrqHandle, SrqInit, VerbError, XrcDomainHandle};

impl Endpoint {
    /// Makes a protection domain. Queue pairs use only memory of their own.
    pub fn create_pd(&mut self) -> PdHandle {
        PdHandle(self.pds.create())
    }

    /// Takes a protection domain away.
    ///
    /// # Errors
    /// [`VerbError::InUse`] while it holds anything; the default one stays.
    pub fn destroy_pd(&mut self, pd: PdHandle) -> Result<(), VerbError> {
        if pd == PdHandle::DEFAULT { Err(VerbError::InUse) } else { self.pds.destroy(pd.0) }
    }

    /// Makes an XRC domain. Targets take receives only from shared queues of their own.
    pub fn create_xrc_domain(&mut self) -> XrcDomainHandle {
        XrcDomainHandle(self.xrc_domains.create())
    }

    /// Takes an XRC domain away.
    ///
    /// # Errors
    /// [`VerbError::InUse`] while it holds anything.
    pub fn destroy_xrc_domain(&mut self, domain: XrcDomainHandle) -> Result<(), VerbError> {
        self.xrc_domains.destroy(domain.0)
    }

    /// Makes a receive queue for several queue pairs. Gives the number by which an XRC request names it, too.
    ///
    /// # Errors
    /// When it names something that is not there; [`VerbError::OutOfRange`] for more than 16384 receives.
    pub fn create_srq(&mut self, init: &SrqInit) -> Result<(SrqHandle, Qpn), VerbError> {
        if init.max_wr > MAX_QUEUE {
            return Err(VerbError::OutOfRange("max_wr"));
        }
        self.check_pd(init.pd)?;
        if let Some(domain) = init.xrc_domain {
            self.xrc_domains.check(domain.0)?;
            self.xrc_domains.hold(domain.0);
        }
        self.pds.hold(init.pd.0);
        let srq = self.srqs.create(init);
        Ok((srq, Qpn::new(srq.0)))
    }

    /// Arms the event of a shared receive queue: it is raised once, when fewer than `limit` receives are left after one was
    /// taken. 0 disarms it.
    ///
    /// # Errors
    /// When there is no such queue, or it never holds so many.
    pub fn modify_srq(&mut self, srq: SrqHandle, limit: u32) -> Result<(), VerbError> {
        let srq = self.srqs.get_mut(srq).ok_or(VerbError::NoSuchObject)?;
        if limit > srq.capacity {
            return Err(VerbError::OutOfRange("limit"));
        }
        srq.limit = limit;
        Ok(())
    }

    /// Takes a shared receive queue away, with the receives in it.
    ///
    /// # Errors
    /// [`VerbError::InUse`] while queue pairs take from it.
    pub fn destroy_srq(&mut self, srq: SrqHandle) -> Result<(), VerbError> {
        if self.srqs.get(srq).ok_or(VerbError::NoSuchObject)?.users > 0 {
            return Err(VerbError::InUse);
        }
        if let Some(gone) = self.srqs.remove(srq) {
            self.pds.release(gone.pd.0);
            if let Some(domain) = gone.domain {
                self.xrc_domains.release(domain.0);
            }
        }
        Ok(())
    }

    /// Posts a receive of one buffer to a shared queue; see [`Endpoint::post_receive`].
    ///
    /// # Errors
    /// When there is no such queue or region, or the queue is full.
    pub fn post_srq_receive(
        &mut self,
        srq: SrqHandle,
        wr_id: u64,
        mr: MemoryHandle,
        offset: u64,
        length: u32,
    ) -> Result<(), VerbError> {
        if !self.memory.exists(mr) {
            return Err(VerbError::NoSuchObject);
        }
        let queue = self.srqs.get_mut(srq).ok_or(VerbError::NoSuchObject)?;
        if queue.receives.len() >= queue.capacity as usize {
            return Err(VerbError::QueueFull);
        }
        queue.receives.push_back(Receive { wr_id, mr, offset, length, pd: queue.pd, srq: Some(srq) });
        Ok(())
    }

    /// Takes receives that XRC targets have completed, oldest first. Receives that queue pairs of other kinds took complete
    /// there.
    pub fn poll_srq(&mut self, srq: SrqHandle, max: usize) -> Vec<Completion> {
        self.srqs.get_mut(srq).map_or_else(Vec::new, |srq| {
            let count = max.min(srq.completions.len());
            srq.completions.drain(..count).collect()
        })
    }

    pub(super) fn check_pd(&self, pd: PdHandle) -> Result<(), VerbError> {
        if pd == PdHandle::DEFAULT { Ok(()) } else { self.pds.check(pd.0) }
    }

    /// Notes that a new queue pair uses what it names, all of which has to be there.
    pub(super) fn hold(&mut self, init: &QpInit) -> Result<(), VerbError> {
        self.check_pd(init.pd)?;
        if let Some(domain) = init.xrc_domain {
            self.xrc_domains.check(domain.0)?;
        }
        if let Some(srq) = init.srq {
            let srq = self.srqs.get_mut(srq).ok_or(VerbError::NoSuchObject)?;
            if srq.domain.is_some() {
                return Err(VerbError::OutOfRange("srq"));
            }
            srq.users += 1;
        }
        self.pds.hold(init.pd.0);
        if let Some(domain) = init.xrc_domain {
            self.xrc_domains.hold(domain.0);
        }
        Ok(())
    }

    /// Notes that a queue pair uses nothing any more.
    pub(super) fn release(&mut self, init: &QpInit) {
        self.pds.release(init.pd.0);
        if let Some(domain) = init.xrc_domain {
            self.xrc_domains.release(domain.0);
        }
        if let Some(srq) = init.srq.and_then(|srq| self.srqs.get_mut(srq)) {
            srq.users = srq.users.saturating_sub(1);
        }
    }
}
