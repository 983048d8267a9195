//! A packet to a line.

use core::fmt;

use super::head::Head;
use super::other;
use super::parse::UNTAGGED;
use super::scope::{NetKind, Scope};
use super::text::Names;
use super::value::{Given, IcrcFault};
use crate::field::{FIELDS, Field, Ordinary, Value};
use crate::frame::{Frame, Roce};
use crate::icrc;
use crate::number::RKey;

/// The line of a packet: what [`parse`](super::parse) reads back as the same packet in the same scope.
pub fn print<'p>(packet: &'p Roce<'_>, scope: &'p Scope<'_>) -> Printed<'p> {
    Printed { packet, scope, absolute: false, elided: false }
}

/// The line of a frame: of its packet, of a pause frame, or `raw` and its bytes.
pub fn print_frame<'p>(frame: &'p Frame<'_>, scope: &'p Scope<'_>) -> PrintedFrame<'p> {
    PrintedFrame { frame, scope, absolute: false, elided: false }
}

/// Displays as a line, see [`print`].
#[derive(Debug, Clone, Copy)]
pub struct Printed<'p> {
    packet: &'p Roce<'p>,
    scope: &'p Scope<'p>,
    absolute: bool,
    elided: bool,
}

/// Displays as a line, see [`print_frame`].
#[derive(Debug, Clone, Copy)]
pub struct PrintedFrame<'p> {
    frame: &'p Frame<'p>,
    scope: &'p Scope<'p>,
    absolute: bool,
    elided: bool,
}

macro_rules! options {
    ($name:ident) => {
        impl $name<'_> {
            /// For people: bytes that are long and have no pattern are shown as their number and their CRC-32,
            /// `1024B~1a2b3c4d`. Such a line can be expected, but not sent.
            #[must_use]
            pub fn elided(self) -> Self {
                $name { elided: true, ..self }
            }

            /// PSNs as they are, `psn=@0x123456`: for packets whose connection is not known.
            #[must_use]
            pub fn absolute(self) -> Self {
                $name { absolute: true, ..self }
            }
        }
    };
}

options!(Printed);
options!(PrintedFrame);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed { packet, scope, absolute, elided } = *self;
        let (head, kind) = (Head::of(packet), NetKind::of(&packet.net));
        write!(f, "{head}")?;
        if kind != NetKind::of(&scope.base.net) {
            write!(f, " {}", kind.word())?;
        }
        let untagged = packet.eth.tags.len() < scope.base.eth.tags.len();
        if untagged {
            write!(f, " {UNTAGGED}")?;
        }
        let start = scope.start(head, kind, untagged);
        let names = Names { origin: scope.origin(), regions: scope.regions, rkey: rkey(packet), absolute, elided };
        for field in FIELDS {
            if let Some(value) = (field.get)(packet)
                && is_written(field, packet, &start, value)
            {
                f.write_str(" ")?;
                names.word(f, field, relative(field, packet, value))?;
            }
        }
        Ok(())
    }
}

/// True when the value is not the ordinary one.
fn is_written(field: &Field, packet: &Roce<'_>, start: &Roce<'_>, value: Value<'_>) -> bool {
    match field.ordinary {
        Ordinary::Uint(number) => value != Value::Uint(number),
        Ordinary::Always => true,
        Ordinary::Shown(shown) => shown(packet),
        Ordinary::Opcode(ordinary) => value != ordinary(packet.bth.opcode),
        Ordinary::Derived(right) => value != right(packet),
        Ordinary::Base => match (field.get)(start) {
            Some(ordinary) => value != ordinary,
            // A tag that the base does not have: its id stands for it, the rest is 0.
            None => field.name.ends_with(".id") || value != Value::Uint(0),
        },
    }
}

/// The remote key that a packet names.
pub(super) fn rkey(packet: &Roce<'_>) -> Option<RKey> {
    let value = (Field::named("rkey")?.get)(packet)?;
    value.uint().map(|rkey| RKey::new(rkey as u32))
}

/// The value, or for an ICRC how it stands to the right one.
fn relative<'p>(field: &Field, packet: &Roce<'p>, value: Value<'p>) -> Given<'p> {
    if field.name != "icrc" {
        return Given::Exactly(value);
    }
    let right = icrc::compute(packet);
    let fault = IcrcFault::ALL.into_iter().find(|fault| fault.of(right) == packet.icrc);
    fault.map_or(Given::Exactly(value), Given::Icrc)
}

impl fmt::Display for PrintedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrintedFrame { frame, scope, absolute, elided } = *self;
        match frame {
            Frame::Roce(packet) => fmt::Display::fmt(&Printed { packet, scope, absolute, elided }, f),
            _ => {
                let names = Names { origin: scope.origin(), regions: &[], rkey: None, absolute, elided };
                other::print(f, frame, scope, &names)
            }
        }
    }
}
