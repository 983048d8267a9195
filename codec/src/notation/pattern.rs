//! What a packet is expected to be.

use core::fmt;

use arrayvec::ArrayVec;

use super::error::{NotationError, NotationErrorKind as Is};
use super::head::Head;
use super::parse::{Opening, is_other};
use super::print::rkey;
use super::scope::{self, NetKind, Region, Scope};
use super::text::{Names, Text, What};
use super::value::{self, Arena, Given, IcrcFault};
use super::words::{Word, Words};
use crate::field::{Field, Kind, Value};
use crate::frame::Roce;
use crate::icrc;
use crate::number::Psn;
use crate::opcode::Opcode;

/// More than there are fields.
const MOST_CHECKS: usize = 96;
/// Regions that a pattern can show by name.
const MOST_REGIONS: usize = 4;

/// An expectation: what a line says of a packet, and nothing else.
#[derive(Debug, Clone)]
pub struct Pattern<'b> {
    head: Head,
    net: Option<NetKind>,
    /// How many VLAN tags there are to be, where `untagged` says that the line names all of them.
    tags: Option<usize>,
    checks: ArrayVec<Check<'b>, MOST_CHECKS>,
    origin: Psn,
    regions: ArrayVec<Region<'b>, MOST_REGIONS>,
}

#[derive(Debug, Clone, Copy)]
struct Check<'b> {
    field: &'static Field,
    want: Given<'b>,
}

/// Reads a packet that is to be seen: fields that are not written may hold any value.
///
/// Bytes of the line and the names of its regions go to `buffer`.
///
/// # Errors
/// The first part of the line that is not understood. A field that the packet cannot have is an error too.
pub fn parse_pattern<'b>(line: &str, scope: &Scope<'_>, buffer: &'b mut [u8]) -> Result<Pattern<'b>, NotationError> {
    if let Some(raw) = Words::new(line).next().filter(|first| is_other(first.text)) {
        return Err(Is::RawExpected.at(raw.span()));
    }
    let mut arena = Arena(buffer);
    let opening = Opening::read(line, scope)?;
    let mut packet = opening.start(scope);
    let mut checks = ArrayVec::new();
    let mut named = ArrayVec::<(Word<'_>, &Region<'_>), MOST_REGIONS>::new();
    opening.fields(scope, &mut arena, |field, want, word| {
        if matches!(want, Given::Late(_)) {
            return Err(Is::Value { field: field.name, kind: field.kind }.at(word.span()));
        }
        // A value that the field can hold tells whether the packet has the field.
        let probe = match want {
            Given::Exactly(value) => value,
            Given::Range(first, _) => Value::Uint(first),
            _ => (field.get)(&packet).unwrap_or(Value::Uint(0)),
        };
        opening.set(&mut packet, field, probe, word)?;
        if let Some((word, region)) = region(field, word, scope) {
            // A region too many is shown by its number.
            let _ = named.try_push((word, region));
        }
        checks.push(Check { field, want });
        Ok(())
    })?;
    let mut regions = ArrayVec::new();
    for (word, region) in named {
        // Without room for its name a region is shown by its numbers.
        let Ok(name) = arena.take(region.name.len(), word) else { break };
        name.copy_from_slice(region.name.as_bytes());
        let name = core::str::from_utf8(name).expect("copied from text");
        regions.push(Region { name, ..*region });
    }
    let Opening { head, net, untagged, .. } = opening;
    let tags = untagged.then(|| packet.eth.tags.len());
    Ok(Pattern { head, net, tags, checks, origin: scope.origin(), regions })
}

/// The region that a word names.
fn region<'l, 'r, 's>(field: &Field, word: Word<'l>, scope: &'r Scope<'s>) -> Option<(Word<'l>, &'r Region<'s>)> {
    if !matches!(field.kind, Kind::Va | Kind::RKey) {
        return None;
    }
    let value = word.text.split_once('=')?.1;
    let name = value.split(['+', '-', '.']).next()?;
    Some((word, scope::named(scope.regions, name)?))
}

