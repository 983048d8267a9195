//! UDP, as far as RoCE v2 needs it.

use crate::frame::Roce;
use crate::net::{Net, PROTOCOL_UDP};
use crate::wire;

/// Destination port of RoCE v2 (CA17-20).
pub const ROCE_V2_PORT: u16 = 4791;

/// UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Udp {
    /// Source port: names the flow, any value.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Bytes from this header to the end of the ICRC.
    pub len: u16,
    /// Should be 0 (A17.3.2.4); not covered by the ICRC.
    pub checksum: u16,
}

impl Udp {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    #[inline(always)]
    pub(crate) fn read(bytes: &[u8]) -> Udp {
        let bytes = bytes.first_chunk::<{ Udp::LEN }>().expect("a UDP header");
        Udp {
            sport: wire::u16(bytes, 0),
            dport: wire::u16(bytes, 2),
            len: wire::u16(bytes, 4),
            checksum: wire::u16(bytes, 6),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> [u8; 8] {
        let [a, b] = self.sport.to_be_bytes();
        let [c, d] = self.dport.to_be_bytes();
        let [e, f] = self.len.to_be_bytes();
        let [g, h] = self.checksum.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }
}

/// The UDP checksum that belongs to the packet, its ICRC included: never 0, which stands for none (RFC 768, RFC 8200
/// section 8.1). A packet without UDP gets one all the same.
pub fn right_udp_checksum(packet: &Roce<'_>) -> u16 {
    let udp = packet.udp.unwrap_or(Udp { sport: 0, dport: ROCE_V2_PORT, len: 0, checksum: 0 });
    let (mut sum, mut odd) = (0u64, false);
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            sum += if odd { u64::from(*byte) } else { u64::from(*byte) << 8 };
            odd = !odd;
        }
    };
    match packet.net {
        Net::V4(ip) => {
            add(&ip.src.octets());
            add(&ip.dst.octets());
        }
        Net::V6(ip) | Net::Grh(ip) => {
            add(&ip.src.octets());
            add(&ip.dst.octets());
        }
    }
    add(&[0, PROTOCOL_UDP]);
    add(&udp.len.to_be_bytes());
    add(&Udp { checksum: 0, ..udp }.bytes());
    add(&packet.bth.bytes());
    packet.ext.write(packet.bth.opcode, &mut add);
    add(packet.payload);
    add(packet.pad);
    add(&packet.icrc.to_le_bytes());
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}
