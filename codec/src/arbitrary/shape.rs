//! Well-formed packets of each opcode and network.

use crate::ext::Header;
use crate::field::{Field, Ordinary, Value, complete};
use crate::frame::Roce;
use crate::notation::{Line, Scope, parse};
use crate::opcode::{Opcode, PayloadRule, Position};

/// What carries a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// RoCE v2 over IPv4.
    V4,
    /// RoCE v2 over IPv6.
    V6,
    /// RoCE v1.
    V1,
}

impl Network {
    /// All of them.
    pub const ALL: [Network; 3] = [Network::V4, Network::V6, Network::V1];

    /// The word of the notation: `v4`, `v6`, `v1`.
    pub const fn name(self) -> &'static str {
        match self {
            Network::V4 => "v4",
            Network::V6 => "v6",
            Network::V1 => "v1",
        }
    }
}

/// Numbers that an ordinary packet has, so that each can be told from the others in its bytes.
const NUMBERS: &[(&str, u64)] = &[
    ("qp", 0x11),
    ("psn", 0x12_3456),
    ("msn", 7),
    ("va", 0x7f00_0000_1000),
    ("rkey", 0x1234),
    ("swap", 0x1111_2222_3333_4444),
    ("add", 1),
    ("compare", 0x5555_6666_7777_8888),
    ("original", 0x9999_aaaa_bbbb_cccc),
    ("imm", 0xcafe_babe),
    ("inv", 0x1234),
    ("qkey", 0x1111_1111),
    ("src_qp", 0x22),
    ("srqn", 0x33),
    ("ee", 0x44),
    ("flush.plt", 1),
];

/// The packet of this opcode that a test would send: right in everything, with this payload, which is not judged.
/// Addresses are those that the [notation](crate::notation) has without a connection.
pub fn ordinary<'p>(opcode: Opcode, network: Network, payload: &'p [u8]) -> Roce<'p> {
    let mut packet = bare(opcode, network);
    for (name, number) in NUMBERS {
        if let Some(field) = Field::named(name) {
            (field.set)(&mut packet, Value::Uint(*number));
        }
    }
    packet.payload = payload;
    // A READ or a FLUSH is about something.
    packet.ext.reth.len = if is_about_memory(opcode) { 256 } else { 0 };
    finish(&mut packet);
    packet
}

/// True for requests that name memory and carry none of it.
pub(super) fn is_about_memory(opcode: Opcode) -> bool {
    opcode.info().is_some_and(|info| info.has(Header::Reth) && info.payload == PayloadRule::Empty)
}

/// A packet without payload in which every number is the ordinary one.
pub(super) fn bare<'p>(opcode: Opcode, network: Network) -> Roce<'p> {
    let line = alloc::format!("OP_{:#04x} {}", opcode.0, network.name());
    match parse(&line, &Scope::default(), &mut []) {
        Ok(Line::Roce(packet)) => packet,
        other => unreachable!("a line of two words is a packet: {other:?}"),
    }
}

/// Gives everything that follows from the rest its right value.
pub(super) fn finish(packet: &mut Roce<'_>) {
    let keeps_len = is_about_memory(packet.bth.opcode);
    finish_but(packet, |field| keeps_len && field.name == "len");
}

/// As [`finish`], but for some fields.
pub(super) fn finish_but(packet: &mut Roce<'_>, keep: impl Fn(&Field) -> bool) {
    complete(packet, &keep);
    // The length of a message goes beyond its first packet.
    let is_first = packet.bth.opcode.info().is_some_and(|info| info.position == Position::First);
    if is_first && packet.ext.reth.len == packet.payload.len() as u32 {
        packet.ext.reth.len *= 2;
        complete(packet, |field| field.name == "len" || keep(field));
    }
}

/// Payload lengths that show what an opcode may carry, in bytes: each pad, the least and a small MTU.
pub fn payload_lengths(opcode: Opcode) -> &'static [usize] {
    match opcode.info().map(|info| info.payload) {
        Some(PayloadRule::Empty) => &[0],
        Some(PayloadRule::Full) => &[256],
        Some(PayloadRule::OneToMtu) => &[1, 14, 64, 256],
        Some(PayloadRule::ZeroToMtu) | None => &[0, 1, 14, 64, 256],
        Some(PayloadRule::Eight) => &[8],
        Some(PayloadRule::Sixteen) => &[16],
    }
}

/// True for fields that follow from the rest of the packet.
pub(super) fn is_derived(field: &Field) -> bool {
    matches!(field.ordinary, Ordinary::Derived(_))
}
