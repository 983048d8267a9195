//! Text to the value of a field.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::error::{NotationError, NotationErrorKind as Is, snippet};
use super::number::{self, number};
use super::scope::{self, NetKind, Scope};
use super::suggest;
use super::words::Word;
use crate::code::{NakCode, RnrTimer};
use crate::field::{Field, Kind, Value};
use crate::frame::Roce;
use crate::icrc;

/// What a line says of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given<'b> {
    /// This value.
    Exactly(Value<'b>),
    /// A value from the first to the last.
    Range(u64, u64),
    /// Any value; of bytes, at least one.
    Present,
    /// So many bytes.
    Length(usize),
    /// So many bytes with this CRC-32.
    Digest(usize, u32),
    /// Relative to the right ICRC.
    Icrc(IcrcFault),
    /// Worked out when the rest of the packet is there; in packets to send alone.
    Late(Late),
}

/// A value that follows from the whole packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// `icrc=stale`: that of the packet before somebody on the way wrote into its headers what the line says.
    StaleIcrc,
    /// `udp.checksum=right`.
    UdpChecksum,
}

impl Late {
    fn named(field: &str, word: &str) -> Option<Late> {
        [Late::StaleIcrc, Late::UdpChecksum].into_iter().find(|late| late.words() == (field, word))
    }

    /// The field and what stands behind it.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Late::StaleIcrc => ("icrc", "stale"),
            Late::UdpChecksum => ("udp.checksum", "right"),
        }
    }
}

/// How an ICRC stands to the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IcrcFault {
    Right,
    /// Complemented.
    Bad,
    /// Bytes in the opposite order.
    Swapped,
    /// With the polynomial of CRC-32C.
    Crc32c,
}

impl IcrcFault {
    pub(super) const ALL: [IcrcFault; 4] = [IcrcFault::Right, IcrcFault::Bad, IcrcFault::Swapped, IcrcFault::Crc32c];

    pub(super) fn word(self) -> &'static str {
        match self {
            IcrcFault::Right => "right",
            IcrcFault::Bad => "bad",
            IcrcFault::Swapped => "swapped",
            IcrcFault::Crc32c => "crc32c",
        }
    }

    /// The fault of a packet whose right ICRC is `right`, where it is one of these.
    pub(super) fn in_packet(packet: &Roce<'_>, right: u32) -> Option<IcrcFault> {
        IcrcFault::ALL.into_iter().find(|fault| fault.of(packet, right) == packet.icrc)
    }

    /// The value in a packet whose right ICRC is `right`.
    pub(super) fn of(self, packet: &Roce<'_>, right: u32) -> u32 {
        match self {
            IcrcFault::Right => right,
            IcrcFault::Bad => !right,
            IcrcFault::Swapped => right.swap_bytes(),
            IcrcFault::Crc32c => icrc::crc32c(packet),
        }
    }
}

/// Names of the congestion bits, by their value.
pub(super) const ECN: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// The caller's buffer, given away piece by piece.
pub(super) struct Arena<'b>(pub(super) &'b mut [u8]);

