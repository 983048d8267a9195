//! The device behind libibverbs: all of the agent's `unsafe` that is not a socket option.
//!
//! `rdma-mummy-sys` loads libibverbs when the agent starts; without it every call answers "not supported".
//! Objects hold the [`Context`] that they live in, so that none outlives its device.

mod completions;
mod context;
mod ethtool;
mod events;
mod memory;
mod names;
mod qp;
mod send;
mod shared;
mod sysfs;
mod window;

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{
    Access, BindRequest, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, SendRequest,
    WindowKind,
};

use crate::backend::{About, Backend, Event, Region, Uses};
use context::Context;
use memory::Memory;
use qp::QueuePair;
use shared::{Pd, Srq, XrcDomain};
use window::Window;

/// One port of one device.
pub(crate) struct Verbs {
    context: Rc<Context>,
}

impl Verbs {
    pub(crate) fn open(device: &str, port: u8) -> Result<Verbs, String> {
        Ok(Verbs { context: Rc::new(Context::open(device, port)?) })
    }
}

impl Backend for Verbs {
    type Qp = QueuePair;
    type Memory = Memory;
    type Pd = Pd;
    type XrcDomain = XrcDomain;
    type Srq = Srq;
    type Window = Window;

    fn describe(&mut self) -> Result<Device, Failure> {
        self.context.describe()
    }

    fn create_qp(&mut self, kind: QpKind, capacity: QpCapacity, uses: Uses<Verbs>) -> Result<QueuePair, Failure> {
        QueuePair::create(&self.context, kind, capacity, uses)
    }

    fn qpn(&self, qp: &QueuePair) -> u32 {
        qp.qpn()
    }

    fn modify_qp(&mut self, qp: &mut QueuePair, attributes: &QpAttributes) -> Result<(), Failure> {
        qp.modify(attributes)
    }

    fn query_qp(&mut self, qp: &QueuePair) -> Result<QpAttributes, Failure> {
        qp.query()
    }

    fn multicast(&mut self, qp: &mut QueuePair, group: Ipv6Addr, member: bool) -> Result<(), Failure> {
        qp.multicast(group, member)
    }

    fn register_memory(&mut self, length: usize, access: &[Access], pd: Option<Rc<Pd>>) -> Result<Memory, Failure> {
        Memory::register(&self.context, length, access, pd)
    }

    fn deregister_memory(&mut self, memory: &mut Memory) -> Result<(), Failure> {
        memory.deregister()
    }

    fn region(&self, memory: &Memory) -> Region {
        memory.region()
    }

    fn write_memory(&mut self, memory: &Memory, offset: usize, bytes: &[u8]) {
        memory.write(offset, bytes);
    }

    fn read_memory(&mut self, memory: &Memory, offset: usize, length: usize) -> Vec<u8> {
        memory.read(offset, length)
    }

    fn post_receive(
        &mut self,
        qp: &mut QueuePair,
        wr_id: u64,
        memory: &Memory,
        offset: usize,
        length: u32,
    ) -> Result<(), Failure> {
        qp.post_receive(wr_id, memory.piece(offset, length))
    }

    fn post_send(&mut self, qp: &mut QueuePair, request: &SendRequest, memory: &Memory) -> Result<(), Failure> {
        qp.post_send(request, memory)
    }

    fn poll(&mut self, qp: &mut QueuePair, max: usize) -> Result<Vec<Completion>, Failure> {
        qp.completions.poll(max)
    }

    fn create_pd(&mut self) -> Result<Pd, Failure> {
        Pd::create(&self.context)
    }

    fn create_xrc_domain(&mut self) -> Result<XrcDomain, Failure> {
        XrcDomain::create(&self.context)
    }

    fn create_srq(&mut self, max_wr: u32, pd: Option<Rc<Pd>>, domain: Option<Rc<XrcDomain>>) -> Result<Srq, Failure> {
        Srq::create(&self.context, max_wr, pd, domain)
    }

