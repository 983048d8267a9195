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

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
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
    pub fn len(&self) -> usize {
        14 + Tag::LEN * self.tags.len()
    }

    /// Reads the header; the rest begins at [`Ethernet::len`]. A third tag is left to be seen as the ethertype.
    pub(crate) fn read(frame: &[u8]) -> Result<Ethernet, DecodeError> {
        let short = |layer, offset, needed| DecodeError {
            layer,
            offset,
            kind: ErrorKind::TooShort { needed, available: frame.len() - offset, limit: LengthSource::Frame },
        };
        if frame.len() < 14 {
            return Err(short(Layer::Ethernet, 0, 14));
        }
        let mut eth = Ethernet {
            dst: MacAddr(frame[..6].try_into().expect("six bytes")),
            src: MacAddr(frame[6..12].try_into().expect("six bytes")),
            tags: ArrayVec::new(),
            ethertype: wire::u16(frame, 12),
        };
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
