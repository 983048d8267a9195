//! What the protocol needs of a device: the wall between [`crate::session`] and libibverbs.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;

use rocespec_control::{
    Access, BindRequest, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, SendRequest,
    WindowKind,
};

/// A device and its objects. Dropping an object destroys it on the device.
///
/// The session checks handles, sizes and ranges before it calls; an implementation checks what only the device knows.
pub(crate) trait Backend {
    /// A queue pair with its completion queue.
    type Qp;
    /// A registered region with the memory behind it.
    type Memory;
    /// A protection domain beside the agent's own.
    type Pd;
    /// An XRC domain.
    type XrcDomain;
    /// A shared receive queue.
    type Srq;
    /// A memory window.
    type Window;

    fn describe(&mut self) -> Result<Device, Failure>;

    /// The queue pair keeps what it uses alive.
    fn create_qp(&mut self, kind: QpKind, capacity: QpCapacity, uses: Uses<Self>) -> Result<Self::Qp, Failure>;
    /// Number on the wire, 24 bits.
    fn qpn(&self, qp: &Self::Qp) -> u32;
    fn modify_qp(&mut self, qp: &mut Self::Qp, attributes: &QpAttributes) -> Result<(), Failure>;
    fn query_qp(&mut self, qp: &Self::Qp) -> Result<QpAttributes, Failure>;

    /// Lets a UD queue pair have the datagrams to a group, or takes it out.
    fn multicast(&mut self, qp: &mut Self::Qp, group: Ipv6Addr, member: bool) -> Result<(), Failure>;

    fn register_memory(
        &mut self,
        length: usize,
        access: &[Access],
        pd: Option<Rc<Self::Pd>>,
    ) -> Result<Self::Memory, Failure>;
    /// Has the device let go of the region. Where it refuses, nothing has changed.
    fn deregister_memory(&mut self, memory: &mut Self::Memory) -> Result<(), Failure>;
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

    fn create_pd(&mut self) -> Result<Self::Pd, Failure>;
    fn create_xrc_domain(&mut self) -> Result<Self::XrcDomain, Failure>;

    /// With a domain it serves XRC and has a completion queue of its own.
    fn create_srq(
        &mut self,
        max_wr: u32,
        pd: Option<Rc<Self::Pd>>,
        domain: Option<Rc<Self::XrcDomain>>,
    ) -> Result<Self::Srq, Failure>;
    /// Number by which XRC requests name it, 24 bits; 0 where it serves no XRC.
    fn srqn(&self, srq: &Self::Srq) -> u32;
    fn limit_srq(&mut self, srq: &Self::Srq, limit: u32) -> Result<(), Failure>;
    /// The range lies inside the region.
    fn post_srq_receive(
        &mut self,
        srq: &Self::Srq,
        wr_id: u64,
        memory: &Self::Memory,
        offset: usize,
        length: u32,
    ) -> Result<(), Failure>;
    fn poll_srq(&mut self, srq: &Self::Srq, max: usize) -> Result<Vec<Completion>, Failure>;

    fn allocate_window(&mut self, kind: WindowKind, pd: Option<Rc<Self::Pd>>) -> Result<Self::Window, Failure>;
    /// The key that it has, or that the last request gives it.
    fn rkey(&self, window: &Self::Window) -> u32;
    /// The range lies inside the region.
    fn bind_window(
        &mut self,
        qp: &mut Self::Qp,
        window: &mut Self::Window,
        memory: &Self::Memory,
        request: &BindRequest,
    ) -> Result<(), Failure>;

    /// Wants to be told of the next completion, or the next solicited or failed one, by an event.
    fn request_notification(&mut self, qp: &Self::Qp, solicited_only: bool) -> Result<(), Failure>;
    /// True for an event of this queue pair or its completion queue.
    fn is_about_qp(&self, about: About, qp: &Self::Qp) -> bool;
    /// True for an event of this queue.
    fn is_about_srq(&self, about: About, srq: &Self::Srq) -> bool;

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure>;
    /// Takes what the device reported since the last call, at most `max` events. Does not wait.
    fn events(&mut self, max: usize) -> Vec<Event>;
}

/// Something that the device reported on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The verbs' name in lower case without prefix, or `completion`.
    pub(crate) name: String,
    /// The object that it is about, if it is about one.
    pub(crate) about: Option<About>,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The queue pair with this number.
    Qp(u32),
    /// A completion queue; the number is the backend's own.
    CompletionQueue(usize),
    /// A shared receive queue; the number is the backend's own.
    Srq(usize),
}

/// What a queue pair shares with others.
pub(crate) struct Uses<B: Backend + ?Sized> {
    /// Protection domain; `None`: the agent's own.
    pub(crate) pd: Option<Rc<B::Pd>>,
    /// Shared receive queue.
    pub(crate) srq: Option<Rc<B::Srq>>,
    /// XRC domain.
    pub(crate) xrc_domain: Option<Rc<B::XrcDomain>>,
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
