//! Memory windows: a part of a region with a key and rights of its own, given and taken by requests.

use rocespec_codec::RKey;

use super::{Grant, Memory, Object, Owner, slot};
use crate::defect::{Defect, Defects};
use crate::verbs::{
    Access, MemoryHandle, MemoryWindow, PdHandle, QpHandle, Status, VerbError, WindowHandle, WindowKind,
};

#[derive(Debug)]
pub(super) struct Window {
    kind: WindowKind,
    pd: PdHandle,
    key: RKey,
    bound: Option<Bound>,
}

/// What a window is bound to.
#[derive(Debug, Clone, Copy)]
struct Bound {
    region: MemoryHandle,
    start: u64,
    len: u64,
    access: Access,
    /// The queue pair whose request bound it: that of a window of type 2.
    qp: QpHandle,
}

/// What a bind request asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding {
    pub(crate) window: WindowHandle,
    pub(crate) region: MemoryHandle,
    /// Offset in the region.
    pub(crate) offset: u64,
    /// 0 takes a window of type 1 back.
    pub(crate) len: u64,
    pub(crate) access: Access,
    /// Low byte of the key of a window of type 2.
    pub(crate) key: u8,
}

impl Window {
    /// What a key opens, if it is this window's and `owner` may use it.
    pub(super) fn grant(&self, owner: Owner, rkey: RKey, memory: &Memory, defects: Defects) -> Option<Grant> {
        // rule: memory.responder.window-key
        let is_key =
            self.key == rkey || defects.has(Defect::WindowKeepsOldKeys) && self.key.get() >> 8 == rkey.get() >> 8;
        let bound = self.bound.filter(|_| is_key)?;
        // rule: memory.responder.window-qp
        if self.kind == WindowKind::Type2 && bound.qp != owner.qp && !defects.has(Defect::WindowServesEveryQp) {
            return None;
        }
        let region = memory.region(bound.region)?.grant(bound.region);
        let (start, end) = (bound.start, bound.start + bound.len);
        let whole = defects.has(Defect::WindowIgnoresRange);
        let access = if defects.has(Defect::WindowIgnoresRights) { region.access } else { bound.access };
        let (start, end) = if whole { (region.start, region.end) } else { (start, end) };
        Some(Grant { start, end, access, pd: self.pd, ..region })
    }

    /// Only windows of type 2 can be invalidated, and only for the queue pair that bound them.
    pub(super) fn can_invalidate(&self, owner: Owner, rkey: RKey) -> bool {
        self.kind == WindowKind::Type2 && self.key == rkey && self.bound.is_some_and(|bound| bound.qp == owner.qp)
    }
}

impl Memory {
    /// Makes a window that is bound to nothing.
    pub(crate) fn allocate_window(&mut self, pd: PdHandle, kind: WindowKind) -> Result<WindowHandle, VerbError> {
        let make = |key| Object::Window(Window { kind, pd, key, bound: None });
        self.insert(make).map(WindowHandle)
    }

    pub(crate) fn query_window(&self, handle: WindowHandle) -> Result<MemoryWindow, VerbError> {
        let window = self.window(handle).ok_or(VerbError::NoSuchObject)?;
        Ok(MemoryWindow {
            handle,
            kind: window.kind,
            pd: window.pd,
            rkey: window.key,
            is_bound: window.bound.is_some(),
        })
    }

    /// Takes a window away, bound or not.
    pub(crate) fn deallocate_window(&mut self, handle: WindowHandle) -> Result<(), VerbError> {
        self.window(handle).ok_or(VerbError::NoSuchObject)?;
        self.unbind(handle);
        self.slots[slot(handle.0)] = None;
        Ok(())
    }

    /// Carries out a bind request.
    ///
    /// # Errors
    /// [`Status::MwBindError`] when the window cannot be bound so.
    ///
    /// rule: memory.requester.bind
    pub(crate) fn bind(&mut self, owner: Owner, binding: &Binding, defects: Defects) -> Result<(), Status> {
        let Binding { window: handle, len, key, .. } = *binding;
        let window = self.window(handle).ok_or(Status::MwBindError)?;
        let is_second = window.kind == WindowKind::Type2;
        if window.pd != owner.pd || is_second && (window.bound.is_some() || len == 0) {
            return Err(Status::MwBindError);
        }
        let bound = match self.may_bind(owner, binding, defects) {
            bound if len > 0 => Some(bound.ok_or(Status::MwBindError)?),
            _ => None,
        };
        self.unbind(handle);
        if bound.is_some()
            && let Some(region) = self.own_region_mut(binding.region)
        {
            region.windows += 1;
        }
        if let Some(window) = self.window_mut(handle) {
            let low = if is_second { key } else { (window.key.get() as u8).wrapping_add(1) };
            window.key = RKey::new(window.key.get() & !0xff | u32::from(low));
            window.bound = bound;
        }
        Ok(())
    }

    /// A region in the same domain that lets windows be bound, and is writable where the window is to be.
    fn may_bind(&self, owner: Owner, binding: &Binding, defects: Defects) -> Option<Bound> {
        let region = self.own_region(binding.region)?;
        let writes = [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC].iter().any(|right| binding.access.contains(*right));
        let needed = if writes { Access::BIND | Access::LOCAL_WRITE } else { Access::BIND };
        let fits = region.within(binding.offset, binding.len).is_some();
        let has_right = region.access.contains(needed) || defects.has(Defect::BindsWithoutRight);
        (region.pd == owner.pd && has_right && fits).then_some(Bound {
            region: binding.region,
            start: region.va.wrapping_add(binding.offset),
            len: binding.len,
            access: binding.access,
            qp: owner.qp,
        })
    }

    pub(super) fn unbind(&mut self, handle: WindowHandle) {
        let bound = self.window_mut(handle).and_then(|window| window.bound.take());
        if let Some(bound) = bound
            && let Some(region) = self.own_region_mut(bound.region)
        {
            region.windows -= 1;
        }
    }

    /// Windows of type 2 end with the queue pair that bound them.
    pub(crate) fn forget_qp(&mut self, qp: QpHandle) {
        let is_of_qp = |object: &Object| match object {
            Object::Window(window) => {
                window.kind == WindowKind::Type2 && window.bound.is_some_and(|bound| bound.qp == qp)
            }
            Object::Region(_) => false,
        };
        let numbers = (1..).zip(&self.slots);
        let lost: alloc::vec::Vec<u32> =
            numbers.filter(|(_, slot)| slot.as_deref().is_some_and(is_of_qp)).map(|(number, _)| number).collect();
        for number in lost {
            self.unbind(WindowHandle(number));
        }
    }

    fn window(&self, handle: WindowHandle) -> Option<&Window> {
        match self.numbered(handle.0) {
            Some(Object::Window(window)) => Some(window),
            _ => None,
        }
    }

    fn window_mut(&mut self, handle: WindowHandle) -> Option<&mut Window> {
        match self.numbered_mut(handle.0) {
            Some(Object::Window(window)) => Some(window),
            _ => None,
        }
    }
}