impl<'b> Arena<'b> {
    pub(super) fn take(&mut self, len: usize, word: Word<'_>) -> Result<&'b mut [u8], NotationError> {
        let available = self.0.len();
        if len > available {
            return Err(Is::Buffer { available }.at(word.span()));
        }
        let (taken, rest) = core::mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        Ok(taken)
    }

    /// The bytes that pairs of hex digits stand for, or `none`.
    fn hex(&mut self, word: Word<'_>) -> Result<&'b [u8], NotationError> {
        if word.text == "none" {
            return Ok(&[]);
        }
        let len = number::hex_len(word.text).ok_or_else(|| Is::Hex.at(word.span()))?;
        let bytes = self.take(len, word)?;
        number::write_hex(word.text, bytes);
        Ok(bytes)
    }
}

/// Reads what stands behind `name=`.
pub(super) fn read<'b>(
    field: &'static Field,
    word: Word<'_>,
    scope: &Scope<'_>,
    kind: NetKind,
    arena: &mut Arena<'b>,
) -> Result<Given<'b>, NotationError> {
    if word.text == "*" {
        return Ok(Given::Present);
    }
    if field.name == "icrc"
        && let Some(fault) = IcrcFault::ALL.into_iter().find(|fault| fault.word() == word.text)
    {
        return Ok(Given::Icrc(fault));
    }
    if let Some(late) = Late::named(field.name, word.text) {
        return Ok(Given::Late(late));
    }
    if let Some((first, last)) = word.split_once("..") {
        if !has_ranges(field.kind) {
            return Err(Is::NoRange { field: field.name }.at(word.span()));
        }
        let (first, last) = (scalar(field, first, scope)?, scalar(field, last, scope)?);
        if modulus(field.kind).is_none() && rank(field.kind, first) > rank(field.kind, last) {
            return Err(Is::Backwards.at(word.span()));
        }
        return Ok(Given::Range(first, last));
    }
    let wrong = || Is::Value { field: field.name, kind: field.kind }.at(word.span());
    Ok(Given::Exactly(match field.kind {
        Kind::Mac => Value::Mac(word.text.parse().map_err(|()| wrong())?),
        Kind::Address if kind == NetKind::V4 => Value::V4(word.text.parse::<Ipv4Addr>().map_err(|_| wrong())?),
        Kind::Address => Value::V6(word.text.parse::<Ipv6Addr>().map_err(|_| wrong())?),
        Kind::Bytes | Kind::Payload => {
            if is_digest(word.text) {
                return digest(word);
            }
            Value::Bytes(arena.hex(word)?)
        }
        _ => Value::Uint(scalar(field, word, scope)?),
    }))
}

/// Reads a payload by its length: `64B`, `64B=aa`, `64B=*`, `64B~1a2b3c4d`.
pub(super) fn payload<'b>(field: &Field, word: Word<'_>, arena: &mut Arena<'b>) -> Result<Given<'b>, NotationError> {
    if is_digest(word.text) {
        return digest(word);
    }
    let wrong = || Is::Value { field: field.name, kind: field.kind }.at(word.span());
    let (len, fill) = match word.split_once("=") {
        Some((len, fill)) => (len, Some(fill)),
        None => (word, None),
    };
    let count = len.text.strip_suffix('B').and_then(number).and_then(|len| usize::try_from(len).ok());
    let count = count.ok_or_else(wrong)?;
    let fill = match fill {
        Some(fill) if fill.text == "*" => return Ok(Given::Length(count)),
        Some(fill) if number::hex_len(fill.text) == Some(1) => {
            let mut byte = [0];
            number::write_hex(fill.text, &mut byte);
            Some(byte[0])
        }
        Some(fill) => return Err(Is::Hex.at(fill.span())),
        None => None,
    };
    let bytes = arena.take(count, len)?;
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = fill.unwrap_or(at as u8);
    }
    Ok(Given::Exactly(Value::Bytes(bytes)))
}

fn is_digest(text: &str) -> bool {
    text.contains("B~")
}

/// Reads `64B~1a2b3c4d`.
fn digest<'b>(word: Word<'_>) -> Result<Given<'b>, NotationError> {
    let read = || {
        let (len, crc) = word.text.split_once("B~")?;
        let mut bytes = [0; 4];
        (number::hex_len(crc) == Some(4)).then(|| number::write_hex(crc, &mut bytes))?;
        Some(Given::Digest(usize::try_from(number(len)?).ok()?, u32::from_be_bytes(bytes)))
    };
    read().ok_or_else(|| Is::Hex.at(word.span()))
}

