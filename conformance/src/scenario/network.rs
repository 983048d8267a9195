//! The networks that a connection can run over.

use std::net::Ipv6Addr;

use rocespec_codec::{Ipv4, Ipv6, Net};

/// Network kind of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// RoCE v2 over IPv4.
    V4,
    /// RoCE v2 over IPv6.
    V6,
    /// RoCE v1.
    V1,
}

impl Network {
    /// All.
    pub const ALL: [Network; 3] = [Network::V4, Network::V6, Network::V1];

    /// Name in scenario files and in ids of cases.
    pub const fn name(self) -> &'static str {
        match self {
            Network::V4 => "v4",
            Network::V6 => "v6",
            Network::V1 => "v1",
        }
    }

    /// Network header of an ordinary packet; what follows from the rest of the packet is 0.
    pub(crate) fn ordinary(self, src: Ipv6Addr, dst: Ipv6Addr) -> Net<'static> {
        let v6 = Ipv6 {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_len: 0,
            next_header: 0,
            hop_limit: 64,
            src,
            dst,
        };
        match (self, src.to_ipv4_mapped(), dst.to_ipv4_mapped()) {
            (Network::V4, Some(src), Some(dst)) => Net::V4(Ipv4 {
                version: 4,
                ihl: 5,
                tos: 0,
                total_len: 0,
                id: 0,
                flags_offset: Ipv4::DF,
                ttl: 64,
                protocol: 0,
                checksum: 0,
                src,
                dst,
                options: &[],
            }),
            (Network::V1, ..) => Net::Grh(v6),
            _ => Net::V6(v6),
        }
    }
}
