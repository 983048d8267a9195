//! DCBX before IEEE 802.1Qaz (CEE, "version 1.01"): one TLV with TLVs inside.
//!
//! The layout is that of the drivers of several vendors. Unverified: which half of a byte of the allocation table belongs
//! to the lower priority (here the high one, as in IEEE 802.1Qaz).

use super::dcbx::{nibbles, packed};
use super::tlv::{Tlv, TlvError, Tlvs};
use crate::wire;

pub(super) const OUI: [u8; 3] = [0x00, 0x1b, 0x21];
pub(super) const SUBTYPE: u8 = 2;

/// The TLVs inside.
#[derive(Debug, Clone)]
pub struct SubTlvs<'a> {
    bytes: &'a [u8],
    tlvs: Tlvs<'a>,
}

impl PartialEq for SubTlvs<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for SubTlvs<'_> {}

impl<'a> SubTlvs<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        SubTlvs { bytes, tlvs: Tlvs::inside(bytes) }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for SubTlvs<'a> {
    type Item = Result<Cee<'a>, TlvError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.tlvs.next()?.map(Cee::read))
    }
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cee<'a> {
    /// Type 1: how far the two sides are.
    Control {
        /// Version in use.
        operating_version: u8,
        /// Highest version.
        max_version: u8,
        /// Changes with every change of the settings.
        sequence: u32,
        /// The last sequence number of the other side.
        acknowledged: u32,
    },
    /// Type 2: bandwidth.
    PriorityGroups(CeeFeature, PriorityGroups),
    /// Type 3: which priorities are lossless.
    Pfc {
        /// What all features have.
        feature: CeeFeature,
        /// Bit n: priority n is lossless.
        enabled: u8,
        /// How many traffic classes can be lossless at a time.
        capability: u8,
    },
    /// Type 4: which priority a protocol should use.
    Applications(CeeFeature, CeeApplications<'a>),
    /// Another type, or a length that the type does not have.
    Other(Tlv<'a>),
}

/// What every feature begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CeeFeature {
    /// Version in use.
    pub operating_version: u8,
    /// Highest version.
    pub max_version: u8,
    /// Bit 7 enabled, bit 6 willing, bit 5 error, the others reserved.
    pub flags: u8,
    /// Kind of the feature, 0.
    pub subtype: u8,
}

impl CeeFeature {
    /// The feature is on.
    pub const ENABLED: u8 = 0x80;
    /// Takes what the other side says.
    pub const WILLING: u8 = 0x40;
    /// The two sides do not agree.
    pub const ERROR: u8 = 0x20;

    /// The four bytes.
    pub fn bytes(&self) -> [u8; 4] {
        [self.operating_version, self.max_version, self.flags, self.subtype]
    }
}

/// Bandwidth by groups of priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PriorityGroups {
    /// Group of each priority, 4 bits each; 15 is strict priority.
    pub groups: [u8; 8],
    /// Percent of the bandwidth for each group.
    pub bandwidth: [u8; 8],
    /// How many traffic classes there are.
    pub classes: u8,
}

impl PriorityGroups {
    /// The bytes behind the feature.
    pub fn bytes(&self) -> [u8; 13] {
        let mut bytes = [0; 13];
        bytes[..4].copy_from_slice(&packed(self.groups));
        bytes[4..12].copy_from_slice(&self.bandwidth);
        bytes[12] = self.classes;
        bytes
    }
}

/// A table of applications, as long as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CeeApplications<'a>(&'a [u8]);

impl<'a> CeeApplications<'a> {
    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = CeeApplication> + 'a {
        self.0.chunks_exact(6).map(|entry| CeeApplication {
            protocol: wire::u16(entry, 0),
            oui: wire::u24(entry, 2) & 0xfc_ffff,
            selector: entry[2] & 3,
            priorities: entry[5],
        })
    }
}

/// Which priorities a protocol should use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CeeApplication {
    /// Ethertype or port.
    pub protocol: u16,
    /// Who gave the number, with the bits of the selector (17:16) taken as 0.
    pub oui: u32,
    /// 0 an ethertype, 1 a port of TCP or UDP, 2 bits.
    pub selector: u8,
    /// Bit n: priority n.
    pub priorities: u8,
}

impl CeeApplication {
    /// The six bytes of the entry.
    pub fn bytes(&self) -> [u8; 6] {
        let [p, q] = self.protocol.to_be_bytes();
        let [_, a, b, c] = self.oui.to_be_bytes();
        [p, q, a & 0xfc | self.selector & 3, b, c, self.priorities]
    }
}

impl<'a> Cee<'a> {
    fn read(tlv: Tlv<'a>) -> Cee<'a> {
        if let (1, [operating_version, max_version, _, _, _, _, _, _, _, _]) = (tlv.kind, tlv.value) {
            return Cee::Control {
                operating_version: *operating_version,
                max_version: *max_version,
                sequence: wire::u32(tlv.value, 2),
                acknowledged: wire::u32(tlv.value, 6),
            };
        }
        let [operating_version, max_version, flags, subtype, body @ ..] = tlv.value else { return Cee::Other(tlv) };
        let feature = CeeFeature {
            operating_version: *operating_version,
            max_version: *max_version,
            flags: *flags,
            subtype: *subtype,
        };
        match (tlv.kind, body) {
            (2, [_, _, _, _, bandwidth @ .., classes]) if bandwidth.len() == 8 => {
                let groups = nibbles(body);
                let bandwidth = bandwidth.try_into().expect("eight bytes");
                Cee::PriorityGroups(feature, PriorityGroups { groups, bandwidth, classes: *classes })
            }
            (3, [enabled, capability]) => Cee::Pfc { feature, enabled: *enabled, capability: *capability },
            (4, table) if table.len() % 6 == 0 => Cee::Applications(feature, CeeApplications(table)),
            _ => Cee::Other(tlv),
        }
    }

    pub(super) fn of(kind: u8, value: &'a [u8]) -> Cee<'a> {
        Cee::read(Tlv { kind, value, offset: 0 })
    }

    /// The TLV's type and the bytes of its value, piece by piece.
    pub(super) fn pieces(&self, put: &mut dyn FnMut(&[u8])) -> u8 {
        match self {
            Cee::Control { operating_version, max_version, sequence, acknowledged } => {
                put(&[*operating_version, *max_version]);
                put(&sequence.to_be_bytes());
                put(&acknowledged.to_be_bytes());
                1
            }
            Cee::PriorityGroups(feature, groups) => {
                put(&feature.bytes());
                put(&groups.bytes());
                2
            }
            Cee::Pfc { feature, enabled, capability } => {
                put(&feature.bytes());
                put(&[*enabled, *capability]);
                3
            }
            Cee::Applications(feature, table) => {
                put(&feature.bytes());
                put(table.0);
                4
            }
            Cee::Other(tlv) => {
                put(tlv.value);
                tlv.kind
            }
        }
    }
}
