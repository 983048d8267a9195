//! Type, length, value: 7 bits of type, 9 bits of length.

use core::fmt;

use super::Dcbx;
use crate::wire;

/// One TLV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tlv<'a> {
    /// Type, 7 bits.
    pub kind: u8,
    /// Value, at most 511 bytes.
    pub value: &'a [u8],
    /// Where it begins: in an LLDP frame from the start of the frame, in a CEE TLV from the first TLV inside.
    pub offset: usize,
}

/// A TLV whose length is larger than what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TlvError {
    /// Where the TLV begins, counted as in [`Tlv::offset`].
    pub offset: usize,
    /// Bytes that its length claims; its header where not even that fits.
    pub claimed: usize,
    /// Bytes that there are.
    pub available: usize,
}

impl fmt::Display for TlvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TlvError { offset, claimed, available } = self;
        write!(f, "TLV at byte {offset}: claims {claimed} bytes, but there are {available}")
    }
}

impl core::error::Error for TlvError {}

/// TLVs, one after the other. Each step goes on by two bytes or more, so the work is bounded by the bytes.
#[derive(Debug, Clone)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
    at: usize,
    /// Type 0 ends the list: so in a frame, not inside of another TLV.
    has_end: bool,
    done: bool,
}

impl<'a> Tlvs<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Tlvs { rest: bytes, at, has_end: true, done: false }
    }

    pub(super) fn inside(bytes: &'a [u8]) -> Self {
        Tlvs { rest: bytes, at: 0, has_end: false, done: false }
    }

    /// What has not been read: behind the end TLV, padding; from a TLV that does not fit, its bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, TlvError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.rest.is_empty() {
            return None;
        }
        let offset = self.at;
        let Some((header, behind)) = self.rest.split_at_checked(2) else {
            self.done = true;
            return Some(Err(TlvError { offset, claimed: 2, available: self.rest.len() }));
        };
        let header = wire::u16(header, 0);
        let (kind, len) = ((header >> 9) as u8, usize::from(header & 0x1ff));
        let Some((value, rest)) = behind.split_at_checked(len) else {
            self.done = true;
            return Some(Err(TlvError { offset, claimed: len, available: behind.len() }));
        };
        self.rest = rest;
        self.at += 2 + len;
        self.done = kind == 0 && self.has_end;
        Some(Ok(Tlv { kind, value, offset }))
    }
}

/// What a TLV says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TlvValue<'a> {
    /// Type 0: no more follow.
    End,
    /// Type 1: which device. Subtype 4 is a MAC address.
    ChassisId {
        /// What the id is.
        subtype: u8,
        /// The id.
        id: &'a [u8],
    },
    /// Type 2: which port. Subtype 3 is a MAC address, 5 an interface name, 7 local.
    PortId {
        /// What the id is.
        subtype: u8,
        /// The id.
        id: &'a [u8],
    },
    /// Type 3: seconds for which this holds; 0 takes it back.
    TimeToLive(u16),
    /// Type 4.
    PortDescription(&'a [u8]),
    /// Type 5.
    SystemName(&'a [u8]),
    /// Type 6.
    SystemDescription(&'a [u8]),
    /// Type 7: bit 2 bridge, bit 4 router, bit 7 station only.
    Capabilities {
        /// What the device can be.
        able: u16,
        /// What it is.
        enabled: u16,
    },
    /// Type 8, as it is.
    ManagementAddress(&'a [u8]),
    /// Type 127: of an organisation.
    Organization {
        /// Which one.
        oui: [u8; 3],
        /// Its own type.
        subtype: u8,
        /// The rest.
        info: &'a [u8],
    },
    /// Another type, or a length that the type does not have.
    Other(&'a [u8]),
}

impl<'a> Tlv<'a> {
    /// Takes the value apart.
    pub fn read(&self) -> TlvValue<'a> {
        let value = self.value;
        match (self.kind, value) {
            (0, []) => TlvValue::End,
            (1, [subtype, id @ ..]) => TlvValue::ChassisId { subtype: *subtype, id },
            (2, [subtype, id @ ..]) => TlvValue::PortId { subtype: *subtype, id },
            (3, [high, low]) => TlvValue::TimeToLive(u16::from_be_bytes([*high, *low])),
            (4, _) => TlvValue::PortDescription(value),
            (5, _) => TlvValue::SystemName(value),
            (6, _) => TlvValue::SystemDescription(value),
            (7, [_, _, _, _]) => TlvValue::Capabilities { able: wire::u16(value, 0), enabled: wire::u16(value, 2) },
            (8, _) => TlvValue::ManagementAddress(value),
            (127, [a, b, c, subtype, info @ ..]) => {
                TlvValue::Organization { oui: [*a, *b, *c], subtype: *subtype, info }
            }
            _ => TlvValue::Other(value),
        }
    }

    /// What it says about DCBX; `None` where that is nothing, or not understood.
    pub fn dcbx(&self) -> Option<Dcbx<'a>> {
        match self.read() {
            TlvValue::Organization { oui, subtype, info } => Dcbx::read(oui, subtype, info),
            _ => None,
        }
    }
}
