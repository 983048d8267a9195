//! The words in which a device's own software talks to it.

mod access;
mod attributes;
mod completion;
mod error;
mod memory;
mod send;

use rocespec_codec::{Opcode, Transport};

pub use access::Access;
pub use attributes::{QpAttributes, QpState};
pub use completion::{AsyncEvent, Completion, CompletionKind, EventKind, Status};
pub use error::VerbError;
pub use memory::{MAX_REGION, MemoryRegion, MemoryWindow, WindowKind};
pub use send::{Bind, Destination, SendFlags, SendOperation, SendRequest};

/// Handle of a queue pair. Not its number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpHandle(pub u32);

/// Handle of a memory region. Not one of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemoryHandle(pub u32);

/// Handle of a protection domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PdHandle(pub u32);

impl PdHandle {
    /// The one that everything is in that names no other. It is always there.
    pub const DEFAULT: PdHandle = PdHandle(0);
}

/// Handle of an XRC domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct XrcDomainHandle(pub u32);

/// Handle of a shared receive queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SrqHandle(pub u32);

/// Handle of a memory window. Not its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowHandle(pub u32);

/// Transport service of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QpKind {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Extended reliable connection, the side that asks.
    XrcInitiator,
    /// Extended reliable connection, the side that answers.
    XrcTarget,
}

impl QpKind {
    /// Requests are acknowledged, and sent again when they are lost.
    pub const fn is_reliable(self) -> bool {
        matches!(self, QpKind::Rc | QpKind::XrcInitiator | QpKind::XrcTarget)
    }

    /// The transport that its opcodes belong to.
    pub const fn transport(self) -> Transport {
        self.opcode(0).transport()
    }

    /// The opcode of this operation, bits 4:0, defined or not.
    pub(crate) const fn opcode(self, operation: u8) -> Opcode {
        let class = match self {
            QpKind::Rc => 0x00,
            QpKind::Uc => 0x20,
            QpKind::Ud => 0x60,
            QpKind::XrcInitiator | QpKind::XrcTarget => 0xa0,
        };
        Opcode(class | operation)
    }
}

/// Sizes of a queue pair's queues, in work requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Send queue.
    pub max_send_wr: u32,
    /// Receive queue.
    pub max_recv_wr: u32,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity { max_send_wr: 64, max_recv_wr: 64 }
    }
}

/// What a queue pair is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QpInit {
    /// Transport service.
    pub kind: QpKind,
    /// Sizes of its queues.
    pub capacity: Capacity,
    /// Protection domain: of the memory that its peer names, and of the buffers of its own requests.
    pub pd: PdHandle,
    /// Takes receives from there and has no receive queue of its own. Not for XRC, whose requests name the queue.
    pub srq: Option<SrqHandle>,
    /// XRC domain. A target needs one.
    pub xrc_domain: Option<XrcDomainHandle>,
}

impl QpInit {
    /// Queues of the usual size of its own, in the default protection domain.
    pub fn new(kind: QpKind) -> QpInit {
        QpInit { kind, capacity: Capacity::default(), pd: PdHandle::DEFAULT, srq: None, xrc_domain: None }
    }
}

/// What a shared receive queue is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SrqInit {
    /// Protection domain of its buffers.
    pub pd: PdHandle,
    /// Most receives in it.
    pub max_wr: u32,
    /// With one it serves the XRC targets of this domain, without one queue pairs of other kinds.
    pub xrc_domain: Option<XrcDomainHandle>,
}

impl Default for SrqInit {
    /// 64 receives in the default protection domain, not for XRC.
    fn default() -> Self {
        SrqInit { pd: PdHandle::DEFAULT, max_wr: 64, xrc_domain: None }
    }
}
