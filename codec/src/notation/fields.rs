//! A packet as its fields, each in the words of the notation.

use super::head::Head;
use super::print::{given, rkey, written};
use super::scope::{NetKind, Scope};
use super::text::{Names, Text, What};
use crate::field::{FIELDS, Field};
use crate::frame::Roce;
use crate::icrc;

/// A field of a packet, as the packet's line would say it.
#[derive(Debug, Clone, Copy)]
pub struct Said<'p> {
    /// The field.
    pub field: &'static Field,
    /// Its value alone; long bytes are cut short, see [`Printed::elided`](super::Printed::elided).
    pub value: Text<'p>,
    /// True when the line leaves it out, because it is what it is in every such packet on this path.
    pub ordinary: bool,
}

/// Every field that a packet has, in the order of [`FIELDS`]. Two packets, each in the scope of its own path, say the same
/// of a field when both leave it out, or when both write the same value.
pub fn fields<'p>(packet: &'p Roce<'p>, scope: &'p Scope<'_>) -> impl Iterator<Item = Said<'p>> {
    let head = Head::of(packet);
    let untagged = packet.eth.tags.len() < scope.base.eth.tags.len();
    let base = scope.like_base(head.opcode, NetKind::of(&packet.net), untagged);
    let right_icrc = icrc::compute(packet);
    let written = written(packet, &base, right_icrc);
    let names =
        Names { origin: scope.origin(), regions: scope.regions, rkey: rkey(packet), absolute: false, elided: true };
    FIELDS.iter().enumerate().filter_map(move |(at, field)| {
        let given = given(packet, field, (field.get)(packet)?, right_icrc);
        let value = Text { what: What::Field(field, given), names };
        Some(Said { field, value, ordinary: written >> at & 1 == 0 })
    })
}
