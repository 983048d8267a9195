//! Where a packet goes and what its network headers say.

use core::net::Ipv6Addr;

use rocespec_codec::{Ethernet, Qpn};

use crate::qp::Qp;

/// Where a packet goes and what its network headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// Index of the sender's entry in the GID table.
    pub(crate) gid_index: usize,
    pub(crate) remote_gid: Ipv6Addr,
    pub(crate) dest_qpn: Qpn,
    pub(crate) traffic_class: u8,
    pub(crate) hop_limit: u8,
    pub(crate) flow_label: u32,
    pub(crate) service_level: u8,
    /// Link header of what came from there last: it names the peer when it is no known neighbour, and the VLAN tags.
    pub(crate) learned: Option<Ethernet>,
}

impl Route {
    /// To the peer that a queue pair is connected with.
    pub(crate) fn to_peer(qp: &Qp) -> Route {
        let attributes = &qp.attributes;
        Route {
            gid_index: qp.gid_index(),
            remote_gid: attributes.remote_gid.unwrap_or(Ipv6Addr::UNSPECIFIED),
            dest_qpn: qp.peer_qpn(),
            traffic_class: attributes.traffic_class.unwrap_or(0),
            hop_limit: attributes.hop_limit.unwrap_or(64),
            flow_label: attributes.flow_label.unwrap_or(0),
            service_level: attributes.service_level.unwrap_or(0),
            learned: qp.last_link.clone(),
        }
    }
}
