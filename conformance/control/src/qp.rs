//! Queue pairs: kinds, states, attributes.

use serde::{Deserialize, Serialize};

/// Transport service of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QpKind {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Extended reliable connection, the side that asks. Receives nothing.
    XrcInitiator,
    /// Extended reliable connection, the side that answers. Needs an XRC domain; its receives come from the shared queue
    /// that a request names.
    XrcTarget,
}

/// Sizes of a queue pair's queues, in work requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QpCapacity {
    /// Send queue.
    pub max_send_wr: u32,
    /// Receive queue.
    pub max_recv_wr: u32,
}

impl Default for QpCapacity {
    fn default() -> Self {
        QpCapacity { max_send_wr: 64, max_recv_wr: 64 }
    }
}

/// States of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// A right on a memory region or on a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Access {
    LocalWrite,
    RemoteWrite,
    RemoteRead,
    RemoteAtomic,
    FlushGlobal,
    FlushPersistent,
    MwBind,
}

/// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
pub type PathMtu = u32;

/// Which RoCE a GID table entry stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GidKind {
    /// Ethertype 0x8915.
    RoceV1,
    /// UDP port 4791.
    RoceV2,
}

/// Attributes of a queue pair, all optional. Absent: left as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QpAttributes {
    /// State to move to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<QpState>,
    /// What a peer may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Index into the P_Key table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pkey_index: Option<u16>,
    /// Q_Key of a UD queue pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// Path MTU in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<PathMtu>,
    /// The peer's queue pair number, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dest_qpn: Option<u32>,
    /// First PSN expected from the peer, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rq_psn: Option<u32>,
    /// First PSN sent to the peer, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sq_psn: Option<u32>,
    /// Local ACK timeout code, 0 to 31: 4.096 us * 2^code, 0 = none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u8>,
    /// Retry count, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u8>,
    /// RNR retry count, 0 to 7; 7 = without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr_retry: Option<u8>,
    /// RNR NAK timer code that this side asks for, 0 to 31; 0 = 655.36 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rnr_timer: Option<u8>,
    /// READs and ATOMICs outstanding as a requester.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rd_atomic: Option<u8>,
    /// READs and ATOMICs outstanding as a responder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_dest_rd_atomic: Option<u8>,
    /// Index into the GID table of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid_index: Option<u8>,
    /// The peer's GID, as an IPv6 address in text; IPv4 as `::ffff:a.b.c.d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_gid: Option<std::net::Ipv6Addr>,
    /// Traffic class octet: DSCP and ECN of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    /// Hop limit or TTL of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_limit: Option<u8>,
    /// Flow label, 20 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_label: Option<u32>,
    /// Service level, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_level: Option<u8>,
}
