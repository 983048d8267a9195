//! The network layer: IPv4 or IPv6 for RoCE v2, the GRH for RoCE v1.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{DecodeError, ErrorKind, Layer, LengthSource};
use crate::wire;

/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// Next header of a GRH in front of a BTH.
pub const NEXT_HEADER_IBA: u8 = 0x1b;
/// Version that usNIC has where a GRH has 6.
pub(crate) const USNIC_VERSION: u8 = 8;

/// Congestion bits of an IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// 00: not capable.
    NotEct = 0,
    /// 01: capable.
    Ect1 = 1,
    /// 10: capable.
    Ect0 = 2,
    /// 11: congestion experienced.
    Ce = 3,
}

/// IPv4 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4<'a> {
    /// 4.
    pub version: u8,
    /// Header length in 32-bit words, 5 without options.
    pub ihl: u8,
    /// DSCP (6 bits) and ECN (2 bits).
    pub tos: u8,
    /// Bytes from this header to the end of the ICRC.
    pub total_len: u16,
    /// Identification.
    pub id: u16,
    /// Reserved bit, don't fragment, more fragments (3 bits), fragment offset (13 bits).
    pub flags_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// What follows: 17 is UDP.
    pub protocol: u8,
    /// Header checksum.
    pub checksum: u16,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Options. RoCE v2 has none (CA17-3).
    pub options: &'a [u8],
}

impl<'a> Ipv4<'a> {
    #[inline(always)]
    pub(crate) fn read(fixed: &[u8; Ipv4::MIN_LEN], options: &'a [u8]) -> Ipv4<'a> {
        let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        Ipv4 {
            version: fixed[0] >> 4,
            ihl: fixed[0] & 0xf,
            tos: fixed[1],
            total_len: wire::u16(fixed, 2),
            id: wire::u16(fixed, 4),
            flags_offset: wire::u16(fixed, 6),
            ttl: fixed[8],
            protocol: fixed[9],
            checksum: wire::u16(fixed, 10),
            src: address(12),
            dst: address(16),
            options,
        }
    }

    /// Bytes without options.
    pub const MIN_LEN: usize = 20;
    /// Don't fragment, in [`Ipv4::flags_offset`].
    pub const DF: u16 = 0x4000;
    /// More fragments, in [`Ipv4::flags_offset`].
    pub const MF: u16 = 0x2000;

    /// Bytes on the wire.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        Self::MIN_LEN + self.options.len()
    }

    /// True when this is a piece of a datagram (and not the whole of it).
    pub fn is_fragment(&self) -> bool {
        self.flags_offset & (Self::MF | 0x1fff) != 0
    }

    #[inline]
    fn fixed(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[0] = self.version << 4 | self.ihl & 0xf;
        bytes[1] = self.tos;
        bytes[2..4].copy_from_slice(&self.total_len.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.id.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.flags_offset.to_be_bytes());
        bytes[8] = self.ttl;
        bytes[9] = self.protocol;
        bytes[10..12].copy_from_slice(&self.checksum.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.src.octets());
        bytes[16..20].copy_from_slice(&self.dst.octets());
        bytes
    }

