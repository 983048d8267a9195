//! The table of fields, in the order in which the notation writes them.
//!
//! Derived fields stand innermost first, so that [`super::complete`] can walk the table once.

use super::number::{
    Number, fits, in_bth, in_feth, in_header, in_ip, in_reth_or_atomic, in_tag, in_udp, in_v4, number, part, set_part,
};
use super::{Field, Kind, Ordinary, Value};
use crate::code::{Credits, NakCode, RnrTimer, Syndrome, SyndromeClass};
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, MIN_FRAME, Tag};
use crate::ext::Header;
use crate::frame::Roce;
use crate::icrc;
use crate::net::{NEXT_HEADER_IBA, Net, PROTOCOL_UDP};
use crate::opcode::{Opcode, PayloadRule, Transport};
use crate::udp::{ROCE_V2_PORT, Udp};

/// An address of the network header.
macro_rules! address {
    ($name:literal, $member:ident) => {
        Field {
            name: $name,
            kind: Kind::Address,
            ordinary: Ordinary::Base,
            get: |p| {
                Some(match &p.net {
                    Net::V4(ip) => Value::V4(ip.$member),
                    Net::V6(ip) | Net::Grh(ip) => Value::V6(ip.$member),
                })
            },
            set: |p, value| {
                match (&mut p.net, value) {
                    (Net::V4(ip), Value::V4(address)) => ip.$member = address,
                    (Net::V6(ip) | Net::Grh(ip), Value::V6(address)) => ip.$member = address,
                    _ => return None,
                }
                Some(())
            },
        }
    };
}

/// A MAC address.
macro_rules! mac {
    ($name:literal, $member:ident) => {
        Field {
            name: $name,
            kind: Kind::Mac,
            ordinary: Ordinary::Base,
            get: |p| Some(Value::Mac(p.eth.$member)),
            set: |p, value| {
                let Value::Mac(mac) = value else { return None };
                p.eth.$member = mac;
                Some(())
            },
        }
    };
}

/// Makes the table, and a walk over it in which the compiler knows every entry.
macro_rules! fields {
    ($($field:expr,)*) => {
        /// Every field.
        pub static FIELDS: &[Field] = &[$($field),*];

        /// Hands over each entry of [`FIELDS`] with its place.
        ///
        /// Unrolled: where `each` is inlined, so are the functions of the entry, and what does not concern it falls away.
        #[inline(always)]
        pub(crate) fn unrolled(each: &mut impl Each) {
            let mut at = 0;
            $(
                each.field(at, const { &$field });
                at += 1;
            )*
            debug_assert_eq!(at, FIELDS.len());
        }
    };
}

