//! What queue pairs share: protection domains, XRC domains, receive queues.

use std::ptr;
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{Completion, Failure, QpCapacity};

use super::completions::{CompletionQueue, receive_request};
use super::context::Context;
use super::{check, last_error};

/// A protection domain beside that of the context.
#[derive(Debug)]
pub(crate) struct Pd {
    /// Valid until drop.
    pub(super) raw: *mut ibv::ibv_pd,
    _context: Rc<Context>,
}

impl Pd {
    pub(super) fn create(context: &Rc<Context>) -> Result<Pd, Failure> {
        // SAFETY: the context is open.
        let raw = unsafe { ibv::ibv_alloc_pd(context.raw) };
        if raw.is_null() {
            return Err(last_error("ibv_alloc_pd"));
        }
        Ok(Pd { raw, _context: Rc::clone(context) })
    }

    /// The domain that an order names; that of the context where it names none.
    pub(super) fn of(named: Option<&Rc<Pd>>, context: &Context) -> *mut ibv::ibv_pd {
        named.map_or(context.pd, |pd| pd.raw)
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        // SAFETY: every object in it holds an `Rc` of it, so all of them are gone.
        unsafe { ibv::ibv_dealloc_pd(self.raw) };
    }
}

/// An XRC domain of this process alone.
#[derive(Debug)]
pub(crate) struct XrcDomain {
    /// Valid until drop.
    pub(super) raw: *mut ibv::ibv_xrcd,
    _context: Rc<Context>,
}

impl XrcDomain {
    pub(super) fn create(context: &Rc<Context>) -> Result<XrcDomain, Failure> {
        use ibv::ibv_xrcd_init_attr_mask as mask;
        let comp_mask = mask::IBV_XRCD_INIT_ATTR_FD.0 | mask::IBV_XRCD_INIT_ATTR_OFLAGS.0;
        // No file: nobody else shares the domain.
        let mut init = ibv::ibv_xrcd_init_attr { comp_mask, fd: -1, oflags: libc::O_CREAT };
        // SAFETY: the context is open and the struct lives over the call.
        let raw = unsafe { ibv::ibv_open_xrcd(context.raw, &mut init) };
        if raw.is_null() {
            return Err(last_error("ibv_open_xrcd"));
        }
        Ok(XrcDomain { raw, _context: Rc::clone(context) })
    }
}

impl Drop for XrcDomain {
    fn drop(&mut self) {
        // SAFETY: every object in it holds an `Rc` of it, so all of them are gone.
        unsafe { ibv::ibv_close_xrcd(self.raw) };
    }
}

/// A shared receive queue.
#[derive(Debug)]
pub(crate) struct Srq {
    /// Valid until drop.
    pub(super) raw: *mut ibv::ibv_srq,
    number: u32,
    /// Where its receives complete, where it serves XRC.
    completions: Option<CompletionQueue>,
    _pd: Option<Rc<Pd>>,
    _domain: Option<Rc<XrcDomain>>,
    _context: Rc<Context>,
}

impl Srq {
    pub(super) fn create(
        context: &Rc<Context>,
        max_wr: u32,
        pd: Option<Rc<Pd>>,
        domain: Option<Rc<XrcDomain>>,
    ) -> Result<Srq, Failure> {
        let attr = ibv::ibv_srq_attr { max_wr, max_sge: 1, srq_limit: 0 };
        let raw_pd = Pd::of(pd.as_ref(), context);
        let (raw, completions) = match &domain {
            None => {
                let mut init = ibv::ibv_srq_init_attr { srq_context: ptr::null_mut(), attr };
                // SAFETY: the domain is valid and the struct lives over the call.
                (unsafe { ibv::ibv_create_srq(raw_pd, &mut init) }, None)
            }
            Some(domain) => {
                let capacity = QpCapacity { max_send_wr: 0, max_recv_wr: max_wr };
                let completions = CompletionQueue::create(context, capacity)?;
                (xrc_queue(context, raw_pd, domain, &completions, attr), Some(completions))
            }
        };
        if raw.is_null() {
            return Err(last_error("ibv_create_srq"));
        }
        // From here on, drop cleans up.
        let mut srq = Srq { raw, number: 0, completions, _pd: pd, _domain: domain, _context: Rc::clone(context) };
        if srq._domain.is_some() {
            // SAFETY: the queue is valid until drop and the number lives over the call.
            check("ibv_get_srq_num", unsafe { ibv::ibv_get_srq_num(srq.raw, &mut srq.number) })?;
        }
        Ok(srq)
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn limit(&self, limit: u32) -> Result<(), Failure> {
        let mut attr = ibv::ibv_srq_attr { max_wr: 0, max_sge: 0, srq_limit: limit };
        let mask = ibv::ibv_srq_attr_mask::IBV_SRQ_LIMIT.0.cast_signed();
        // SAFETY: the queue is valid until drop and the struct lives over the call.
        check("ibv_modify_srq", unsafe { ibv::ibv_modify_srq(self.raw, &mut attr, mask) })
    }

    pub(super) fn post_receive(&self, wr_id: u64, mut piece: ibv::ibv_sge) -> Result<(), Failure> {
        let mut request = receive_request(wr_id, &mut piece);
        let mut bad = ptr::null_mut();
        // SAFETY: the queue is valid until drop; request and list live over the call, which copies them. The memory is
        // registered; where the tester deregisters it too early, the device reports an error.
        check("ibv_post_srq_recv", unsafe { ibv::ibv_post_srq_recv(self.raw, &mut request, &mut bad) })
    }

    pub(super) fn poll(&self, max: usize) -> Result<Vec<Completion>, Failure> {
        self.completions.as_ref().map_or(Ok(Vec::new()), |completions| completions.poll(max))
    }
}

impl Drop for Srq {
    fn drop(&mut self) {
        // SAFETY: made by this object and not destroyed since; queue pairs that take from it hold an `Rc` of it.
        unsafe { ibv::ibv_destroy_srq(self.raw) };
    }
}

fn xrc_queue(
    context: &Context,
    pd: *mut ibv::ibv_pd,
    domain: &XrcDomain,
    completions: &CompletionQueue,
    attr: ibv::ibv_srq_attr,
) -> *mut ibv::ibv_srq {
    use ibv::ibv_srq_init_attr_mask as mask;
    // SAFETY: all-zero bytes are a valid value of this plain C struct.
    let mut init: ibv::ibv_srq_init_attr_ex = unsafe { std::mem::zeroed() };
    init.attr = attr;
    init.comp_mask = mask::IBV_SRQ_INIT_ATTR_TYPE.0
        | mask::IBV_SRQ_INIT_ATTR_PD.0
        | mask::IBV_SRQ_INIT_ATTR_XRCD.0
        | mask::IBV_SRQ_INIT_ATTR_CQ.0;
    init.srq_type = ibv::ibv_srq_type::IBV_SRQT_XRC;
    init.pd = pd;
    init.xrcd = domain.raw;
    init.cq = completions.raw;
    // SAFETY: the context is open, the struct lives over the call and names objects of this context.
    unsafe { ibv::ibv_create_srq_ex(context.raw, &mut init) }
}
