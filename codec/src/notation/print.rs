//! A packet to a line.

use core::fmt::{self, Write};

use super::digits::Gather;
use super::head::Head;
use super::other;
use super::parse::UNTAGGED;
use super::scope::{NetKind, Scope};
use super::text::Names;
use super::value::{Given, IcrcFault};
use crate::ext::Header;
use crate::field::{Each, FIELDS, Field, Ordinary, Value, unrolled};
use crate::frame::{Frame, Roce};
use crate::icrc;
use crate::number::RKey;

/// The line of a packet: what [`parse`](super::parse) reads back as the same packet in the same scope.
pub fn print<'p>(packet: &'p Roce<'_>, scope: &'p Scope<'_>) -> Printed<'p> {
    Printed { packet, scope, absolute: false, elided: false, right_icrc: None }
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
    right_icrc: Option<u32>,
}

impl Printed<'_> {
    /// The ICRC that belongs to the packet, from a caller who has computed it already: it is not computed again.
    #[must_use]
    pub fn with_right_icrc(self, icrc: u32) -> Self {
        Printed { right_icrc: Some(icrc), ..self }
    }
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
        let Printed { packet, scope, absolute, elided, right_icrc } = *self;
        let (head, kind) = (Head::of(packet), NetKind::of(&packet.net));
        let f = &mut Gather::new(f);
        head.write(f)?;
        if kind != NetKind::of(&scope.base.net) {
            f.write_str(" ")?;
            f.write_str(kind.word())?;
        }
        let untagged = packet.eth.tags.len() < scope.base.eth.tags.len();
        if untagged {
            f.write_str(" ")?;
            f.write_str(UNTAGGED)?;
        }
        let base = scope.like_base(head.opcode, kind, untagged);
        let right_icrc = right_icrc.unwrap_or_else(|| icrc::compute(packet));
        let written = written(packet, &base, right_icrc);
        let names = Names { origin: scope.origin(), regions: scope.regions, rkey: rkey(packet), absolute, elided };
        for field in set(written) {
            if let Some(value) = (field.get)(packet) {
                f.write_str(" ")?;
                names.word(f, field, given(packet, field, value, right_icrc))?;
            }
        }
        f.flush()
    }
}

const ICRC: &str = "icrc";

/// The value as the line gives it: an ICRC by what is wrong with it.
pub(super) fn given<'v>(packet: &Roce<'_>, field: &Field, value: Value<'v>, right_icrc: u32) -> Given<'v> {
    let fault = if field.name == ICRC { IcrcFault::in_packet(packet, right_icrc) } else { None };
    fault.map_or(Given::Exactly(value), Given::Icrc)
}

/// The fields that the line says: a bit for each, by its place in [`FIELDS`].
#[inline]
pub(super) fn written(packet: &Roce<'_>, base: &Roce<'_>, right_icrc: u32) -> u128 {
    let mut written = Written { packet, base, right_icrc, fields: 0 };
    unrolled(&mut written);
    written.fields
}

/// The fields whose bits are set.
fn set(mut left: u128) -> impl Iterator<Item = &'static Field> {
    core::iter::from_fn(move || {
        let at = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        FIELDS.get(at)
    })
}

/// Finds the fields that the line says.
struct Written<'w> {
    packet: &'w Roce<'w>,
    base: &'w Roce<'w>,
    right_icrc: u32,
    /// A bit for each, by its place in [`FIELDS`].
    fields: u128,
}

const _: () = assert!(FIELDS.len() <= 128);

impl Each for Written<'_> {
    #[inline(always)]
    fn field(&mut self, at: usize, field: &'static Field) {
        let is_written = match (field.get)(self.packet) {
            Some(_) if field.name == ICRC => self.packet.icrc != self.right_icrc,
            Some(value) => is_written(field, self.packet, self.base, value),
            None => false,
        };
        self.fields |= u128::from(is_written) << at;
    }
}

/// True when the value is not the ordinary one.
#[inline(always)]
fn is_written(field: &Field, packet: &Roce<'_>, base: &Roce<'_>, value: Value<'_>) -> bool {
    match field.ordinary {
        Ordinary::Uint(number) => value != Value::Uint(number),
        Ordinary::Always => true,
        Ordinary::Shown(shown) => shown(packet),
        Ordinary::Opcode(ordinary) => value != ordinary(packet.bth.opcode),
        Ordinary::Derived(right) => value != right(packet),
        Ordinary::Base => match (field.get)(base) {
            Some(ordinary) => value != ordinary,
            // A tag that the base does not have: its id stands for it, the rest is 0.
            None => field.name.ends_with(".id") || value != Value::Uint(0),
        },
    }
}

/// The remote key that a packet names.
pub(super) fn rkey(packet: &Roce<'_>) -> Option<RKey> {
    match packet.bth.opcode {
        opcode if opcode.has(Header::Reth) => Some(packet.ext.reth.rkey),
        opcode if opcode.has(Header::AtomicEth) => Some(packet.ext.atomic.rkey),
        _ => None,
    }
}

impl fmt::Display for PrintedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrintedFrame { frame, scope, absolute, elided } = *self;
        match frame {
            Frame::Roce(packet) => fmt::Display::fmt(&Printed { packet, scope, absolute, elided, right_icrc: None }, f),
            _ => {
                let names = Names { origin: scope.origin(), regions: &[], rkey: None, absolute, elided };
                other::print(f, frame, scope, &names)
            }
        }
    }
}