/// What [`unrolled`] calls.
pub(crate) trait Each {
    /// Takes the field at `at` of [`FIELDS`]. `field` is equal to it, at another address.
    fn field(&mut self, at: usize, field: &'static Field);
}

fields![
    in_bth!("qp", Kind::Qpn, Ordinary::Base, dest_qp),
    number!("psn", Kind::Psn, Ordinary::Shown(has_sequence), |p| Some(p.bth.psn.number()), |p, v| {
        p.bth.psn = Number::from_number(v);
        Some(())
    }),
    in_header!("msn", Kind::Decimal(24), Ordinary::Always, Aeth, aeth.msn),
    number!(
        "credits",
        Kind::Decimal(5),
        Ordinary::Uint(31),
        |p| match syndrome(p)?.class() {
            SyndromeClass::Ack(credits) => Some(credits.get().into()),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::ack(Credits::new(v as u8)))
    ),
    number!(
        "timer",
        Kind::RnrTimer,
        Ordinary::Always,
        |p| match syndrome(p)?.class() {
            SyndromeClass::RnrNak(timer) => Some(timer.get().into()),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::rnr_nak(RnrTimer::new(v as u8)))
    ),
    number!(
        "code",
        Kind::NakCode,
        Ordinary::Always,
        |p| match syndrome(p)?.class() {
            SyndromeClass::Nak(code) => Some(code.get().into()),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::nak(NakCode::new(v as u8)))
    ),
    number!(
        "syndrome",
        Kind::Hex(8),
        Ordinary::Shown(|p| matches!(p.ext.aeth.syndrome.class(), SyndromeClass::Reserved(_))),
        |p| Some(syndrome(p)?.0.into()),
        |p, v| set_syndrome(p, Syndrome(v as u8))
    ),
    in_bth!("se", Kind::Flag, Ordinary::Uint(0), se),
    in_bth!("ack", Kind::Flag, Ordinary::Uint(0), ack_req),
    in_reth_or_atomic!("va", Kind::Va, Ordinary::Uint(0), va),
    in_reth_or_atomic!("rkey", Kind::RKey, Ordinary::Uint(0), rkey),
    in_header!("len", Kind::Decimal(32), Ordinary::Derived(|p| Value::Uint(p.payload.len() as u64)), Reth, reth.len),
    number!("swap", Kind::Hex(64), Ordinary::Uint(0), |p| is_swap(p)?.then_some(p.ext.atomic.swap_add), |p, v| {
        is_swap(p)?.then(|| p.ext.atomic.swap_add = v)
    }),
    number!("add", Kind::Hex(64), Ordinary::Uint(0), |p| (!is_swap(p)?).then_some(p.ext.atomic.swap_add), |p, v| {
        (!is_swap(p)?).then(|| p.ext.atomic.swap_add = v)
    }),
    in_header!("compare", Kind::Hex(64), Ordinary::Uint(0), AtomicEth, atomic.compare),
    in_header!("original", Kind::Hex(64), Ordinary::Always, AtomicAckEth, atomic_ack.original),
    in_header!("imm", Kind::Hex(32), Ordinary::Uint(0), ImmDt, immdt.0),
    in_header!("inv", Kind::RKey, Ordinary::Uint(0), Ieth, ieth.0),
    in_header!("qkey", Kind::Hex(32), Ordinary::Base, Deth, deth.qkey),
    in_header!("src_qp", Kind::Qpn, Ordinary::Base, Deth, deth.src_qp),
    in_header!("deth.resv", Kind::Hex(8), Ordinary::Uint(0), Deth, deth.reserved),
    in_header!("srqn", Kind::Qpn, Ordinary::Base, XrcEth, xrceth.srqn),
    in_header!("xrceth.resv", Kind::Hex(8), Ordinary::Uint(0), XrcEth, xrceth.reserved),
    in_header!("ee", Kind::Qpn, Ordinary::Base, Rdeth, rdeth.ee_context),
    in_header!("rdeth.resv", Kind::Hex(8), Ordinary::Uint(0), Rdeth, rdeth.reserved),
    in_feth!("flush.plt", 0, 4),
    in_feth!("flush.sel", 4, 2),
    in_feth!("feth.resv", 6, 26),
    in_bth!("becn", Kind::Flag, Ordinary::Uint(0), becn),
    in_bth!("fecn", Kind::Flag, Ordinary::Uint(0), fecn),
    in_bth!("migreq", Kind::Flag, Ordinary::Uint(0), migreq),
    in_bth!("pkey", Kind::Hex(16), Ordinary::Base, pkey),
    in_bth!("tver", Kind::Decimal(4), Ordinary::Uint(0), tver),
    in_bth!("resv6", Kind::Hex(6), Ordinary::Uint(0), resv6),
    in_bth!("resv7", Kind::Hex(7), Ordinary::Uint(0), resv7),
    Field {
        name: "data",
        kind: Kind::Payload,
        ordinary: Ordinary::Opcode(ordinary_payload),
        get: |p| Some(Value::Bytes(p.payload)),
        set: |p, value| {
            p.payload = value.bytes()?;
            Some(())
        },
    },
    number!(
        "pad",
        Kind::Decimal(2),
        Ordinary::Derived(|p| Value::Uint(p.payload.len().wrapping_neg() as u64 & 3)),
        |p| Some(p.bth.pad_count.number()),
        |p, v| {
            p.bth.pad_count = v as u8;
            Some(())
        }
    ),
    Field {
        name: "pad.data",
        kind: Kind::Bytes,
        ordinary: Ordinary::Derived(|p| Value::Bytes(&ZEROS[..usize::from(p.bth.pad_count & 3)])),
        get: |p| Some(Value::Bytes(p.pad)),
        set: |p, value| {
            p.pad = value.bytes()?;
            Some(())
        },
    },
    in_udp!("udp.sport", Kind::Decimal(16), Ordinary::Base, sport),
    in_udp!("udp.dport", Kind::Decimal(16), Ordinary::Uint(ROCE_V2_PORT as u64), dport),
    in_udp!("udp.len", Kind::Decimal(16), Ordinary::Derived(|p| Value::Uint(behind_ip(p))), len),
    in_ip!("ip.version", Kind::Decimal(4), Ordinary::Derived(right_version), version / version, 0, 4),
    address!("ip.src", src),
    address!("ip.dst", dst),
    in_ip!("ip.dscp", Kind::Decimal(6), Ordinary::Base, tos / traffic_class, 2, 6),
    in_ip!("ip.ecn", Kind::Ecn, Ordinary::Base, tos / traffic_class, 0, 2),
    in_ip!("ip.ttl", Kind::Decimal(8), Ordinary::Base, ttl / hop_limit, 0, 8),
    in_ip!("ip.proto", Kind::Decimal(8), Ordinary::Derived(right_protocol), protocol / next_header, 0, 8),
    number!(
        "ip.flow",
        Kind::Hex(20),
        Ordinary::Base,
        |p| match &p.net {
            Net::V4(_) => None,
            Net::V6(ip) | Net::Grh(ip) => Some(ip.flow_label.number()),
        },
        |p, v| {
            let (Net::V6(ip) | Net::Grh(ip)) = &mut p.net else { return None };
            ip.flow_label = v as u32;
            Some(())
        }
    ),
    in_v4!("ip.id", Kind::Hex(16), Ordinary::Base, id, 0, 16),
    in_v4!("ip.reserved", Kind::Flag, Ordinary::Uint(0), flags_offset, 15, 1),
    in_v4!("ip.df", Kind::Flag, Ordinary::Base, flags_offset, 14, 1),
    in_v4!("ip.mf", Kind::Flag, Ordinary::Uint(0), flags_offset, 13, 1),
    in_v4!("ip.offset", Kind::Decimal(13), Ordinary::Uint(0), flags_offset, 0, 13),
    Field {
        name: "ip.options",
        kind: Kind::Bytes,
        ordinary: Ordinary::Opcode(|_| Value::Bytes(&[])),
        get: |p| match p.net {
            Net::V4(ip) => Some(Value::Bytes(ip.options)),
            Net::V6(_) | Net::Grh(_) => None,
        },
        set: |p, value| {
            let Net::V4(ip) = &mut p.net else { return None };
            ip.options = value.bytes().filter(|options| options.len() <= 40 && options.len() % 4 == 0)?;
            Some(())
        },
    },
    in_v4!("ip.ihl", Kind::Decimal(4), Ordinary::Derived(|p| Value::Uint(p.net.len() as u64 / 4)), ihl, 0, 4),
    in_ip!("ip.len", Kind::Decimal(16), Ordinary::Derived(right_ip_len), total_len / payload_len, 0, 16),
    in_v4!("ip.checksum", Kind::Hex(16), Ordinary::Derived(right_ip_checksum), checksum, 0, 16),
    in_udp!("udp.checksum", Kind::Hex(16), Ordinary::Uint(0), checksum),
    number!(
        "icrc",
        Kind::Hex(32),
        Ordinary::Derived(|p| Value::Uint(icrc::compute(p).into())),
        |p| Some(p.icrc.number()),
        |p, v| {
            p.icrc = v as u32;
            Some(())
        }
    ),
    mac!("eth.dst", dst),
    mac!("eth.src", src),
    in_tag!("vlan.id", Kind::Decimal(12), Ordinary::Base, 0, tci, 0, 12),
    in_tag!("vlan.pcp", Kind::Decimal(3), Ordinary::Base, 0, tci, 13, 3),
    in_tag!("vlan.dei", Kind::Flag, Ordinary::Base, 0, tci, 12, 1),
    in_tag!("vlan.tpid", Kind::Hex(16), Ordinary::Uint(TPID), 0, tpid, 0, 16),
    in_tag!("vlan2.id", Kind::Decimal(12), Ordinary::Base, 1, tci, 0, 12),
    in_tag!("vlan2.pcp", Kind::Decimal(3), Ordinary::Base, 1, tci, 13, 3),
    in_tag!("vlan2.dei", Kind::Flag, Ordinary::Base, 1, tci, 12, 1),
    in_tag!("vlan2.tpid", Kind::Hex(16), Ordinary::Uint(TPID), 1, tpid, 0, 16),
    number!(
        "eth.type",
        Kind::Hex(16),
        Ordinary::Derived(right_ethertype),
        |p| Some(p.eth.ethertype.number()),
        |p, v| {
            p.eth.ethertype = v as u16;
            Some(())
        }
    ),
    Field {
        name: "trailer",
        kind: Kind::Bytes,
        ordinary: Ordinary::Derived(|p| Value::Bytes(&ZEROS[..MIN_FRAME.saturating_sub(p.packet_len())])),
        get: |p| Some(Value::Bytes(p.trailer)),
        set: |p, value| {
            p.trailer = value.bytes()?;
            Some(())
        },
    },
];

static ZEROS: [u8; MIN_FRAME] = [0; MIN_FRAME];
/// Tag protocol of an ordinary VLAN tag.
const TPID: u64 = 0x8100;
/// Operation code of COMPARE SWAP in every transport that has it.
const COMPARE_SWAP: u8 = 0x13;

#[inline]
fn has(packet: &Roce<'_>, header: Header) -> Option<()> {
    packet.bth.opcode.has(header).then_some(())
}

/// A CNP is outside of every sequence: its PSN is 0.
#[inline]
fn has_sequence(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.transport() != Transport::Cnp || packet.bth.psn.get() != 0
}

#[inline]
fn syndrome(packet: &Roce<'_>) -> Option<Syndrome> {
    has(packet, Header::Aeth)?;
    Some(packet.ext.aeth.syndrome)
}

#[inline]
fn set_syndrome(packet: &mut Roce<'_>, syndrome: Syndrome) -> Option<()> {
    has(packet, Header::Aeth)?;
    packet.ext.aeth.syndrome = syndrome;
    Some(())
}

/// COMPARE SWAP swaps, every other atomic operation adds.
#[inline]
fn is_swap(packet: &Roce<'_>) -> Option<bool> {
    has(packet, Header::AtomicEth)?;
    Some(packet.bth.opcode.operation() == COMPARE_SWAP)
}

#[inline]
fn ordinary_payload(opcode: Opcode) -> Value<'static> {
    match opcode.info().map(|info| info.payload) {
        Some(PayloadRule::Sixteen) => Value::Bytes(&ZEROS[..16]),
        _ => Value::Bytes(&[]),
    }
}

