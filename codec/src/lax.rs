//! Bytes to all that can be read of them.

use arrayvec::ArrayVec;

use crate::bth::Bth;
use crate::datagram::{Fragment, Ipv6Extension, MAX_IPV6_EXTENSIONS};
use crate::error::{DecodeError, Layer};
use crate::eth::Ethernet;
use crate::ext::{Extensions, Header};
use crate::frame::{Frame, Roce};
use crate::net::Net;
use crate::udp::Udp;

mod read;
mod walk;

/// Problems that are kept; a frame has fewer.
const MAX_PROBLEMS: usize = 8;

/// A frame as far as it can be read, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lax<'a> {
    /// The bytes that were captured.
    pub frame: &'a [u8],
    /// How long the frame was on the wire.
    pub original_len: usize,
    /// Ethernet header with its tags.
    pub eth: Option<Ethernet>,
    /// Network header. Its version tells how it was read, whatever the ethertype says.
    pub net: Option<Net<'a>>,
    /// IPv6 extension headers. RoCE v2 has none.
    pub extensions: ArrayVec<Ipv6Extension, MAX_IPV6_EXTENSIONS>,
    /// Which piece of a datagram this is. RoCE v2 has none.
    pub fragment: Option<Fragment>,
    /// UDP header.
    pub udp: Option<Udp>,
    /// Base transport header.
    pub bth: Option<Bth>,
    /// The headers that the opcode calls for, where [`Lax::headers`] names them; the others hold zeroes.
    pub ext: Extensions,
    /// What is left where a layer has fewer bytes than it needs.
    pub unread: &'a [u8],
    /// Payload without its pad, as far as it was captured.
    pub payload: &'a [u8],
    /// How long the payload is by the lengths of the frame; `None` where that is not known.
    pub payload_len: Option<usize>,
    /// Pad.
    pub pad: &'a [u8],
    /// Invariant CRC.
    pub icrc: Option<u32>,
    /// Bytes behind the packet, see [`Lax::trailer_kind`].
    pub trailer: &'a [u8],
    /// The frame, when it is no RoCE packet, or one that RoCE v2 does not allow ([`Frame::Datagram`]).
    pub other: Option<Frame<'a>>,
    /// What could not be read of a RoCE packet because the capture ends there. That is no fault of the frame. Behind IPv6
    /// extension headers that are cut, it is not known whether there was one: then the layer is IPv6, and the place that
    /// of the first of them.
    pub cut: Option<Cut>,
    /// What is wrong, outermost first.
    pub problems: ArrayVec<DecodeError, MAX_PROBLEMS>,
    headers: usize,
}

/// Where a capture ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The first layer that is not there in full.
    pub layer: Layer,
    /// Where that layer begins, in bytes from the start of the frame.
    pub offset: usize,
}

/// What the bytes behind a packet are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trailer {
    /// There are none.
    Empty,
    /// Zeroes.
    Padding,
    /// The frame check sequence, which is the right one, perhaps behind padding.
    Fcs,
    /// Something else.
    Unknown,
}

/// Takes a frame apart as far as it goes, whatever it is, and lists what is wrong with it.
///
/// `frame` is what was captured of a frame that was `original_len` bytes long (if that is less than what was captured,
/// the frame was as long as it is here). A frame cut by the capture is not wrong: its lengths are held against the
/// original length, and [`Lax::cut`] says what is missing.
///
/// Where lengths disagree the outermost possible one is followed. A frame that [`decode`](crate::decode()) takes as a
/// RoCE packet gives the same packet here, without problems; one that it refuses has its error as the first problem.
pub fn decode_lax(frame: &[u8], original_len: usize) -> Lax<'_> {
    read::read(frame, original_len.max(frame.len()))
}

impl<'a> Lax<'a> {
    /// True for a frame meant as RoCE, whether it could be read or not: ethertype 0x8915 with the right next header, or
    /// UDP port 4791.
    pub fn is_roce(&self) -> bool {
        matches!(self.net, Some(Net::Grh(_)) if self.other.is_none())
            || self.udp.is_some_and(|udp| udp.dport == crate::ROCE_V2_PORT)
    }

    /// True when less was captured than there was on the wire.
    pub fn is_cut(&self) -> bool {
        self.frame.len() < self.original_len
    }

    /// The headers behind the BTH that could be read, in wire order.
    pub fn headers(&self) -> &'static [Header] {
        self.bth.map_or(&[], |bth| &bth.opcode.headers()[..self.headers])
    }

    /// True when there is a BTH, and every header behind it that its opcode calls for.
    pub fn has_headers(&self) -> bool {
        self.bth.is_some_and(|bth| self.headers == bth.opcode.headers().len())
    }

    /// The whole packet, where every layer of it could be read. It encodes to the bytes that were read.
    pub fn packet(&self) -> Option<Roce<'a>> {
        let is_whole =
            self.has_headers() && self.other.is_none() && self.udp.is_some() != matches!(self.net, Some(Net::Grh(_)));
        let icrc = self.icrc.filter(|_| is_whole)?;
        Some(Roce { icrc, trailer: self.trailer, ..self.beginning()? })
    }

    /// The packet as far as it is there, without trailer, where its BTH is there. Headers behind that, and the ICRC, hold
    /// zeroes where they could not be read.
    pub fn beginning(&self) -> Option<Roce<'a>> {
        Some(Roce {
            eth: self.eth.clone()?,
            net: self.net?,
            udp: self.udp,
            bth: self.bth?,
            ext: self.ext,
            payload: self.payload,
            pad: self.pad,
            icrc: self.icrc.unwrap_or(0),
            trailer: &[],
        })
    }

    /// What the bytes behind the packet are. A frame check sequence is known by being right, so not in a frame that is
    /// cut.
    pub fn trailer_kind(&self) -> Trailer {
        if self.trailer.is_empty() {
            return Trailer::Empty;
        }
        if !self.is_cut()
            && self.trailer.len() >= 4
            && let Some((frame, fcs)) = self.frame.split_last_chunk::<4>()
            && crc32fast::hash(frame).to_le_bytes() == *fcs
        {
            return Trailer::Fcs;
        }
        if self.trailer.iter().all(|byte| *byte == 0) { Trailer::Padding } else { Trailer::Unknown }
    }
}
