//! The value of a field to text.

use core::fmt;

use super::digits::{self, Sink};
use super::head::Head;
use super::scope::{self, NetKind, Region};
use super::value::{ECN, Given};
use crate::code::{NakCode, RnrTimer};
use crate::field::{Field, Kind, Value};
use crate::number::{Psn, RKey};

/// Longest bytes that are never cut short.
pub(super) const SHORT: usize = 16;
/// How far outside of its region an address may lie and still be named by it, in bytes.
const NEAR: u64 = 0x1_0000;

/// What numbers are shown by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) origin: Psn,
    pub(super) regions: &'n [Region<'n>],
    /// Remote key of the packet: tells regions apart that share addresses.
    pub(super) rkey: Option<RKey>,
    /// PSNs as they are.
    pub(super) absolute: bool,
    /// Long bytes by their length and CRC-32.
    pub(super) elided: bool,
}

impl Names<'_> {
    /// Writes the value alone, without the field's name.
    pub(super) fn write(&self, f: &mut impl Sink, kind: Kind, value: Value<'_>) -> fmt::Result {
        match (kind, value) {
            (_, Value::Mac(mac)) => f.ascii(&mac.text()),
            (_, Value::V4(address)) => digits::v4(f, address),
            (_, Value::V6(address)) => write!(f, "{address}"),
            (Kind::Payload, Value::Bytes(bytes)) => match Pattern::of(bytes) {
                Some(pattern) => pattern.write(f, bytes.len()),
                None => self.bytes(f, bytes),
            },
            (_, Value::Bytes(bytes)) => self.bytes(f, bytes),
            (Kind::Psn, Value::Uint(psn)) if self.absolute => {
                f.write_str("@")?;
                digits::hex(f, psn, 6)
            }
            (Kind::Psn, Value::Uint(psn)) => {
                let distance = Psn::new(psn as u32).since(self.origin);
                if distance < 0 {
                    f.write_str("-")?;
                }
                digits::decimal(f, distance.unsigned_abs().into())
            }
            (Kind::Hex(_) | Kind::Qpn, Value::Uint(number)) => digits::hex(f, number, 1),
            (Kind::RKey, Value::Uint(rkey)) => self.rkey(f, RKey::new(rkey as u32)),
            (Kind::Va, Value::Uint(va)) => self.va(f, va),
            (Kind::RnrTimer, Value::Uint(code)) => {
                let micros = RnrTimer::new(code as u8).duration().as_micros();
                let (whole, fraction) = (micros / 1000, micros % 1000 / 10);
                match (fraction, fraction % 10) {
                    (0, _) => write!(f, "{whole}ms"),
                    (_, 0) => write!(f, "{whole}.{}ms", fraction / 10),
                    _ => write!(f, "{whole}.{fraction:02}ms"),
                }
            }
            (Kind::NakCode, Value::Uint(code)) => match NakCode::new(code as u8).name() {
                Some(name) => f.write_str(name),
                None => digits::decimal(f, code),
            },
            (Kind::Ecn, Value::Uint(bits)) => f.write_str(ECN[bits as usize & 3]),
            (_, Value::Uint(number)) => digits::decimal(f, number),
        }
    }

    fn rkey(&self, f: &mut impl Sink, rkey: RKey) -> fmt::Result {
        match self.keyed(rkey) {
            Some(region) => {
                f.write_str(region.name)?;
                offset(f, i64::from(rkey.get()) - i64::from(region.rkey.get()))
            }
            None => digits::hex(f, rkey.get().into(), 1),
        }
    }

    fn va(&self, f: &mut impl Sink, va: u64) -> fmt::Result {
        let holds = |region: &Region<'_>| va.wrapping_sub(region.va) < region.len;
        let is_near =
            |region: &Region<'_>| va.wrapping_sub(region.va.wrapping_sub(NEAR)) <= region.len.saturating_add(2 * NEAR);
        let keyed = self.rkey.and_then(|rkey| self.keyed(rkey));
        let region = (keyed.filter(|region| holds(region)))
            .or_else(|| self.named().find(|region| holds(region)))
            .or_else(|| keyed.filter(|region| is_near(region)));
        match region {
            Some(region) => {
                f.write_str(region.name)?;
                offset(f, va.wrapping_sub(region.va) as i64)
            }
            None => digits::hex(f, va, 1),
        }
    }

    /// The region that the key is for. Its low byte is the owner's to choose: a key that differs there alone is a wrong
    /// key for the same region, and so is one that is off by less than that byte holds.
    fn keyed(&self, rkey: RKey) -> Option<&Region<'_>> {
        let index = |rkey: RKey| rkey.get() >> 8;
        let same_index = || self.named().find(|region| index(region.rkey) == index(rkey) && index(rkey) != 0);
        let close = |region: &&Region<'_>| region.rkey.get().abs_diff(rkey.get()) < 0x100 && index(region.rkey) != 0;
        self.named().find(|region| region.rkey == rkey).or_else(same_index).or_else(|| self.named().find(close))
    }

    /// Regions whose names read back as themselves.
    fn named(&self) -> impl Iterator<Item = &Region<'_>> {
        let first = |region: &Region<'_>| scope::named(self.regions, region.name).is_some_and(|found| found == region);
        self.regions.iter().filter(move |region| scope::is_name(region.name) && first(region))
    }

    pub(super) fn bytes(&self, f: &mut impl Sink, bytes: &[u8]) -> fmt::Result {
        if bytes.is_empty() {
            return f.write_str("none");
        }
        if self.elided && bytes.len() > SHORT {
            return write!(f, "{}B~{:08x}", bytes.len(), crc32fast::hash(bytes));
        }
        digits::pairs(f, bytes)
    }

    /// Writes a field as a word of the line.
    pub(super) fn word(&self, f: &mut impl Sink, field: &Field, given: Given<'_>) -> fmt::Result {
        match given {
            Given::Exactly(Value::Uint(1)) if field.kind == Kind::Flag => return f.write_str(field.name),
            Given::Exactly(Value::Bytes(bytes)) if field.kind == Kind::Payload => {
                if let Some(pattern) = Pattern::of(bytes) {
                    return pattern.write(f, bytes.len());
                }
                if self.elided && bytes.len() > SHORT {
                    return self.bytes(f, bytes);
                }
            }
            Given::Length(_) | Given::Digest(..) if field.kind == Kind::Payload => {
                return self.given(f, field.kind, given);
            }
            _ => {}
        }
        f.write_str(field.name)?;
        f.write_str("=")?;
        self.given(f, field.kind, given)
    }

    /// Writes what stands behind `name=`.
    pub(super) fn given(&self, f: &mut impl Sink, kind: Kind, given: Given<'_>) -> fmt::Result {
        match given {
            Given::Exactly(value) => self.write(f, kind, value),
            Given::Range(first, last) => {
                self.write(f, kind, Value::Uint(first))?;
                f.write_str("..")?;
                self.write(f, kind, Value::Uint(last))
            }
            Given::Present => f.write_str("*"),
            Given::Length(len) => write!(f, "{len}B=*"),
            Given::Digest(len, crc) => write!(f, "{len}B~{crc:08x}"),
            Given::Icrc(fault) => f.write_str(fault.word()),
            Given::Late(late) => f.write_str(late.words().1),
        }
    }
}

