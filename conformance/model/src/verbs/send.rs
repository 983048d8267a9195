//! What a queue pair is asked to do.

use core::net::Ipv6Addr;

use rocespec_codec::{QKey, Qpn, RKey};

use super::{Access, CompletionKind, MemoryHandle, WindowHandle};

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