    fn srqn(&self, srq: &Srq) -> u32 {
        srq.number()
    }

    fn limit_srq(&mut self, srq: &Srq, limit: u32) -> Result<(), Failure> {
        srq.limit(limit)
    }

    fn post_srq_receive(
        &mut self,
        srq: &Srq,
        wr_id: u64,
        memory: &Memory,
        offset: usize,
        length: u32,
    ) -> Result<(), Failure> {
        srq.post_receive(wr_id, memory.piece(offset, length))
    }

    fn poll_srq(&mut self, srq: &Srq, max: usize) -> Result<Vec<Completion>, Failure> {
        srq.poll(max)
    }

    fn allocate_window(&mut self, kind: WindowKind, pd: Option<Rc<Pd>>) -> Result<Window, Failure> {
        Window::allocate(&self.context, kind, pd)
    }

    fn rkey(&self, window: &Window) -> u32 {
        window.rkey()
    }

    fn bind_window(
        &mut self,
        qp: &mut QueuePair,
        window: &mut Window,
        memory: &Memory,
        request: &BindRequest,
    ) -> Result<(), Failure> {
        window.bind(qp, memory, request)
    }

    fn request_notification(&mut self, qp: &QueuePair, solicited_only: bool) -> Result<(), Failure> {
        qp.completions.request_notification(solicited_only)
    }

    fn is_about_qp(&self, about: About, qp: &QueuePair) -> bool {
        about == About::Qp(qp.qpn()) || about == About::CompletionQueue(qp.completions.raw as usize)
    }

    fn is_about_srq(&self, about: About, srq: &Srq) -> bool {
        about == About::Srq(srq.raw as usize)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        let sysfs = self.context.sysfs();
        let mut counters = sysfs.interface().map(|name| ethtool::statistics(&name)).unwrap_or_default();
        // Where both know a name, the RDMA device's own counter is meant.
        counters.extend(sysfs.counters());
        Ok(counters)
    }

    fn events(&mut self, max: usize) -> Vec<Event> {
        events::take(&self.context, max)
    }
}

/// The error that a verb left in `errno`.
fn last_error(verb: &str) -> Failure {
    refused(verb, std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// Turns the result of a verb that answers 0 or an error number (or -1 and `errno`) into a result.
fn check(verb: &str, result: libc::c_int) -> Result<(), Failure> {
    match result {
        0 => Ok(()),
        error if error > 0 => Err(refused(verb, error)),
        _ => Err(last_error(verb)),
    }
}

fn refused(verb: &str, errno: i32) -> Failure {
    let code = match errno {
        libc::EOPNOTSUPP | libc::ENOSYS | libc::EPROTONOSUPPORT => ErrorCode::Unsupported,
        _ => ErrorCode::Refused,
    };
    Failure { code, message: format!("{verb}: {}", std::io::Error::from_raw_os_error(errno)), errno: Some(errno) }
}

/// The verbs' flags for the protocol's rights. The verbs demand local write under remote write and atomics.
fn access_flags(access: &[Access]) -> u32 {
    use ibv::ibv_access_flags as flag;
    access.iter().fold(0, |flags, right| {
        flags
            | match right {
                Access::LocalWrite => flag::IBV_ACCESS_LOCAL_WRITE.0,
                Access::RemoteWrite => flag::IBV_ACCESS_REMOTE_WRITE.0 | flag::IBV_ACCESS_LOCAL_WRITE.0,
                Access::RemoteRead => flag::IBV_ACCESS_REMOTE_READ.0,
                Access::RemoteAtomic => flag::IBV_ACCESS_REMOTE_ATOMIC.0 | flag::IBV_ACCESS_LOCAL_WRITE.0,
                Access::FlushGlobal => flag::IBV_ACCESS_FLUSH_GLOBAL.0,
                Access::FlushPersistent => flag::IBV_ACCESS_FLUSH_PERSISTENT.0,
                Access::MwBind => flag::IBV_ACCESS_MW_BIND.0,
            }
    })
}
