//! States and attributes of a queue pair.

use core::net::Ipv6Addr;

use rocespec_codec::{Mtu, Psn, QKey, Qpn, RnrTimer};

use super::Access;

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
