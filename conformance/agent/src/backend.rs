//! What the protocol needs of a device: the wall between [`crate::session`] and libibverbs.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use rocespec_control::{Access, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, SendRequest};

/// A device and its objects. Dropping an object destroys it on the device.
///
/// The session checks handles, sizes and ranges before it calls; an implementation checks what only the device knows.
pub(crate) trait Backend {
    /// A queue pair with its completion queue.
    type Qp;
    /// A registered region with the memory behind it.
    type Memory;

    fn describe(&mut self) -> Result<Device, Failure>;

    fn create_qp(&mut self, kind: QpKind, capacity: QpCapacity) -> Result<Self::Qp, Failure>;
    /// Number on the wire, 24 bits.
    fn qpn(&self, qp: &Self::Qp) -> u32;
    fn modify_qp(&mut self, qp: &mut Self::Qp, attributes: &QpAttributes) -> Result<(), Failure>;
    fn query_qp(&mut self, qp: &Self::Qp) -> Result<QpAttributes, Failure>;

    /// Lets a UD queue pair have the datagrams to a group, or takes it out.
    fn multicast(&mut self, qp: &mut Self::Qp, group: Ipv6Addr, member: bool) -> Result<(), Failure>;

    fn register_memory(&mut self, length: usize, access: &[Access]) -> Result<Self::Memory, Failure>;
    fn region(&self, memory: &Self::Memory) -> Region;
    /// The range lies inside the region.
    fn write_memory(&mut self, memory: &Self::Memory, offset: usize, bytes: &[u8]);
    /// The range lies inside the region.
    fn read_memory(&mut self, memory: &Self::Memory, offset: usize, length: usize) -> Vec<u8>;

    /// The range lies inside the region.
    fn post_receive(
        &mut self,
        qp: &mut Self::Qp,
        wr_id: u64,
        memory: &Self::Memory,
        offset: usize,
        length: u32,
    ) -> Result<(), Failure>;
    /// The range lies inside the region.
    fn post_send(&mut self, qp: &mut Self::Qp, request: &SendRequest, memory: &Self::Memory) -> Result<(), Failure>;
    fn poll(&mut self, qp: &mut Self::Qp, max: usize) -> Result<Vec<Completion>, Failure>;

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure>;
    /// Takes what the device reported since the last call, at most `max` events. Does not wait.
    fn events(&mut self, max: usize) -> Vec<Event>;
}

/// Something that the device reported on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The verbs' name in lower case without prefix.
    pub(crate) name: String,
    /// Number of the queue pair, if it is about one.
    pub(crate) qpn: Option<u32>,
}

/// Where a region lies, for the device and for its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) va: u64,
    pub(crate) length: u64,
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
}

pub(crate) fn failure(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { code, message: message.into(), errno: None }
}
