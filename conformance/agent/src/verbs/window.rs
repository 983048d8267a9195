//! Memory windows.

use std::ptr;
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{BindRequest, Failure, WindowKind};

use super::context::Context;
use super::memory::Memory;
use super::qp::QueuePair;
use super::shared::Pd;
use super::{access_flags, check, last_error};

/// A memory window.
#[derive(Debug)]
pub(crate) struct Window {
    /// Valid until drop.
    raw: *mut ibv::ibv_mw,
    kind: WindowKind,
    _pd: Option<Rc<Pd>>,
    _context: Rc<Context>,
}

impl Window {
    pub(super) fn allocate(context: &Rc<Context>, kind: WindowKind, pd: Option<Rc<Pd>>) -> Result<Window, Failure> {
        let number = match kind {
            WindowKind::Type1 => ibv::ibv_mw_type::IBV_MW_TYPE_1,
            WindowKind::Type2 => ibv::ibv_mw_type::IBV_MW_TYPE_2,
        };
        // SAFETY: the domain is valid.
        let raw = unsafe { ibv::ibv_alloc_mw(Pd::of(pd.as_ref(), context), number) };
        if raw.is_null() {
            return Err(last_error("ibv_alloc_mw"));
        }
        Ok(Window { raw, kind, _pd: pd, _context: Rc::clone(context) })
    }

    pub(super) fn rkey(&self) -> u32 {
        // SAFETY: valid until drop.
        unsafe { (*self.raw).rkey }
    }

    /// Posts the request. The range lies inside the region.
    pub(super) fn bind(&mut self, qp: &QueuePair, memory: &Memory, request: &BindRequest) -> Result<(), Failure> {
        // A window has a peer's rights alone.
        let flags = access_flags(&request.access) & !ibv::ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0;
        let bind_info = ibv::ibv_mw_bind_info {
            mr: memory.mr(),
            addr: memory.region().va + request.offset,
            length: request.length,
            mw_access_flags: flags,
        };
        let send_flags = ibv::ibv_send_flags::IBV_SEND_SIGNALED.0;
        match self.kind {
            WindowKind::Type1 => {
                let mut bind = ibv::ibv_mw_bind { wr_id: request.wr_id, send_flags, bind_info };
                // SAFETY: queue pair, window and region are valid; the struct lives over the call, which copies it.
                check("ibv_bind_mw", unsafe { ibv::ibv_bind_mw(qp.raw, self.raw, &mut bind) })
            }
            WindowKind::Type2 => {
                let old = self.rkey();
                let rkey = old & !0xff | u32::from((old as u8).wrapping_add(1));
                // SAFETY: all-zero bytes are a valid value of this plain C struct.
                let mut work: ibv::ibv_send_wr = unsafe { std::mem::zeroed() };
                work.wr_id = request.wr_id;
                work.opcode = ibv::ibv_wr_opcode::IBV_WR_BIND_MW;
                work.send_flags = send_flags;
                work.bind_mw_tso_union =
                    ibv::bind_mw_tso_union_t { bind_mw: ibv::bind_mw_t { mw: self.raw, rkey, bind_info } };
                let mut bad = ptr::null_mut();
                // SAFETY: queue pair, window and region are valid; the request lives over the call, which copies it.
                check("ibv_post_send", unsafe { ibv::ibv_post_send(qp.raw, &mut work, &mut bad) })?;
                // The verbs leave it to the software to remember the key of a window of type 2.
                // SAFETY: valid until drop, and only this agent's one thread touches it.
                unsafe { (*self.raw).rkey = rkey };
                Ok(())
            }
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: made by this object and not deallocated since.
        unsafe { ibv::ibv_dealloc_mw(self.raw) };
    }
}