impl Pattern<'_> {
    /// The opcode that is expected.
    pub fn opcode(&self) -> Opcode {
        self.head.opcode
    }

    /// The PSN that is expected, the first one of a range; `None` where any is right.
    pub fn first_psn(&self) -> Option<Psn> {
        let check = self.checks.iter().find(|check| check.field.kind == Kind::Psn)?;
        match check.want {
            Given::Exactly(Value::Uint(psn)) | Given::Range(psn, _) => Some(Psn::new(psn as u32)),
            _ => None,
        }
    }

    /// True when the opcode is the expected one and, for an acknowledgement, so is the class of its syndrome: the rest
    /// of a mismatch is then in the fields.
    pub fn same_kind(&self, packet: &Roce<'_>) -> bool {
        self.head.fits(packet)
    }

    /// The first thing that is not as expected, in the order: kind of packet, network, tags, fields as they are
    /// written. `None` when the packet is as expected.
    pub fn mismatch<'m>(&'m self, packet: &'m Roce<'_>) -> Option<Mismatch<'m>> {
        self.wrong_fields(packet).next()
    }

    /// Everything that is not as expected.
    pub fn wrong_fields<'m>(&'m self, packet: &'m Roce<'_>) -> impl Iterator<Item = Mismatch<'m>> {
        let packet: &'m Roce<'m> = packet;
        let names =
            Names { origin: self.origin, regions: &self.regions, rkey: rkey(packet), absolute: false, elided: true };
        let text = move |what| Text { what, names };
        let differ =
            move |name, field, expected, seen| Mismatch { name, field, expected: text(expected), seen: text(seen) };
        let head = (!self.same_kind(packet))
            .then(|| differ("packet", None, What::Head(self.head), What::Head(Head::of(packet))));
        let seen = NetKind::of(&packet.net);
        let net =
            (self.net.filter(|net| *net != seen)).map(|net| differ("network", None, What::Net(net), What::Net(seen)));
        let count = packet.eth.tags.len();
        let tags = (self.tags.filter(|tags| *tags != count))
            .map(|tags| differ("tags", None, What::Tags(tags), What::Tags(count)));
        let fields = self.checks.iter().filter_map(move |check| {
            let Check { field, want } = *check;
            let value = (field.get)(packet);
            if value.is_some_and(|value| holds(want, field.kind, value, packet)) {
                return None;
            }
            let seen = value.map_or(What::Absent, |value| What::Field(field, shown(want, value, packet)));
            Some(differ(field.name, Some(field), What::Field(field, want), seen))
        });
        head.into_iter().chain(net).chain(tags).chain(fields)
    }
}

/// True when the value is one that is wanted.
fn holds(want: Given<'_>, kind: Kind, value: Value<'_>, packet: &Roce<'_>) -> bool {
    match want {
        Given::Exactly(wanted) => wanted == value,
        Given::Range(first, last) => value.uint().is_some_and(|value| value::in_range(kind, value, first, last)),
        Given::Present => value.bytes().is_none_or(|bytes| !bytes.is_empty()),
        Given::Length(len) => value.bytes().is_some_and(|bytes| bytes.len() == len),
        Given::Digest(len, crc) => {
            value.bytes().is_some_and(|bytes| bytes.len() == len && crc32fast::hash(bytes) == crc)
        }
        Given::Icrc(fault) => packet.icrc == fault.of(packet, icrc::compute(packet)),
        // Refused when the pattern was read.
        Given::Late(_) => false,
    }
}

/// The value, said in the way in which another is wanted.
fn shown<'p>(want: Given<'_>, value: Value<'p>, packet: &Roce<'_>) -> Given<'p> {
    match (want, value) {
        (Given::Length(_), Value::Bytes(bytes)) => Given::Length(bytes.len()),
        (Given::Icrc(_), _) => {
            let fault = IcrcFault::in_packet(packet, icrc::compute(packet));
            fault.map_or(Given::Exactly(value), Given::Icrc)
        }
        _ => Given::Exactly(value),
    }
}

/// Something that is not as expected. Displays as `expected psn=3, saw psn=4`.
#[derive(Debug, Clone, Copy)]
pub struct Mismatch<'m> {
    /// Name of the field; `packet` for the first word, `network` for `v4`, `v6` and `v1`, `tags` for `untagged`.
    pub name: &'static str,
    /// The field; `None` where a word that is no field differs.
    pub field: Option<&'static Field>,
    /// What was expected: the value alone.
    pub expected: Text<'m>,
    /// What the packet holds: the value alone; `none` where it does not have the field.
    pub seen: Text<'m>,
}

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        self.expected.write_word(f)?;
        f.write_str(", saw ")?;
        match (self.seen.what, self.field) {
            (What::Absent, Some(field)) => write!(f, "no {}", field.name),
            _ => self.seen.write_word(f),
        }
    }
}

impl Text<'_> {
    /// With the name of its field.
    fn write_word(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Field(field, Given::Exactly(Value::Uint(0))) if field.kind == Kind::Flag => {
                write!(f, "{}=0", field.name)
            }
            What::Field(field, given) => self.names.word(f, field, given),
            _ => write!(f, "{self}"),
        }
    }
}
