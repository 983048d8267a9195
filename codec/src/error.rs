//! What can be wrong with a frame.

use core::fmt;

use crate::net::Net;

/// A layer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the layers' own")]
pub enum Layer {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    Grh,
    Udp,
    Bth,
    Rdeth,
    Deth,
    XrcEth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Payload,
    Icrc,
}

impl Layer {
    /// True for the layers around RoCE: a frame that cannot be read there need not be RoCE at all.
    pub fn is_around_roce(self) -> bool {
        matches!(self, Layer::Ethernet | Layer::Vlan | Layer::Ipv4 | Layer::Ipv6)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Ethernet => "Ethernet",
            Layer::Vlan => "VLAN tag",
            Layer::Ipv4 => "IPv4",
            Layer::Ipv6 => "IPv6",
            Layer::Grh => "GRH",
            Layer::Udp => "UDP",
            Layer::Bth => "BTH",
            Layer::Rdeth => "RDETH",
            Layer::Deth => "DETH",
            Layer::XrcEth => "XRCETH",
            Layer::Feth => "FETH",
            Layer::Reth => "RETH",
            Layer::AtomicEth => "AtomicETH",
            Layer::Aeth => "AETH",
            Layer::AtomicAckEth => "AtomicAckETH",
            Layer::ImmDt => "ImmDt",
            Layer::Ieth => "IETH",
            Layer::Payload => "payload",
            Layer::Icrc => "ICRC",
        })
    }
}

/// Who says where the bytes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LengthSource {
    /// The frame ends there.
    Frame,
    /// IPv4 total length.
    Ipv4TotalLength,
    /// IPv6 payload length.
    Ipv6PayloadLength,
    /// GRH payload length.
    GrhPayLen,
    /// UDP length.
    UdpLength,
}

impl LengthSource {
    /// The length field of a network header.
    #[inline]
    pub(crate) fn of(net: &Net<'_>) -> LengthSource {
        match net {
            Net::V4(_) => LengthSource::Ipv4TotalLength,
            Net::V6(_) => LengthSource::Ipv6PayloadLength,
            Net::Grh(_) => LengthSource::GrhPayLen,
        }
    }
}

impl fmt::Display for LengthSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LengthSource::Frame => "the end of the frame",
            LengthSource::Ipv4TotalLength => "the IPv4 total length",
            LengthSource::Ipv6PayloadLength => "the IPv6 payload length",
            LengthSource::GrhPayLen => "the GRH payload length",
            LengthSource::UdpLength => "the UDP length",
        })
    }
}

/// Why a frame could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// The layer that could not be read.
    pub layer: Layer,
    /// Where it begins, in bytes from the start of the frame.
    pub offset: usize,
    /// What is wrong with it.
    pub kind: ErrorKind,
}

/// What is wrong with a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It needs more bytes than there are.
    TooShort {
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that are left for it.
        available: usize,
        /// Who says that no more are left.
        limit: LengthSource,
    },
    /// A length field claims more bytes than the layer around it holds.
    TooLong {
        /// The field.
        field: LengthSource,
        /// Bytes claimed.
        claimed: usize,
        /// Bytes that there are.
        available: usize,
    },
    /// A length field claims fewer bytes than the layer around it says.
    Disagree {
        /// The field.
        field: LengthSource,
        /// Bytes claimed.
        claimed: usize,
        /// Bytes that the layer around it gives it.
        expected: usize,
    },
    /// The version number is not the one that the layer before announced.
    Version(u8),
    /// The header length field is below the least possible, in 32-bit words.
    HeaderLength(u8),
    /// The pad count is larger than what there is to pad.
    Pad {
        /// PadCnt of the BTH.
        count: u8,
        /// Bytes between the headers and the ICRC.
        available: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.layer, self.offset)?;
        match self.kind {
            ErrorKind::TooShort { needed, available, limit } => {
                write!(f, "needs {needed} bytes, but {limit} leaves {available}")
            }
            ErrorKind::TooLong { field, claimed, available } => {
                write!(f, "{field} claims {claimed} bytes, but there are {available}")
            }
            ErrorKind::Disagree { field, claimed, expected } => {
                write!(f, "{field} claims {claimed} bytes, but the layer around it gives {expected}")
            }
            ErrorKind::Version(version) => write!(f, "version {version} is not the announced one"),
            ErrorKind::HeaderLength(words) => write!(f, "header length of {words} words is below the least possible"),
            ErrorKind::Pad { count, available } => {
                write!(f, "pad count {count}, but only {available} bytes lie before the ICRC")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// Why a frame could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EncodeError {
    /// Bytes that the frame needs.
    pub needed: usize,
    /// Bytes that the buffer has.
    pub available: usize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the frame needs {} bytes, the buffer has {}", self.needed, self.available)
    }
}

impl core::error::Error for EncodeError {}