/// Bytes behind the IP header or the GRH.
#[inline]
fn behind_ip(packet: &Roce<'_>) -> u64 {
    (packet.udp.map_or(0, |_| Udp::LEN) + packet.transport_len()) as u64
}

#[inline]
fn right_version(packet: &Roce<'_>) -> Value<'static> {
    Value::Uint(if matches!(packet.net, Net::V4(_)) { 4 } else { 6 })
}

#[inline]
fn right_protocol(packet: &Roce<'_>) -> Value<'static> {
    Value::Uint(match packet.net {
        Net::V4(_) | Net::V6(_) => PROTOCOL_UDP.into(),
        Net::Grh(_) => NEXT_HEADER_IBA.into(),
    })
}

#[inline]
fn right_ip_len(packet: &Roce<'_>) -> Value<'static> {
    Value::Uint(match packet.net {
        Net::V4(ip) => ip.len() as u64 + behind_ip(packet),
        Net::V6(_) | Net::Grh(_) => behind_ip(packet),
    })
}

#[inline]
fn right_ip_checksum(packet: &Roce<'_>) -> Value<'static> {
    Value::Uint(match packet.net {
        Net::V4(ip) => ip.right_checksum().into(),
        Net::V6(_) | Net::Grh(_) => 0,
    })
}

#[inline]
fn right_ethertype(packet: &Roce<'_>) -> Value<'static> {
    Value::Uint(match packet.net {
        Net::V4(_) => ETHERTYPE_IPV4.into(),
        Net::V6(_) => ETHERTYPE_IPV6.into(),
        Net::Grh(_) => ETHERTYPE_ROCE_V1.into(),
    })
}

/// The tag number `at`, made when it is the next one.
fn tag<'p>(packet: &'p mut Roce<'_>, at: usize) -> Option<&'p mut Tag> {
    let tags = &mut packet.eth.tags;
    if at == tags.len() {
        tags.try_push(Tag { tpid: TPID as u16, tci: 0 }).ok()?;
    }
    tags.get_mut(at)
}
