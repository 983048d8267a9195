//! Fields that are numbers: the types that hold them, and macros that make a [`Field`](super::Field) of a place.

use crate::number::{Msn, PKey, Psn, QKey, Qpn, RKey};

use super::Kind;

/// A type that holds a number.
pub(super) trait Number: Copy {
    fn number(self) -> u64;
    /// From a number that fits.
    fn from_number(number: u64) -> Self;
}

macro_rules! plain {
    ($($type:ty)*) => {
        $(impl Number for $type {
            fn number(self) -> u64 {
                self.into()
            }
            fn from_number(number: u64) -> Self {
                number as $type
            }
        })*
    };
}

plain!(u8 u16 u32 u64);

impl Number for bool {
    fn number(self) -> u64 {
        self.into()
    }
    fn from_number(number: u64) -> Self {
        number == 1
    }
}

macro_rules! wrapped {
    ($($type:ident)*) => {
        $(impl Number for $type {
            fn number(self) -> u64 {
                self.get().into()
            }
            fn from_number(number: u64) -> Self {
                $type::new(number as _)
            }
        })*
    };
}

wrapped!(Psn Msn Qpn RKey QKey PKey);

/// True when the number fits into a field of this kind.
#[inline]
pub(super) fn fits(kind: Kind, value: u64) -> bool {
    let bits = match kind {
        Kind::Flag => 1,
        Kind::Decimal(bits) | Kind::Hex(bits) => bits,
        Kind::Psn | Kind::Qpn => 24,
        Kind::RKey => 32,
        Kind::RnrTimer | Kind::NakCode => 5,
        Kind::Ecn => 2,
        _ => 64,
    };
    bits == 64 || value >> bits == 0
}

/// `bits` bits of `number`, from bit `shift` on.
#[inline]
pub(super) fn part<N: Number>(number: N, shift: u8, bits: u8) -> u64 {
    number.number() >> shift & ((1 << bits) - 1)
}

/// Puts `value` in their place.
#[inline]
pub(super) fn set_part<N: Number>(number: &mut N, shift: u8, bits: u8, value: u64) {
    let mask = ((1 << bits) - 1) << shift;
    *number = N::from_number(number.number() & !mask | value << shift & mask);
}

/// A number. `$get` gives an `Option<u64>`, `$set` takes a `u64` that fits and gives an `Option<()>`.
macro_rules! number {
    ($name:expr, $kind:expr, $ordinary:expr, |$p:ident| $get:expr, |$q:ident, $v:ident| $set:expr) => {
        Field {
            name: $name,
            kind: $kind,
            ordinary: $ordinary,
            get: |packet| {
                #[inline]
                fn get($p: &Roce<'_>) -> Option<u64> {
                    $get
                }
                get(packet).map(Value::Uint)
            },
            set: |packet, value| {
                #[inline]
                fn set($q: &mut Roce<'_>, $v: u64) -> Option<()> {
                    $set
                }
                value.uint().filter(|value| fits($kind, *value)).and_then(|value| set(packet, value))
            },
        }
    };
}

/// A number of the BTH: `se`.
macro_rules! in_bth {
    ($name:literal, $kind:expr, $ordinary:expr, $member:ident) => {
        number!($name, $kind, $ordinary, |p| Some(p.bth.$member.number()), |p, v| {
            p.bth.$member = Number::from_number(v);
            Some(())
        })
    };
}

/// A number of an extension header: `Reth, reth.va`.
macro_rules! in_header {
    ($name:literal, $kind:expr, $ordinary:expr, $header:ident, $($member:tt).+) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| has(p, Header::$header).map(|()| p.ext.$($member).+.number()),
            |p, v| {
                has(p, Header::$header)?;
                p.ext.$($member).+ = Number::from_number(v);
                Some(())
            }
        )
    };
}

/// A number that the RETH and the AtomicETH both have.
macro_rules! in_reth_or_atomic {
    ($name:literal, $kind:expr, $ordinary:expr, $member:ident) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| {
                if has(p, Header::Reth).is_some() {
                    return Some(p.ext.reth.$member.number());
                }
                has(p, Header::AtomicEth).map(|()| p.ext.atomic.$member.number())
            },
            |p, v| {
                if has(p, Header::Reth).is_some() {
                    p.ext.reth.$member = Number::from_number(v);
                    return Some(());
                }
                has(p, Header::AtomicEth)?;
                p.ext.atomic.$member = Number::from_number(v);
                Some(())
            }
        )
    };
}

/// Some bits of the FETH: `$shift` and `$bits` name their place.
macro_rules! in_feth {
    ($name:literal, $shift:literal, $bits:literal) => {
        number!(
            $name,
            Kind::Hex($bits),
            Ordinary::Uint(0),
            |p| has(p, Header::Feth).map(|()| part(p.ext.feth.0, $shift, $bits)),
            |p, v| {
                has(p, Header::Feth)?;
                set_part(&mut p.ext.feth.0, $shift, $bits, v);
                Some(())
            }
        )
    };
}

/// A number of the UDP header.
macro_rules! in_udp {
    ($name:literal, $kind:expr, $ordinary:expr, $member:ident) => {
        number!($name, $kind, $ordinary, |p| p.udp.map(|udp| udp.$member.number()), |p, v| {
            p.udp.as_mut()?.$member = Number::from_number(v);
            Some(())
        })
    };
}

/// Some bits of a number of the IPv4 header.
macro_rules! in_v4 {
    ($name:literal, $kind:expr, $ordinary:expr, $member:ident, $shift:literal, $bits:literal) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| match &p.net {
                Net::V4(ip) => Some(part(ip.$member, $shift, $bits)),
                Net::V6(_) | Net::Grh(_) => None,
            },
            |p, v| {
                let Net::V4(ip) = &mut p.net else { return None };
                set_part(&mut ip.$member, $shift, $bits, v);
                Some(())
            }
        )
    };
}

/// A number that IPv4 and IPv6 (and the GRH) both have, perhaps under another name; or some bits of it.
macro_rules! in_ip {
    ($name:literal, $kind:expr, $ordinary:expr, $v4:ident / $v6:ident, $shift:literal, $bits:literal) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| Some(match &p.net {
                Net::V4(ip) => part(ip.$v4, $shift, $bits),
                Net::V6(ip) | Net::Grh(ip) => part(ip.$v6, $shift, $bits),
            }),
            |p, v| {
                match &mut p.net {
                    Net::V4(ip) => set_part(&mut ip.$v4, $shift, $bits, v),
                    Net::V6(ip) | Net::Grh(ip) => set_part(&mut ip.$v6, $shift, $bits, v),
                }
                Some(())
            }
        )
    };
}

/// Some bits of VLAN tag number `$at`.
macro_rules! in_tag {
    ($name:literal, $kind:expr, $ordinary:expr, $at:literal, $member:ident, $shift:literal, $bits:literal) => {
        number!($name, $kind, $ordinary, |p| p.eth.tags.get($at).map(|tag| part(tag.$member, $shift, $bits)), |p, v| {
            set_part(&mut tag(p, $at)?.$member, $shift, $bits, v);
            Some(())
        })
    };
}

pub(super) use {in_bth, in_feth, in_header, in_ip, in_reth_or_atomic, in_tag, in_udp, in_v4, number};
