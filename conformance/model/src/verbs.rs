//! The words in which a device's own software talks to it.

use core::fmt;
use core::net::Ipv6Addr;
use core::ops::{BitOr, BitOrAssign};

use rocespec_codec::{Mtu, Opcode, Psn, QKey, Qpn, RKey, RnrTimer, Transport};

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

/// Largest memory region in bytes.
pub const MAX_REGION: u64 = 16 << 20;

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

/// Kinds of memory windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// Every queue pair of its protection domain can use it; binding gives it a new key.
    Type1,
    /// Only the queue pair that bound it can use it (type 2B). The software chooses the low byte of its key, and the key
    /// can be invalidated, by the peer too.
    Type2,
}

/// A memory window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryWindow {
    /// Handle for later calls.
    pub handle: WindowHandle,
    /// Kind.
    pub kind: WindowKind,
    /// Protection domain.
    pub pd: PdHandle,
    /// Key for peers; it opens something only while the window is bound.
    pub rkey: RKey,
    /// It is bound to a part of a region.
    pub is_bound: bool,
}

/// States of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum QpState {
    Reset,
    Init,
    Rtr,
    Rts,
    Sqd,
    Sqe,
    Error,
}

/// Rights on a memory region or on a queue pair: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(u8);

impl Access {
    /// No right.
    pub const NONE: Access = Access(0);
    /// The device may write for its own software: receives and READ responses.
    pub const LOCAL_WRITE: Access = Access(1);
    /// A peer may WRITE.
    pub const REMOTE_WRITE: Access = Access(2);
    /// A peer may READ.
    pub const REMOTE_READ: Access = Access(4);
    /// A peer may use ATOMICs.
    pub const REMOTE_ATOMIC: Access = Access(8);
    /// A peer may FLUSH to global visibility.
    pub const FLUSH_GLOBAL: Access = Access(16);
    /// A peer may FLUSH to persistence.
    pub const FLUSH_PERSISTENT: Access = Access(32);
    /// Windows may be bound to the region.
    pub const BIND: Access = Access(64);
    /// All of them.
    pub const ALL: Access = Access(127);

    /// True when all of `other` are in this set.
    pub const fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Access {
    type Output = Access;

    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

impl BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Access) {
        self.0 |= other.0;
    }
}

impl FromIterator<Access> for Access {
    fn from_iter<I: IntoIterator<Item = Access>>(rights: I) -> Access {
        rights.into_iter().fold(Access::NONE, BitOr::bitor)
    }
}

/// Attributes of a queue pair, all optional. Absent: left as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QpAttributes {
    /// State to move to.
    pub state: Option<QpState>,
    /// What a peer may do.
    pub access: Option<Access>,
    /// Index into [`crate::Config::pkeys`].
    pub pkey_index: Option<u16>,
    /// Q_Key of a UD queue pair.
    pub qkey: Option<QKey>,
    /// Path MTU.
    pub path_mtu: Option<Mtu>,
    /// The peer's queue pair number.
    pub dest_qpn: Option<Qpn>,
    /// First PSN expected from the peer.
    pub rq_psn: Option<Psn>,
    /// First PSN sent to the peer.
    pub sq_psn: Option<Psn>,
    /// Local ACK timeout code, 0 to 31: 4.096 us * 2^code, 0 = none.
    pub timeout: Option<u8>,
    /// Retry count, 0 to 7.
    pub retry_count: Option<u8>,
    /// RNR retry count, 0 to 7; 7 = without end.
    pub rnr_retry: Option<u8>,
    /// RNR NAK timer that this side asks for.
    pub min_rnr_timer: Option<RnrTimer>,
    /// READs and ATOMICs outstanding as a requester.
    pub max_rd_atomic: Option<u8>,
    /// READs and ATOMICs outstanding as a responder.
    pub max_dest_rd_atomic: Option<u8>,
    /// Index into the GID table.
    pub gid_index: Option<u8>,
    /// The peer's GID; IPv4 as `::ffff:a.b.c.d`.
    pub remote_gid: Option<Ipv6Addr>,
    /// Traffic class octet: DSCP and ECN of what is sent.
    pub traffic_class: Option<u8>,
    /// Hop limit or TTL of what is sent.
    pub hop_limit: Option<u8>,
    /// Flow label, 20 bits.
    pub flow_label: Option<u32>,
    /// Service level, 0 to 7; the priority of tagged frames.
    pub service_level: Option<u8>,
}

/// A registered memory region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRegion {
    /// Handle for later calls.
    pub handle: MemoryHandle,
    /// Address of its first byte as a peer names it.
    pub va: u64,
    /// Bytes.
    pub len: u64,
    /// Key for local use.
    pub lkey: u32,
    /// Key for peers.
    pub rkey: RKey,
}