/// Reads one number of a field, whatever it is written as.
fn scalar(field: &Field, word: Word<'_>, scope: &Scope<'_>) -> Result<u64, NotationError> {
    let text = word.text;
    let read = match field.kind {
        Kind::Flag => number(text).filter(|number| *number < 2),
        Kind::Decimal(bits) | Kind::Hex(bits) => number(text).filter(|number| bits == 64 || number >> bits == 0),
        Kind::Qpn => number(text).filter(|number| number >> 24 == 0),
        Kind::Psn => psn(text, scope),
        Kind::RKey => {
            return region(field, word, scope, |region| u64::from(region.rkey.get()), 32);
        }
        Kind::Va => return region(field, word, scope, |region| region.va, 64),
        Kind::RnrTimer => match text.strip_prefix('#') {
            Some(code) => number(code).filter(|code| *code < 32),
            None => number::duration(text).and_then(RnrTimer::from_duration).map(|code| u64::from(code.get())),
        },
        Kind::NakCode => {
            let named = NakCode::from_name(text).map(|code| u64::from(code.get()));
            named.or_else(|| number(text).filter(|code| *code < 32))
        }
        Kind::Ecn => {
            let named = ECN.iter().position(|name| *name == text).map(|bits| bits as u64);
            named.or_else(|| number(text).filter(|bits| *bits < 4))
        }
        Kind::Mac | Kind::Address | Kind::Bytes | Kind::Payload => None,
    };
    read.ok_or_else(|| Is::Value { field: field.name, kind: field.kind }.at(word.span()))
}

fn psn(text: &str, scope: &Scope<'_>) -> Option<u64> {
    let within = |number: &u64| number >> 24 == 0;
    if let Some(absolute) = text.strip_prefix('@') {
        return number(absolute).filter(within);
    }
    let origin = scope.origin();
    let psn = match text.strip_prefix('-') {
        Some(back) => origin.minus(number(back).filter(within)? as u32),
        None => origin.plus(number(text).filter(within)? as u32),
    };
    Some(u64::from(psn.get()))
}

/// Reads a number, or a region's with an offset.
fn region(
    field: &Field,
    word: Word<'_>,
    scope: &Scope<'_>,
    start: impl Fn(&super::Region<'_>) -> u64,
    bits: u32,
) -> Result<u64, NotationError> {
    let wrong = || Is::Value { field: field.name, kind: field.kind }.at(word.span());
    let mask = u64::MAX >> (64 - bits);
    let name = &word.text[..word.text.find(['+', '-']).unwrap_or(word.text.len())];
    if !scope::is_name(name) {
        return number(word.text).filter(|number| number & !mask == 0).ok_or_else(wrong);
    }
    let Some(region) = scope::named(scope.regions, name) else {
        let near = suggest::nearest(name, scope.regions.iter().map(|region| region.name)).map(snippet);
        return Err(Is::UnknownRegion { word: snippet(name), near }.at(word.at..word.at + name.len()));
    };
    let offset = &word.text[name.len()..];
    let value = match (offset.strip_prefix('+'), offset.strip_prefix('-')) {
        (Some(on), _) => start(region).wrapping_add(number(on).ok_or_else(wrong)?),
        (_, Some(back)) => start(region).wrapping_sub(number(back).ok_or_else(wrong)?),
        _ => start(region),
    };
    Ok(value & mask)
}

fn has_ranges(kind: Kind) -> bool {
    matches!(kind, Kind::Decimal(_) | Kind::Hex(_) | Kind::Psn | Kind::Qpn | Kind::Va | Kind::RnrTimer)
}

/// Sequence numbers have no end: a range of theirs wraps. PSN and MSN are the ones.
pub(super) fn modulus(kind: Kind) -> Option<u64> {
    matches!(kind, Kind::Psn | Kind::Decimal(24)).then_some(1 << 24)
}

/// What ranges go by: timers by their time, since code 0 is the longest.
pub(super) fn rank(kind: Kind, value: u64) -> u64 {
    match kind {
        Kind::RnrTimer => RnrTimer::new(value as u8).duration().as_micros() as u64,
        _ => value,
    }
}

/// True when `value` lies in the range.
pub(super) fn in_range(kind: Kind, value: u64, first: u64, last: u64) -> bool {
    match modulus(kind) {
        Some(modulus) => value.wrapping_sub(first) % modulus <= last.wrapping_sub(first) % modulus,
        None => (rank(kind, first)..=rank(kind, last)).contains(&rank(kind, value)),
    }
}
