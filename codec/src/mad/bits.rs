//! Fields by their place: so many bits from a bit of a byte on, the highest bit of a byte first.

use core::net::Ipv6Addr;

use crate::field::{Kind, Value};
use crate::number::{PKey, Psn, QKey, Qpn};

/// A field of a message: where it stands, and how to show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadField {
    /// Its name: that of the member.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Where it begins, in bits from the start of the data, the highest bit of a byte first.
    pub at: usize,
    /// Bits.
    pub len: usize,
}

impl MadField {
    /// Its value in the data of a message; `None` where the data is too short.
    pub fn get<'a>(&self, data: &'a [u8]) -> Option<Value<'a>> {
        if self.at + self.len > data.len() * 8 {
            return None;
        }
        Some(match self.kind {
            Kind::Bytes => Value::Bytes(&data[self.at / 8..(self.at + self.len) / 8]),
            Kind::Address => Value::V6(Ipv6Addr::from(get(data, self.at, self.len))),
            _ => Value::Uint(get(data, self.at, self.len) as u64),
        })
    }
}

/// What stands in some bits.
pub(super) trait Bits: Copy {
    fn from_bits(bits: u128) -> Self;
    fn bits(self) -> u128;
    /// How it is shown.
    const SHAPE: Shape;
}

/// A [`Kind`] without its width.
pub(super) enum Shape {
    Decimal,
    Hex,
    Flag,
    Address,
    Psn,
    Qpn,
}

impl Shape {
    pub(super) const fn kind(self, len: usize) -> Kind {
        match self {
            Shape::Decimal => Kind::Decimal(len as u8),
            Shape::Hex => Kind::Hex(len as u8),
            Shape::Flag => Kind::Flag,
            Shape::Address => Kind::Address,
            Shape::Psn => Kind::Psn,
            Shape::Qpn => Kind::Qpn,
        }
    }
}

macro_rules! plain {
    ($($type:ty: $kind:ident)*) => {
        $(impl Bits for $type {
            fn from_bits(bits: u128) -> Self {
                bits as $type
            }
            fn bits(self) -> u128 {
                self.into()
            }
            const SHAPE: Shape = Shape::$kind;
        })*
    };
}

plain!(u8: Decimal u16: Hex u32: Hex u64: Hex);

impl Bits for bool {
    fn from_bits(bits: u128) -> Self {
        bits == 1
    }
    fn bits(self) -> u128 {
        self.into()
    }
    const SHAPE: Shape = Shape::Flag;
}

impl Bits for Ipv6Addr {
    fn from_bits(bits: u128) -> Self {
        bits.into()
    }
    fn bits(self) -> u128 {
        self.into()
    }
    const SHAPE: Shape = Shape::Address;
}

macro_rules! wrapped {
    ($($type:ident: $shape:ident)*) => {
        $(impl Bits for $type {
            fn from_bits(bits: u128) -> Self {
                $type::new(bits as _)
            }
            fn bits(self) -> u128 {
                self.get().into()
            }
            const SHAPE: Shape = Shape::$shape;
        })*
    };
}

wrapped!(Psn: Psn Qpn: Qpn QKey: Hex PKey: Hex);

/// Reads `len` bits, at most 128, from bit `at` on.
pub(super) fn get(data: &[u8], at: usize, len: usize) -> u128 {
    (at..at + len).fold(0, |bits, at| bits << 1 | u128::from(data[at / 8] >> (7 - at % 8) & 1))
}

/// Writes them.
pub(super) fn set(data: &mut [u8], at: usize, len: usize, bits: u128) {
    for step in 0..len {
        let (at, bit) = (at + step, bits >> (len - 1 - step) & 1);
        let mask = 0x80 >> (at % 8);
        data[at / 8] = data[at / 8] & !mask | if bit == 1 { mask } else { 0 };
    }
}
