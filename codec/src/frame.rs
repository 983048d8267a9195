//! A frame taken apart.

use crate::arp::Arp;
use crate::bth::Bth;
use crate::datagram::Datagram;
use crate::encode::{encode, encoded_len};
use crate::error::{EncodeError, LengthSource};
use crate::eth::Ethernet;
use crate::ext::Extensions;
use crate::lldp::Lldp;
use crate::mac_control::MacControl;
use crate::nd::Neighbor;
use crate::net::Net;
use crate::udp::Udp;

/// What a frame holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// A RoCE packet.
    Roce(Roce<'a>),
    /// PAUSE, priority-based flow control, or another MAC control frame.
    MacControl(MacControl<'a>),
    /// ARP for IPv4.
    Arp(Arp<'a>),
    /// A neighbour solicitation or advertisement of IPv6.
    Neighbor(Neighbor<'a>),
    /// Link layer discovery, with DCBX in it.
    Lldp(Lldp<'a>),
    /// A datagram that is, or may be, meant as RoCE v2, but that RoCE v2 does not allow.
    Datagram(Datagram<'a>),
    /// A frame of usNIC: it shares the ethertype of RoCE v1 and has version 8 in place of 6. What follows is not known
    /// here, and so kept as it is.
    Usnic(&'a [u8]),
    /// Anything else, as it is.
    Other(&'a [u8]),
}

impl Frame<'_> {
    /// Bytes that [`Frame::encode`] writes.
    pub fn encoded_len(&self) -> usize {
        match self {
            Frame::Roce(packet) => encoded_len(packet),
            Frame::MacControl(control) => control.len(),
            Frame::Arp(arp) => arp.len(),
            Frame::Neighbor(neighbor) => neighbor.len(),
            Frame::Lldp(lldp) => lldp.len(),
            Frame::Datagram(Datagram { frame: bytes, .. }) | Frame::Usnic(bytes) | Frame::Other(bytes) => bytes.len(),
        }
    }

    /// Writes the frame as it stands, right or wrong, and gives its bytes. A [`Frame::Datagram`] is written from
    /// [`Datagram::frame`].
    ///
    /// # Errors
    /// When `buffer` is shorter than [`Frame::encoded_len`].
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        if let Frame::Roce(packet) = self {
            return encode(packet, buffer);
        }
        let (needed, available) = (self.encoded_len(), buffer.len());
        let out = buffer.get_mut(..needed).ok_or(EncodeError { needed, available })?;
        let mut at = 0;
        self.pieces(&mut |bytes| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        });
        Ok(out)
    }

    /// Hands over the bytes of a frame that is no RoCE packet, piece by piece.
    pub(crate) fn pieces(&self, put: &mut dyn FnMut(&[u8])) {
        match self {
            Frame::Roce(_) => {}
            Frame::MacControl(control) => control.write(put),
            Frame::Arp(arp) => arp.write(put),
            Frame::Neighbor(neighbor) => neighbor.write(put),
            Frame::Lldp(lldp) => lldp.write(put),
            Frame::Datagram(Datagram { frame: bytes, .. }) | Frame::Usnic(bytes) | Frame::Other(bytes) => put(bytes),
        }
    }
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
    #[inline]
    pub fn transport_len(&self) -> usize {
        Bth::LEN + self.bth.opcode.headers_len() + self.payload.len() + self.pad.len() + 4
    }

    /// Bytes of the frame without its trailer.
    #[inline]
    pub fn packet_len(&self) -> usize {
        self.eth.len() + self.net.len() + self.udp.map_or(0, |_| Udp::LEN) + self.transport_len()
    }

    /// The length field that says where the packet ends.
    pub fn length_source(&self) -> LengthSource {
        LengthSource::of(&self.net)
    }
}
