//! UDP, as far as RoCE v2 needs it.

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
