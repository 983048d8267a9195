//! What a queue pair is asked to do.

use serde::{Deserialize, Serialize};

use crate::qp::Access;

/// What a send request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Opcode {
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
    LocalInvalidate,
}

/// A flag of a send request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum SendFlag {
    Signaled,
    Solicited,
    Fence,
    Inline,
}

/// One send request. Fields that its opcode does not use are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendRequest {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// What to do.
    pub opcode: Opcode,
    /// Flags.
    #[serde(default)]
    pub flags: Vec<SendFlag>,
    /// Local region.
    pub mr: u32,
    /// Offset in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// The peer's address (WRITE, READ, ATOMIC, FLUSH).
    #[serde(default)]
    pub remote_va: u64,
    /// The peer's key (WRITE, READ, ATOMIC, FLUSH).
    #[serde(default)]
    pub rkey: u32,
    /// Immediate data, or the key to invalidate (the peer's, or with `local_invalidate` one of the device).
    #[serde(default)]
    pub immediate: u32,
    /// Value to compare with, or to add.
    #[serde(default)]
    pub compare_add: u64,
    /// Value to swap in.
    #[serde(default)]
    pub swap: u64,
    /// UD only: GID of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_gid: Option<std::net::Ipv6Addr>,
    /// UD only: queue pair number of the destination.
    #[serde(default)]
    pub remote_qpn: u32,
    /// UD only: Q_Key.
    #[serde(default)]
    pub remote_qkey: u32,
    /// XRC only: number of the peer's shared receive queue.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub remote_srqn: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Kinds of memory windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// Bound by a verb; every queue pair of its protection domain can use it.
    #[serde(rename = "type_1")]
    Type1,
    /// Bound by a send request; only the queue pair that bound it can use it, and its key can be invalidated (type 2B).
    #[serde(rename = "type_2")]
    Type2,
}

/// A request that binds a memory window to a part of a region. It always makes a completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindRequest {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// The window.
    pub window: u32,
    /// Region that it is bound to.
    pub mr: u32,
    /// Offset in it.
    pub offset: u64,
    /// Bytes; 0 takes a window of type 1 back.
    pub length: u64,
    /// What a peer may do.
    pub access: Vec<Access>,
}