    /// The checksum that belongs to the other fields.
    pub fn right_checksum(&self) -> u16 {
        let mut sum = 0u64;
        let blank = Ipv4 { checksum: 0, ..*self };
        // Words of 32 bits: the carries come back in the end, as those of 16 would.
        for word in blank.fixed().as_chunks::<4>().0 {
            sum += u64::from(u32::from_be_bytes(*word));
        }
        for part in self.options.chunks(4) {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            sum += u64::from(u32::from_be_bytes(word));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv6 {
    /// 6.
    pub version: u8,
    /// DSCP (6 bits) and ECN (2 bits).
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes behind this header to the end of the ICRC.
    pub payload_len: u16,
    /// What follows: 17 is UDP, 0x1b (in a GRH) a BTH.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address or GID.
    pub src: Ipv6Addr,
    /// Destination address or GID.
    pub dst: Ipv6Addr,
}

/// Global route header of RoCE v1: the same layout as IPv6.
pub type Grh = Ipv6;

impl Ipv6 {
    /// Bytes on the wire.
    pub const LEN: usize = 40;

    #[inline(always)]
    pub(crate) fn read(bytes: &[u8]) -> Ipv6 {
        let bytes = bytes.first_chunk::<{ Ipv6::LEN }>().expect("a header");
        let first = wire::u32(bytes, 0);
        let address = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[at..at + 16]).expect("16 bytes"));
        Ipv6 {
            version: (first >> 28) as u8,
            traffic_class: (first >> 20) as u8,
            flow_label: first & 0xf_ffff,
            payload_len: wire::u16(bytes, 4),
            next_header: bytes[6],
            hop_limit: bytes[7],
            src: address(8),
            dst: address(24),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        let first =
            u32::from(self.version & 0xf) << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        bytes[..4].copy_from_slice(&first.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        bytes[6] = self.next_header;
        bytes[7] = self.hop_limit;
        bytes[8..24].copy_from_slice(&self.src.octets());
        bytes[24..].copy_from_slice(&self.dst.octets());
        bytes
    }
}

/// Network header of a RoCE packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Net<'a> {
    /// RoCE v2 over IPv4.
    V4(Ipv4<'a>),
    /// RoCE v2 over IPv6.
    V6(Ipv6),
    /// RoCE v1.
    Grh(Grh),
}

impl<'a> Net<'a> {
    /// Bytes on the wire.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Net::V4(ip) => ip.len(),
            Net::V6(_) | Net::Grh(_) => Ipv6::LEN,
        }
    }

    /// Source address as a GID: IPv4 as `::ffff:a.b.c.d` (A17.4.1.1).
    pub fn src_gid(&self) -> Ipv6Addr {
        match self {
            Net::V4(ip) => ip.src.to_ipv6_mapped(),
            Net::V6(ip) | Net::Grh(ip) => ip.src,
        }
    }

    /// Destination address as a GID.
    pub fn dst_gid(&self) -> Ipv6Addr {
        match self {
            Net::V4(ip) => ip.dst.to_ipv6_mapped(),
            Net::V6(ip) | Net::Grh(ip) => ip.dst,
        }
    }

    /// Routers that it may still pass: TTL or hop limit.
    pub fn hop_limit(&self) -> u8 {
        match self {
            Net::V4(ip) => ip.ttl,
            Net::V6(ip) | Net::Grh(ip) => ip.hop_limit,
        }
    }

    /// DSCP and ECN octet.
    pub fn traffic_class(&self) -> u8 {
        match self {
            Net::V4(ip) => ip.tos,
            Net::V6(ip) | Net::Grh(ip) => ip.traffic_class,
        }
    }

    /// Congestion bits.
    pub fn ecn(&self) -> Ecn {
        match self.traffic_class() & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Reads the header that begins at `offset` of the frame. Gives it, and how many bytes it says follow.
    #[inline(always)]
    pub(crate) fn read_v4(frame: &'a [u8], offset: usize) -> Result<(Ipv4<'a>, usize), DecodeError> {
        let bytes = &frame[offset..];
        let error = |kind| DecodeError { layer: Layer::Ipv4, offset, kind };
        let short = |needed| error(ErrorKind::TooShort { needed, available: bytes.len(), limit: LengthSource::Frame });
        let Some(fixed) = bytes.first_chunk::<{ Ipv4::MIN_LEN }>() else {
            return Err(short(Ipv4::MIN_LEN));
        };
        let (version, ihl) = (fixed[0] >> 4, fixed[0] & 0xf);
        if version != 4 {
            return Err(error(ErrorKind::Version(version)));
        }
        if ihl < 5 {
            return Err(error(ErrorKind::HeaderLength(ihl)));
        }
        let len = usize::from(ihl) * 4;
        if bytes.len() < len {
            return Err(short(len));
        }
        let ip = Ipv4::read(fixed, &bytes[Ipv4::MIN_LEN..len]);
        let (claimed, field) = (usize::from(ip.total_len), LengthSource::Ipv4TotalLength);
        if claimed > bytes.len() {
            return Err(error(ErrorKind::TooLong { field, claimed, available: bytes.len() }));
        }
        let rest = claimed.checked_sub(len).ok_or(error(ErrorKind::Disagree { field, claimed, expected: len }))?;
        Ok((ip, rest))
    }

    /// As [`Net::read_v4`], for IPv6 and for a GRH.
    #[inline(always)]
    pub(crate) fn read_v6(
        frame: &[u8],
        offset: usize,
        layer: Layer,
        field: LengthSource,
    ) -> Result<(Ipv6, usize), DecodeError> {
        let bytes = &frame[offset..];
        let error = |kind| DecodeError { layer, offset, kind };
        if bytes.len() < Ipv6::LEN {
            let limit = LengthSource::Frame;
            return Err(error(ErrorKind::TooShort { needed: Ipv6::LEN, available: bytes.len(), limit }));
        }
        let ip = Ipv6::read(bytes);
        if ip.version != 6 {
            return Err(error(ErrorKind::Version(ip.version)));
        }
        let (claimed, available) = (usize::from(ip.payload_len), bytes.len() - Ipv6::LEN);
        if claimed > available {
            return Err(error(ErrorKind::TooLong { field, claimed, available }));
        }
        Ok((ip, claimed))
    }

    /// The header as it stands on the wire, in one part or, with IPv4 options, in two.
    #[inline]
    pub fn write(&self, mut put: impl FnMut(&[u8])) {
        match self {
            Net::V4(ip) => {
                put(&ip.fixed());
                if !ip.options.is_empty() {
                    put(ip.options);
                }
            }
            Net::V6(ip) | Net::Grh(ip) => put(&ip.bytes()),
        }
    }

    /// The header as the ICRC sees it: what routers may change is all ones.
    #[inline]
    pub(crate) fn write_masked(&self, put: impl FnMut(&[u8])) {
        match *self {
            Net::V4(ip) => Net::V4(Ipv4 { tos: 0xff, ttl: 0xff, checksum: 0xffff, ..ip }),
            Net::V6(ip) => Net::V6(ip.masked()),
            Net::Grh(ip) => Net::Grh(ip.masked()),
        }
        .write(put);
    }
}

impl Ipv6 {
    fn masked(self) -> Ipv6 {
        Ipv6 { traffic_class: 0xff, flow_label: 0xf_ffff, hop_limit: 0xff, ..self }
    }
}