/// What a send request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum SendOperation {
    Send,
    SendWithImmediate,
    SendWithInvalidate,
    RdmaWrite,
    RdmaWriteWithImmediate,
    RdmaRead,
    CompareSwap,
    FetchAdd,
    AtomicWrite,
    Flush,
    BindWindow,
    LocalInvalidate,
}

impl SendOperation {
    /// What its completion says that it was.
    pub const fn completion(self) -> CompletionKind {
        match self {
            SendOperation::Send | SendOperation::SendWithImmediate | SendOperation::SendWithInvalidate => {
                CompletionKind::Send
            }
            SendOperation::RdmaWrite | SendOperation::RdmaWriteWithImmediate => CompletionKind::RdmaWrite,
            SendOperation::RdmaRead => CompletionKind::RdmaRead,
            SendOperation::CompareSwap => CompletionKind::CompareSwap,
            SendOperation::FetchAdd => CompletionKind::FetchAdd,
            SendOperation::AtomicWrite => CompletionKind::AtomicWrite,
            SendOperation::Flush => CompletionKind::Flush,
            SendOperation::BindWindow => CompletionKind::BindWindow,
            SendOperation::LocalInvalidate => CompletionKind::LocalInvalidate,
        }
    }
}

/// Flags of a send request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendFlags {
    /// Makes a completion.
    pub signaled: bool,
    /// Raises the peer's solicited event.
    pub solicited: bool,
    /// Waits for earlier READs and ATOMICs.
    pub fence: bool,
    /// The data is taken when the request is posted.
    pub inline: bool,
}

/// A send request. Fields that its operation does not use are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendRequest {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// What to do.
    pub operation: SendOperation,
    /// Flags.
    pub flags: SendFlags,
    /// Local region.
    pub mr: MemoryHandle,
    /// Offset in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// The peer's address.
    pub remote_va: u64,
    /// The peer's key.
    pub rkey: RKey,
    /// Immediate data, or the key to invalidate.
    pub immediate: u32,
    /// Value to compare with, or to add.
    pub compare_add: u64,
    /// Value to swap in.
    pub swap: u64,
    /// Where a datagram goes. UD needs one, nobody else uses it.
    pub destination: Option<Destination>,
    /// Number of the shared receive queue at the peer (XRC).
    pub srqn: Qpn,
    /// The window that is bound to the local buffer. A buffer of 0 bytes takes a window of type 1 back.
    pub bind: Option<Bind>,
}

/// What a bind request does with a memory window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    /// The window.
    pub window: WindowHandle,
    /// What a peer may do with its key. The rights of the region do not limit it, but the region has to be one of
    /// [`Access::BIND`], and one of local write where the peer may write.
    pub access: Access,
    /// Low byte of the key of a window of type 2.
    pub key: u8,
}

/// Where a datagram goes, and how. The frame goes to the group's Ethernet address or that of the known neighbour, and where
/// there is none to where the last datagram came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// GID of the receiver or of a multicast group; IPv4 as `::ffff:a.b.c.d`.
    pub gid: Ipv6Addr,
    /// Its queue pair number; [`Qpn::MULTICAST`] for a group.
    pub qpn: Qpn,
    /// Its Q_Key. With bit 31 set the sender's own Q_Key goes out instead.
    pub qkey: QKey,
    /// Index of the sender's GID in its table.
    pub gid_index: u8,
    /// Traffic class octet.
    pub traffic_class: u8,
    /// Hop limit or TTL.
    pub hop_limit: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Service level, 0 to 7.
    pub service_level: u8,
}

impl Destination {
    /// From the sender's first GID, with hop limit 64 and everything else zero.
    pub const fn new(gid: Ipv6Addr, qpn: Qpn, qkey: QKey) -> Destination {
        Destination { gid, qpn, qkey, gid_index: 0, traffic_class: 0, hop_limit: 64, flow_label: 0, service_level: 0 }
    }
}

impl SendRequest {
    /// A request with a completion and everything else zero.
    pub fn new(wr_id: u64, operation: SendOperation) -> SendRequest {
        SendRequest {
            wr_id,
            operation,
            flags: SendFlags { signaled: true, ..SendFlags::default() },
            mr: MemoryHandle::default(),
            offset: 0,
            length: 0,
            remote_va: 0,
            rkey: RKey::default(),
            immediate: 0,
            compare_add: 0,
            swap: 0,
            destination: None,
            srqn: Qpn::default(),
            bind: None,
        }
    }
}

/// A finished work request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// As posted.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// What it was.
    pub kind: CompletionKind,
    /// Bytes received, or written by a WRITE with immediate. 0 unless the status is success.
    pub byte_len: u32,
    /// Immediate data, if any came.
    pub immediate: Option<u32>,
    /// Key that the message invalidated, if any.
    pub invalidated: Option<RKey>,
    /// The message asked for a solicited event.
    pub solicited: bool,
    /// Sender's queue pair number (UD).
    pub src_qpn: Qpn,
    /// The first 40 bytes of the buffer hold the GRH area (UD).
    pub grh: bool,
}

macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $type {
            /// The verbs' name in lower case without prefix.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }
    };
}

named! {
    /// How a work request ended.
    Status {
        /// As asked.
        Success "success",
        /// The message did not fit the buffer.
        LocalLengthError "loc_len_err",
        /// The request itself cannot be carried out.
        LocalQpOperationError "loc_qp_op_err",
        /// The buffer is not, or no longer, the queue pair's to use so.
        LocalProtectionError "loc_prot_err",
        /// The memory window cannot be bound so.
        MwBindError "mw_bind_err",
        /// The queue pair was in error before it was its turn.
        FlushError "wr_flush_err",
        /// The peer's response was not what it had to be.
        BadResponseError "bad_resp_err",
        /// The peer had no right to the memory it named.
        LocalAccessError "loc_access_err",
        /// The message was invalid to its receiver.
        RemoteInvalidRequestError "rem_inv_req_err",
        /// The receiver refused access to its memory.
        RemoteAccessError "rem_access_err",
        /// The receiver could not carry it out.
        RemoteOperationError "rem_op_err",
        /// The peer did not answer.
        RetryExceeded "retry_exc_err",
        /// The peer was not ready too often.
        RnrRetryExceeded "rnr_retry_exc_err",
    }
}

named! {
    /// What a finished work request was.
    CompletionKind {
        /// SEND.
        Send "send",
        /// RDMA WRITE.
        RdmaWrite "rdma_write",
        /// RDMA READ.
        RdmaRead "rdma_read",
        /// Compare and swap.
        CompareSwap "comp_swap",
        /// Fetch and add.
        FetchAdd "fetch_add",
        /// ATOMIC WRITE.
        AtomicWrite "atomic_write",
        /// FLUSH.
        Flush "flush",
        /// A memory window was bound.
        BindWindow "bind_mw",
        /// A key was invalidated.
        LocalInvalidate "local_inv",
        /// A receive that a SEND took.
        Receive "recv",
        /// A receive that a WRITE with immediate took.
        ReceiveRdmaWithImmediate "recv_rdma_with_imm",
    }
}

named! {
    /// What a device reports on its own.
    EventKind {
        /// The queue pair failed.
        QpFatal "qp_fatal",
        /// A peer's request was invalid.
        QpRequestError "qp_req_err",
        /// A peer's request had no right to the memory it named.
        QpAccessError "qp_access_err",
        /// All that was sent before the send queue was stopped is done.
        SendQueueDrained "sq_drained",
        /// Fewer receives are left in a shared queue than its limit says.
        SrqLimitReached "srq_limit_reached",
        /// A queue pair in error takes no more receives from its shared queue.
        LastReceiveTaken "qp_last_wqe_reached",
    }
}

/// Something that the device reports on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    /// What happened.
    pub kind: EventKind,
    /// The queue pair that it happened to.
    pub qp: Option<QpHandle>,
    /// The shared receive queue that it happened to.
    pub srq: Option<SrqHandle>,
}

/// Why a verb was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerbError {
    /// No object with that handle.
    NoSuchObject,
    /// The endpoint cannot do this (yet).
    Unsupported,
    /// No such move between states.
    IllegalTransition {
        /// State of the queue pair.
        from: QpState,
        /// State asked for.
        to: QpState,
    },
    /// The move needs an attribute that was not given.
    MissingAttribute(&'static str),
    /// The attribute cannot be set in this move.
    UnexpectedAttribute(&'static str),
    /// The argument is out of its range.
    OutOfRange(&'static str),
    /// Not in this state of the queue pair.
    WrongState(QpState),
    /// The queue is full.
    QueueFull,
    /// Something else still uses it.
    InUse,
}

impl fmt::Display for VerbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerbError::NoSuchObject => f.write_str("no object with that handle"),
            VerbError::Unsupported => f.write_str("not supported"),
            VerbError::IllegalTransition { from, to } => write!(f, "no transition from {from:?} to {to:?}"),
            VerbError::MissingAttribute(name) => write!(f, "this transition needs {name}"),
            VerbError::UnexpectedAttribute(name) => write!(f, "{name} cannot be set in this transition"),
            VerbError::OutOfRange(name) => write!(f, "{name} is out of range"),
            VerbError::WrongState(state) => write!(f, "not in state {state:?}"),
            VerbError::QueueFull => f.write_str("the queue is full"),
            VerbError::InUse => f.write_str("something still uses it"),
        }
    }
}

impl core::error::Error for VerbError {}
