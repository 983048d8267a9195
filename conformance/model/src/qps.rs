//! The queue pairs of an endpoint, by handle and by number.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rocespec_codec::Qpn;

use crate::qp::Qp;
use crate::verbs::QpHandle;

/// The queue pairs of an endpoint. Handles count up from 1 and are not used again.
#[derive(Debug, Default)]
pub(crate) struct Qps {
    slots: Vec<Option<Box<Qp>>>,
    by_number: BTreeMap<Qpn, QpHandle>,
}

impl Qps {
    pub(crate) fn get(&self, handle: QpHandle) -> Option<&Qp> {
        self.slots.get(slot(handle)?)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, handle: QpHandle) -> Option<&mut Qp> {
        self.slots.get_mut(slot(handle)?)?.as_deref_mut()
    }

    /// All handles, oldest first.
    pub(crate) fn handles(&self) -> Vec<QpHandle> {
        self.slots.iter().flatten().map(|qp| qp.handle).collect()
    }

    pub(crate) fn numbered(&self, qpn: Qpn) -> Option<&Qp> {
        self.by_number.get(&qpn).and_then(|handle| self.get(*handle))
    }

    /// The oldest one.
    pub(crate) fn first(&self) -> Option<&Qp> {
        self.slots.iter().flatten().next().map(|qp| &**qp)
    }

    /// Makes one with the first free number from `first` plus the count of those made before.
    pub(crate) fn create(&mut self, first: Qpn, make: impl FnOnce(QpHandle, Qpn) -> Qp) -> (QpHandle, Qpn) {
        // 0 and 1 are the management queue pairs, the last number stands for multicast.
        let mut qpn = Qpn::new(first.get().wrapping_add(self.slots.len() as u32));
        while qpn.get() < 2 || qpn == Qpn::MULTICAST || self.by_number.contains_key(&qpn) {
            qpn = Qpn::new(qpn.get().wrapping_add(1));
        }
        let handle = QpHandle(self.slots.len() as u32 + 1);
        self.slots.push(Some(Box::new(make(handle, qpn))));
        self.by_number.insert(qpn, handle);
        (handle, qpn)
    }

    pub(crate) fn remove(&mut self, handle: QpHandle) -> Option<Box<Qp>> {
        let qp = self.slots.get_mut(slot(handle)?)?.take()?;
        self.by_number.remove(&qp.qpn);
        Some(qp)
    }
}

fn slot(handle: QpHandle) -> Option<usize> {
    (handle.0 as usize).checked_sub(1)
}
