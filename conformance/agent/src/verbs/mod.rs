//! The device behind libibverbs: all of the agent's `unsafe` that is not a socket option.
//!
//! `rdma-mummy-sys` loads libibverbs when the agent starts; without it every call answers "not supported".
//! Objects hold the [`Context`] that they live in, so that none outlives its device.

mod context;
mod events;
mod memory;
mod names;
mod qp;
mod send;
mod sysfs;

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{Access, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, SendRequest};

use crate::backend::{Backend, Event, Region};
use context::Context;
use memory::Memory;
use qp::QueuePair;

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

    fn describe(&mut self) -> Result<Device, Failure> {
        self.context.describe()
    }

    fn create_qp(&mut self, kind: QpKind, capacity: QpCapacity) -> Result<QueuePair, Failure> {
        QueuePair::create(&self.context, kind, capacity)
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

    fn register_memory(&mut self, length: usize, access: &[Access]) -> Result<Memory, Failure> {
        Memory::register(&self.context, length, access)
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
        qp.poll(max)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        Ok(self.context.sysfs().counters())
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
            }
    })
}