/// Writes `+0x40`, `-1` or nothing.
fn offset(f: &mut impl Sink, offset: i64) -> fmt::Result {
    let sign = if offset < 0 { '-' } else { '+' };
    match offset.unsigned_abs() {
        0 => Ok(()),
        digit @ 1..10 => write!(f, "{sign}{digit}"),
        number => write!(f, "{sign}{number:#x}"),
    }
}

/// The bytes that count from 0.
static COUNT: [u8; 256] = {
    let mut count = [0; 256];
    let mut at = 0;
    while at < 256 {
        count[at] = at as u8;
        at += 1;
    }
    count
};

/// A pattern that a payload can have.
enum Pattern {
    /// The bytes count from 0.
    Count,
    /// All are this one.
    Same(u8),
}

impl Pattern {
    fn of(bytes: &[u8]) -> Option<Pattern> {
        if bytes.chunks(COUNT.len()).all(|chunk| *chunk == COUNT[..chunk.len()]) {
            return Some(Pattern::Count);
        }
        let [first, rest @ ..] = bytes else { return None };
        (*rest == bytes[..rest.len()]).then_some(Pattern::Same(*first))
    }

    /// Writes a payload of `len` bytes.
    fn write(&self, f: &mut impl Sink, len: usize) -> fmt::Result {
        digits::decimal(f, len as u64)?;
        match self {
            Pattern::Count => f.write_str("B"),
            Pattern::Same(byte) => {
                f.write_str("B=")?;
                digits::pairs(f, &[*byte])
            }
        }
    }
}

/// A part of a [`Mismatch`](super::Mismatch), as the notation writes it: `3`, `mr+0x40`, `psn_sequence_error`.
#[derive(Clone, Copy)]
pub struct Text<'m> {
    pub(super) what: What<'m>,
    pub(super) names: Names<'m>,
}

/// What a [`Text`] shows.
#[derive(Clone, Copy)]
pub(super) enum What<'m> {
    Absent,
    Head(Head),
    Net(NetKind),
    Tags(usize),
    Field(&'static Field, Given<'m>),
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Absent => f.write_str("none"),
            What::Head(head) => write!(f, "{head}"),
            What::Net(kind) => f.write_str(kind.word()),
            What::Tags(0) => f.write_str("untagged"),
            What::Tags(count) => write!(f, "{count} VLAN tag{}", if count == 1 { "" } else { "s" }),
            What::Field(field, given) => self.names.given(f, field.kind, given),
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
