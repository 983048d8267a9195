//! A frame taken apart.

use crate::bth::Bth;
use crate::error::LengthSource;
use crate::eth::Ethernet;
use crate::ext::Extensions;
use crate::net::Net;
use crate::opcode::Info;
use crate::udp::Udp;

/// What a frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "the large one is the common one, and nothing here allocates")]
pub enum Frame<'a> {
    /// A RoCE packet.
    Roce(Roce<'a>),
    /// Anything else, as it is.
    Other(&'a [u8]),
}

/// A RoCE packet in its Ethernet frame.
///
/// Every field holds what is on the wire, right or wrong: lengths, checksums and the ICRC are values like any other.
/// [`crate::field::complete`] gives them their right values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roce<'a> {
    /// Ethernet header.
    pub eth: Ethernet,
    /// Network header; it says whether this is RoCE v1 or v2.
    pub net: Net<'a>,
    /// UDP header: in RoCE v2 and only there.
    pub udp: Option<Udp>,
    /// Base transport header.
    pub bth: Bth,
    /// The headers that the opcode calls for.
    pub ext: Extensions,
    /// Payload without its pad.
    pub payload: &'a [u8],
    /// Pad: as many bytes as [`Bth::pad_count`] says, when the frame is well formed.
    pub pad: &'a [u8],
    /// Invariant CRC, as the number whose low byte comes first on the wire.
    pub icrc: u32,
    /// Bytes of the frame behind the packet: Ethernet padding, not covered by any length or the ICRC.
    pub trailer: &'a [u8],
}

impl Roce<'_> {
    /// Bytes from the BTH to the end of the ICRC.
    pub fn transport_len(&self) -> usize {
        Bth::LEN + self.bth.opcode.info().map_or(0, Info::headers_len) + self.payload.len() + self.pad.len() + 4
    }

    /// Bytes of the frame without its trailer.
    pub fn packet_len(&self) -> usize {
        self.eth.len() + self.net.len() + self.udp.map_or(0, |_| Udp::LEN) + self.transport_len()
    }

    /// The length field that says where the packet ends.
    pub fn length_source(&self) -> LengthSource {
        match self.net {
            Net::V4(_) => LengthSource::Ipv4TotalLength,
            Net::V6(_) => LengthSource::Ipv6PayloadLength,
            Net::Grh(_) => LengthSource::GrhPayLen,
        }
    }
}
