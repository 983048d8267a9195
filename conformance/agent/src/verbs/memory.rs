//! Registered memory. The device reads and writes it on its own, so Rust never holds a reference into it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{Access, ErrorCode, Failure};

use super::context::Context;
use super::shared::Pd;
use super::{access_flags, check, last_error};
use crate::backend::{Region, failure};

const PAGE: usize = 4096;

/// A page-aligned, zeroed allocation that the device knows.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
    /// Registered until `is_gone` or drop.
    mr: *mut ibv::ibv_mr,
    /// The device has let go of it.
    is_gone: bool,
    _pd: Option<Rc<Pd>>,
    _context: Rc<Context>,
}

impl Memory {
    pub(super) fn register(
        context: &Rc<Context>,
        length: usize,
        access: &[Access],
        pd: Option<Rc<Pd>>,
    ) -> Result<Memory, Failure> {
        let layout = Layout::from_size_align(length.max(1), PAGE)
            .map_err(|_| failure(ErrorCode::BadArgument, "length is not a size of memory"))?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| failure(ErrorCode::Refused, "out of memory"))?;
        let raw_pd = Pd::of(pd.as_ref(), context);
        // SAFETY: the allocation has `length` bytes and outlives the registration: drop undoes them in that order.
        let mr = unsafe { ibv::ibv_reg_mr(raw_pd, start.as_ptr().cast(), length, access_flags(access).cast_signed()) };
        if mr.is_null() {
            let error = last_error("ibv_reg_mr");
            // SAFETY: allocated above with this layout, and the device does not know it.
            unsafe { dealloc(start.as_ptr(), layout) };
            return Err(error);
        }
        Ok(Memory { start, layout, mr, is_gone: false, _pd: pd, _context: Rc::clone(context) })
    }

    pub(super) fn region(&self) -> Region {
        // SAFETY: registered until drop; libibverbs does not change the struct after registration.
        let (lkey, rkey) = unsafe { ((*self.mr).lkey, (*self.mr).rkey) };
        Region { va: self.start.as_ptr() as u64, length: self.layout.size() as u64, lkey, rkey }
    }

    pub(super) fn mr(&self) -> *mut ibv::ibv_mr {
        self.mr
    }

    /// Has the device let go of the region, after which only drop may follow.
    pub(super) fn deregister(&mut self) -> Result<(), Failure> {
        // SAFETY: registered in `register` and not since undone: the session forgets a region that is gone.
        check("ibv_dereg_mr", unsafe { ibv::ibv_dereg_mr(self.mr) })?;
        self.is_gone = true;
        Ok(())
    }

    /// The caller has checked that the range lies inside.
    pub(super) fn piece(&self, offset: usize, length: u32) -> ibv::ibv_sge {
        let region = self.region();
        ibv::ibv_sge { addr: region.va + offset as u64, length, lkey: region.lkey }
    }

    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.layout.size() && bytes.len() <= self.layout.size() - offset);
        // SAFETY: the range lies inside the allocation (asserted), which the source cannot overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len()) };
    }

    pub(super) fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        assert!(offset <= self.layout.size() && length <= self.layout.size() - offset);
        let mut bytes = vec![0; length];
        // SAFETY: the range lies inside the allocation (asserted), which the target cannot overlap. The device may be
        // writing at the same time: then some bytes are old and some new, as on any real host.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(offset), bytes.as_mut_ptr(), length) };
        bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Where the device does not let go it may still write there: a leak is the smaller harm.
        if self.is_gone || self.deregister().is_ok() {
            // SAFETY: allocated in `register` with this layout; the device has let go of it.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
