//! Random packets of every shape, with right and wrong values.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use rocespec_codec::field::{FIELDS, Field, Kind, Value, complete};
use rocespec_codec::notation::{Line, Scope, parse};
use rocespec_codec::{MacAddr, Opcode, Roce};

/// What a random packet is made from.
#[derive(Debug, Clone)]
pub struct Spec {
    opcode: u8,
    net: &'static str,
    tags: usize,
    /// Field by number, and what to set it to.
    fields: Vec<(usize, u64)>,
    payload: Vec<u8>,
    options: Vec<u8>,
    pad: Vec<u8>,
    trailer: Vec<u8>,
}

pub fn spec() -> impl Strategy<Value = Spec> {
    let defined = (0..Opcode::DEFINED.len()).prop_map(|at| Opcode::DEFINED[at].0);
    let small = prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>(), 0..0x40u64];
    let payload = prop_oneof![
        (0..300usize).prop_map(|len| (0..len).map(|at| at as u8).collect()),
        (any::<u8>(), 0..300usize).prop_map(|(byte, len)| vec![byte; len]),
        vec(any::<u8>(), 0..80),
    ];
    (
        prop_oneof![4 => defined, 1 => any::<u8>()],
        prop_oneof![Just("v4"), Just("v6"), Just("v1")],
        0..3usize,
        vec((0..FIELDS.len(), small), 0..12),
        payload,
        vec(any::<u8>(), 0..11).prop_map(|words| words.repeat(4)),
        vec(any::<u8>(), 0..5),
        prop_oneof![Just(vec![]), vec(any::<u8>(), 0..30)],
    )
        .prop_map(|(opcode, net, tags, fields, payload, options, pad, trailer)| {
            let options = options[..options.len().min(40)].to_vec();
            Spec { opcode, net, tags, fields, payload, options, pad, trailer }
        })
}

impl Spec {
    /// A packet with anything wrong.
    pub fn packet(&self) -> Roce<'_> {
        self.build(|_| true)
    }

    /// A packet that decodes: every length is right, and what tells one layer from the next.
    pub fn decodable(&self) -> Roce<'_> {
        let structure = [
            "pad",
            "pad.data",
            "udp.len",
            "udp.dport",
            "ip.version",
            "ip.proto",
            "ip.ihl",
            "ip.len",
            "ip.offset",
            "vlan.tpid",
            "vlan2.tpid",
            "eth.type",
        ];
        self.build(|field| !structure.contains(&field.name))
    }

    /// What an ordinary packet of the same path looks like: without bytes of its own.
    pub fn base(&self) -> Roce<'static> {
        let mut packet = start(self);
        for (at, number) in &self.fields {
            if let Some(value) = value_of(&FIELDS[*at], *number) {
                (FIELDS[*at].set)(&mut packet, value);
            }
        }
        packet
    }

    fn build<'s>(&'s self, free: impl Fn(&Field) -> bool) -> Roce<'s> {
        let mut packet = start(self);
        let mut kept = Vec::new();
        let set = |packet: &mut Roce<'s>, kept: &mut Vec<&str>, field: &'static Field, value: Value<'s>| {
            if free(field) && (field.set)(packet, value).is_some() {
                kept.push(field.name);
            }
        };
        let bytes = |name: &str| match name {
            "data" => Some(&self.payload[..]),
            "ip.options" if !self.options.is_empty() => Some(&self.options[..]),
            "pad.data" if self.pad.len() > 3 => Some(&self.pad[..]),
            "trailer" if !self.trailer.is_empty() => Some(&self.trailer[..]),
            _ => None,
        };
        for field in FIELDS {
            if let Some(bytes) = bytes(field.name) {
                set(&mut packet, &mut kept, field, Value::Bytes(bytes));
            }
        }
        for (at, number) in &self.fields {
            if let Some(value) = value_of(&FIELDS[*at], *number) {
                set(&mut packet, &mut kept, &FIELDS[*at], value);
            }
        }
        complete(&mut packet, |field| kept.contains(&field.name));
        packet
    }
}

fn start(spec: &Spec) -> Roce<'static> {
    let tags = ["", "vlan.id=5", "vlan.id=6 vlan2.id=7"][spec.tags];
    let line = format!("OP_{:#x} {} {tags}", spec.opcode, spec.net);
    // A line without bytes takes none.
    match parse(&line, &Scope::default(), &mut []) {
        Ok(Line::Roce(packet)) => Roce { payload: &[], pad: &[], trailer: &[], ..packet },
        other => panic!("{line}: {other:?}"),
    }
}

/// A value for the field: `number` cut to its width. `None` for bytes.
fn value_of(field: &Field, number: u64) -> Option<Value<'static>> {
    let cut = |bits: u32| Value::Uint(number & (u64::MAX >> (64 - bits)));
    Some(match field.kind {
        Kind::Flag => cut(1),
        Kind::Decimal(bits) | Kind::Hex(bits) => cut(bits.into()),
        Kind::Psn | Kind::Qpn => cut(24),
        Kind::RKey => cut(32),
        Kind::Va => cut(64),
        Kind::RnrTimer | Kind::NakCode => cut(5),
        Kind::Ecn => cut(2),
        Kind::Mac => Value::Mac(MacAddr(number.to_be_bytes()[2..].try_into().unwrap())),
        Kind::Address if number & 1 == 0 => Value::V4(Ipv4Addr::from(number as u32)),
        Kind::Address => Value::V6(Ipv6Addr::from(u128::from(number) << 64 | u128::from(number))),
        Kind::Bytes | Kind::Payload => return None,
    })
}
