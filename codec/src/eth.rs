//! Ethernet II and its VLAN tags.

use core::fmt;

use arrayvec::ArrayVec;

use crate::error::{DecodeError, ErrorKind, Layer, LengthSource};
use crate::wire;

/// Ethertype of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// Ethertype of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Ethertype of RoCE v1.
pub const ETHERTYPE_ROCE_V1: u16 = 0x8915;
/// Shortest frame in bytes, without the frame check sequence: shorter ones are padded.
pub const MIN_FRAME: usize = 60;

/// MAC address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// As ASCII, `02:00:00:00:00:01`.
    pub(crate) fn text(self) -> [u8; 17] {
        let digit = |nibble: u8| (if nibble < 10 { b'0' } else { b'a' - 10 }) + nibble;
        let mut text = *b"00:00:00:00:00:00";
        for (pair, octet) in text.chunks_mut(3).zip(self.0) {
            (pair[0], pair[1]) = (digit(octet >> 4), digit(octet & 0xf));
        }
        text
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::str::FromStr for MacAddr {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(())?;
            if part.is_empty() || part.len() > 2 || part.starts_with('+') {
                return Err(());
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| ())?;
        }
        if parts.next().is_some() { Err(()) } else { Ok(MacAddr(octets)) }
    }
}

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Tag protocol: 0x8100 (802.1Q), 0x88a8 (802.1ad), 0x9100 (older).
    pub tpid: u16,
    /// Tag control: priority (3 bits), drop eligible (1), VLAN id (12).
    pub tci: u16,
}

impl Tag {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// True for the tag protocols that are taken as tags.
    pub const fn is_tpid(ethertype: u16) -> bool {
        matches!(ethertype, 0x8100 | 0x88a8 | 0x9100)
    }
}

/// Ethernet header with its tags.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ethernet {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// VLAN tags, outermost first.
    pub tags: ArrayVec<Tag, 2>,
    /// Type of what follows the tags.
    pub ethertype: u16,
}

impl Ethernet {
    /// Bytes on the wire.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        14 + Tag::LEN * self.tags.len()
    }

    /// Reads the addresses and the ethertype behind them.
    #[inline(always)]
    pub(crate) fn untagged(bytes: &[u8; 14]) -> Ethernet {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *bytes;
        Ethernet {
            dst: MacAddr([d0, d1, d2, d3, d4, d5]),
            src: MacAddr([s0, s1, s2, s3, s4, s5]),
            tags: ArrayVec::new(),
            ethertype: u16::from_be_bytes([t0, t1]),
        }
    }

    /// Reads the header; the rest begins at [`Ethernet::len`]. A third tag is left to be seen as the ethertype.
    #[inline(always)]
    pub(crate) fn read(frame: &[u8]) -> Result<Ethernet, DecodeError> {
        let short = |layer, offset, needed| DecodeError {
            layer,
            offset,
            kind: ErrorKind::TooShort { needed, available: frame.len() - offset, limit: LengthSource::Frame },
        };
        let Some(fixed) = frame.first_chunk() else {
            return Err(short(Layer::Ethernet, 0, 14));
        };
        let mut eth = Ethernet::untagged(fixed);
        while Tag::is_tpid(eth.ethertype) && !eth.tags.is_full() {
            let at = eth.len();
            if frame.len() < at + Tag::LEN {
                return Err(short(Layer::Vlan, at, Tag::LEN));
            }
            eth.tags.push(Tag { tpid: eth.ethertype, tci: wire::u16(frame, at) });
            eth.ethertype = wire::u16(frame, at + 2);
        }
        Ok(eth)
    }

    #[inline]
    pub(crate) fn write(&self, mut put: impl FnMut(&[u8])) {
        put(&self.dst.0);
        put(&self.src.0);
        for tag in &self.tags {
            put(&tag.tpid.to_be_bytes());
            put(&tag.tci.to_be_bytes());
        }
        put(&self.ethertype.to_be_bytes());
    }
}
