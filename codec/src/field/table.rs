//! The table of fields, in the order in which the notation writes them.
//!
//! Derived fields stand innermost first, so that [`super::complete`] can walk the table once.

use super::{Field, Kind, Ordinary, Value};
use crate::code::{Credits, NakCode, RnrTimer, Syndrome, SyndromeClass};
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, MIN_FRAME, Tag};
use crate::ext::Header;
use crate::frame::Roce;
use crate::icrc;
use crate::net::{Ipv4, NEXT_HEADER_IBA, Net, PROTOCOL_UDP};
use crate::number::{Msn, PKey, Psn, QKey, Qpn, RKey};
use crate::opcode::{PayloadRule, Transport};
use crate::udp::{ROCE_V2_PORT, Udp};

static ZEROS: [u8; MIN_FRAME] = [0; MIN_FRAME];

fn has(packet: &Roce<'_>, header: Header) -> Option<()> {
    packet.bth.opcode.headers().contains(&header).then_some(())
}

/// A field that is a number. `$get` gives an `Option<u64>`, `$set` takes a `u64` and gives an `Option<()>`.
macro_rules! number {
    ($name:literal, $kind:expr, $ordinary:expr, |$p:ident| $get:expr, |$q:ident, $v:ident| $set:expr) => {
        Field {
            name: $name,
            kind: $kind,
            ordinary: $ordinary,
            get: |$p| {
                let number: Option<u64> = (|| $get)();
                number.map(Value::Uint)
            },
            set: |$q, value| {
                let $v = value.uint()?;
                if !fits($kind, $v) {
                    return None;
                }
                $set
            },
        }
    };
}

fn fits(kind: Kind, value: u64) -> bool {
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

/// A number inside an extension header.
macro_rules! in_header {
    ($name:literal, $kind:expr, $ordinary:expr, $header:ident, |$p:ident| $get:expr, |$q:ident, $v:ident| $set:expr) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |$p| {
                has($p, Header::$header)?;
                Some($get)
            },
            |$q, $v| {
                has($q, Header::$header)?;
                $set;
                Some(())
            }
        )
    };
}

/// A number of the BTH.
macro_rules! in_bth {
    ($name:literal, $kind:expr, $ordinary:expr, |$b:ident| $get:expr, |$c:ident, $v:ident| $set:expr) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| {
                let $b = &p.bth;
                Some(u64::from($get))
            },
            |p, $v| {
                let $c = &mut p.bth;
                $set;
                Some(())
            }
        )
    };
}

/// A number of the IPv4 header.
macro_rules! in_v4 {
    ($name:literal, $kind:expr, $ordinary:expr, |$i:ident| $get:expr, |$j:ident, $v:ident| $set:expr) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| {
                let Net::V4($i) = &p.net else { return None };
                Some(u64::from($get))
            },
            |p, $v| {
                let Net::V4($j) = &mut p.net else { return None };
                $set;
                Some(())
            }
        )
    };
}

/// A number that IPv4 and IPv6 (and the GRH) both have, perhaps under another name.
macro_rules! in_ip {
    ($name:literal, $kind:expr, $ordinary:expr, |$i:ident| $get4:expr, $get6:expr,
     |$j:ident, $v:ident| $set4:expr, $set6:expr) => {
        number!(
            $name,
            $kind,
            $ordinary,
            |p| Some(match &p.net {
                Net::V4($i) => u64::from($get4),
                Net::V6($i) | Net::Grh($i) => u64::from($get6),
            }),
            |p, $v| {
                match &mut p.net {
                    Net::V4($j) => $set4,
                    Net::V6($j) | Net::Grh($j) => $set6,
                }
                Some(())
            }
        )
    };
}

/// A number of the UDP header.
macro_rules! in_udp {
    ($name:literal, $kind:expr, $ordinary:expr, $member:ident) => {
        number!($name, $kind, $ordinary, |p| p.udp.map(|udp| u64::from(udp.$member)), |p, v| {
            p.udp.as_mut()?.$member = v as _;
            Some(())
        })
    };
}

/// A part of the VLAN tag number `$at`: `$shift` and `$bits` name its place in the tag control field.
macro_rules! in_tag {
    ($name:literal, $kind:expr, $at:literal, $shift:literal, $bits:literal) => {
        number!(
            $name,
            $kind,
            Ordinary::Base,
            |p| p.eth.tags.get($at).map(|tag| u64::from(tag.tci >> $shift & ((1 << $bits) - 1))),
            |p, v| {
                let tag = tag(p, $at)?;
                tag.tci = tag.tci & !(((1 << $bits) - 1) << $shift) | (v as u16) << $shift;
                Some(())
            }
        )
    };
}

/// The tag protocol of VLAN tag number `$at`.
macro_rules! in_tpid {
    ($name:literal, $at:literal) => {
        number!(
            $name,
            Kind::Hex(16),
            Ordinary::Uint(0x8100),
            |p| p.eth.tags.get($at).map(|tag| u64::from(tag.tpid)),
            |p, v| {
                tag(p, $at)?.tpid = v as u16;
                Some(())
            }
        )
    };
}

/// A MAC address.
macro_rules! mac_field {
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

/// The tag number `at`, made when it is the next one.
fn tag<'p>(packet: &'p mut Roce<'_>, at: usize) -> Option<&'p mut Tag> {
    let tags = &mut packet.eth.tags;
    if at == tags.len() {
        tags.try_push(Tag { tpid: 0x8100, tci: 0 }).ok()?;
    }
    tags.get_mut(at)
}

/// COMPARE SWAP swaps, every other atomic operation adds.
fn atomic(packet: &Roce<'_>, swaps: bool) -> Option<()> {
    has(packet, Header::AtomicEth)?;
    ((packet.bth.opcode.operation() == COMPARE_SWAP) == swaps).then_some(())
}

fn syndrome(packet: &Roce<'_>) -> Option<Syndrome> {
    has(packet, Header::Aeth)?;
    Some(packet.ext.aeth.syndrome)
}

fn set_syndrome(packet: &mut Roce<'_>, syndrome: Syndrome) -> Option<()> {
    has(packet, Header::Aeth)?;
    packet.ext.aeth.syndrome = syndrome;
    Some(())
}

/// Every field.
pub static FIELDS: &[Field] = &[
    in_bth!("qp", Kind::Qpn, Ordinary::Base, |b| b.dest_qp.get(), |b, v| b.dest_qp = Qpn::new(v as u32)),
    number!(
        "psn",
        Kind::Psn,
        // A CNP is outside of every sequence: its PSN is 0.
        Ordinary::Shown(|p| p.bth.opcode.transport() != Transport::Cnp || p.bth.psn.get() != 0),
        |p| Some(u64::from(p.bth.psn.get())),
        |p, v| {
            p.bth.psn = Psn::new(v as u32);
            Some(())
        }
    ),
    in_header!("msn", Kind::Decimal(24), Ordinary::Always, Aeth, |p| u64::from(p.ext.aeth.msn.get()), |p, v| p
        .ext
        .aeth
        .msn =
        Msn::new(v as u32)),
    number!(
        "credits",
        Kind::Decimal(5),
        Ordinary::Uint(31),
        |p| match syndrome(p)?.class() {
            SyndromeClass::Ack(credits) => Some(u64::from(credits.get())),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::ack(Credits::new(v as u8)))
    ),
    number!(
        "timer",
        Kind::RnrTimer,
        Ordinary::Always,
        |p| match syndrome(p)?.class() {
            SyndromeClass::RnrNak(timer) => Some(u64::from(timer.get())),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::rnr_nak(RnrTimer::new(v as u8)))
    ),
    number!(
        "code",
        Kind::NakCode,
        Ordinary::Always,
        |p| match syndrome(p)?.class() {
            SyndromeClass::Nak(code) => Some(u64::from(code.get())),
            _ => None,
        },
        |p, v| set_syndrome(p, Syndrome::nak(NakCode::new(v as u8)))
    ),
    number!(
        "syndrome",
        Kind::Hex(8),
        Ordinary::Shown(|p| matches!(p.ext.aeth.syndrome.class(), SyndromeClass::Reserved(_))),
        |p| syndrome(p).map(|syndrome| u64::from(syndrome.0)),
        |p, v| set_syndrome(p, Syndrome(v as u8))
    ),
    in_bth!("se", Kind::Flag, Ordinary::Uint(0), |b| b.se, |b, v| b.se = v == 1),
    in_bth!("ack", Kind::Flag, Ordinary::Uint(0), |b| b.ack_req, |b, v| b.ack_req = v == 1),
    number!(
        "va",
        Kind::Va,
        Ordinary::Uint(0),
        |p| has(p, Header::Reth)
            .map(|()| p.ext.reth.va)
            .or_else(|| has(p, Header::AtomicEth).map(|()| p.ext.atomic.va)),
        |p, v| {
            if has(p, Header::Reth).is_some() {
                p.ext.reth.va = v;
            } else {
                has(p, Header::AtomicEth)?;
                p.ext.atomic.va = v;
            }
            Some(())
        }
    ),
    number!(
        "rkey",
        Kind::RKey,
        Ordinary::Uint(0),
        |p| has(p, Header::Reth)
            .map(|()| u64::from(p.ext.reth.rkey.get()))
            .or_else(|| has(p, Header::AtomicEth).map(|()| u64::from(p.ext.atomic.rkey.get()))),
        |p, v| {
            if has(p, Header::Reth).is_some() {
                p.ext.reth.rkey = RKey::new(v as u32);
            } else {
                has(p, Header::AtomicEth)?;
                p.ext.atomic.rkey = RKey::new(v as u32);
            }
            Some(())
        }
    ),
    in_header!(
        "len",
        Kind::Decimal(32),
        Ordinary::Derived(|p| Value::Uint(p.payload.len() as u64)),
        Reth,
        |p| u64::from(p.ext.reth.len),
        |p, v| p.ext.reth.len = v as u32
    ),
    number!("swap", Kind::Hex(64), Ordinary::Uint(0), |p| atomic(p, true).map(|()| p.ext.atomic.swap_add), |p, v| {
        atomic(p, true)?;
        p.ext.atomic.swap_add = v;
        Some(())
    }),
    number!("add", Kind::Hex(64), Ordinary::Uint(0), |p| atomic(p, false).map(|()| p.ext.atomic.swap_add), |p, v| {
        atomic(p, false)?;
        p.ext.atomic.swap_add = v;
        Some(())
    }),
    in_header!("compare", Kind::Hex(64), Ordinary::Uint(0), AtomicEth, |p| p.ext.atomic.compare, |p, v| p
        .ext
        .atomic
        .compare =
        v),
    in_header!("original", Kind::Hex(64), Ordinary::Always, AtomicAckEth, |p| p.ext.atomic_ack.original, |p, v| p
        .ext
        .atomic_ack
        .original =
        v),
    in_header!("imm", Kind::Hex(32), Ordinary::Uint(0), ImmDt, |p| u64::from(p.ext.immdt.0), |p, v| p.ext.immdt.0 =
        v as u32),
    in_header!("inv", Kind::RKey, Ordinary::Uint(0), Ieth, |p| u64::from(p.ext.ieth.0.get()), |p, v| p.ext.ieth.0 =
        RKey::new(v as u32)),
    in_header!("qkey", Kind::Hex(32), Ordinary::Base, Deth, |p| u64::from(p.ext.deth.qkey.get()), |p, v| p
        .ext
        .deth
        .qkey =
        QKey::new(v as u32)),
    in_header!("src_qp", Kind::Qpn, Ordinary::Base, Deth, |p| u64::from(p.ext.deth.src_qp.get()), |p, v| p
        .ext
        .deth
        .src_qp =
        Qpn::new(v as u32)),
    in_header!("deth.resv", Kind::Hex(8), Ordinary::Uint(0), Deth, |p| u64::from(p.ext.deth.reserved), |p, v| p
        .ext
        .deth
        .reserved =
        v as u8),
    in_header!("srqn", Kind::Qpn, Ordinary::Base, XrcEth, |p| u64::from(p.ext.xrceth.srqn.get()), |p, v| p
        .ext
        .xrceth
        .srqn =
        Qpn::new(v as u32)),
    in_header!("xrceth.resv", Kind::Hex(8), Ordinary::Uint(0), XrcEth, |p| u64::from(p.ext.xrceth.reserved), |p, v| {
        p.ext.xrceth.reserved = v as u8;
    }),
    in_header!("ee", Kind::Qpn, Ordinary::Base, Rdeth, |p| u64::from(p.ext.rdeth.ee_context.get()), |p, v| p
        .ext
        .rdeth
        .ee_context =
        Qpn::new(v as u32)),
    in_header!("rdeth.resv", Kind::Hex(8), Ordinary::Uint(0), Rdeth, |p| u64::from(p.ext.rdeth.reserved), |p, v| p
        .ext
        .rdeth
        .reserved =
        v as u8),
    in_header!("flush.plt", Kind::Hex(4), Ordinary::Uint(0), Feth, |p| u64::from(p.ext.feth.0 & 0xf), |p, v| {
        p.ext.feth.0 = p.ext.feth.0 & !0xf | v as u32;
    }),
    in_header!("flush.sel", Kind::Hex(2), Ordinary::Uint(0), Feth, |p| u64::from(p.ext.feth.0 >> 4 & 3), |p, v| {
        p.ext.feth.0 = p.ext.feth.0 & !0x30 | (v as u32) << 4;
    }),
    in_header!("feth.resv", Kind::Hex(26), Ordinary::Uint(0), Feth, |p| u64::from(p.ext.feth.0 >> 6), |p, v| {
        p.ext.feth.0 = p.ext.feth.0 & 0x3f | (v as u32) << 6;
    }),
    in_bth!("becn", Kind::Flag, Ordinary::Uint(0), |b| b.becn, |b, v| b.becn = v == 1),
    in_bth!("fecn", Kind::Flag, Ordinary::Uint(0), |b| b.fecn, |b, v| b.fecn = v == 1),
    in_bth!("migreq", Kind::Flag, Ordinary::Uint(0), |b| b.migreq, |b, v| b.migreq = v == 1),
    in_bth!("pkey", Kind::Hex(16), Ordinary::Base, |b| b.pkey.get(), |b, v| b.pkey = PKey::new(v as u16)),
    in_bth!("tver", Kind::Decimal(4), Ordinary::Uint(0), |b| b.tver, |b, v| b.tver = v as u8),
    in_bth!("resv6", Kind::Hex(6), Ordinary::Uint(0), |b| b.resv6, |b, v| b.resv6 = v as u8),
    in_bth!("resv7", Kind::Hex(7), Ordinary::Uint(0), |b| b.resv7, |b, v| b.resv7 = v as u8),
    Field {
        name: "data",
        kind: Kind::Payload,
        ordinary: Ordinary::Opcode(|opcode| match opcode.info().map(|info| info.payload) {
            Some(PayloadRule::Sixteen) => Value::Bytes(&ZEROS[..16]),
            _ => Value::Bytes(&[]),
        }),
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
        |p| Some(u64::from(p.bth.pad_count)),
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
    in_udp!(
        "udp.len",
        Kind::Decimal(16),
        Ordinary::Derived(|p| Value::Uint((Udp::LEN + p.transport_len()) as u64)),
        len
    ),
    in_ip!(
        "ip.version",
        Kind::Decimal(4),
        Ordinary::Derived(|p| Value::Uint(if matches!(p.net, Net::V4(_)) { 4 } else { 6 })),
        |i| i.version,
        i.version,
        |i, v| i.version = v as u8,
        i.version = v as u8
    ),
    Field {
        name: "ip.src",
        kind: Kind::Address,
        ordinary: Ordinary::Base,
        get: |p| {
            Some(match &p.net {
                Net::V4(ip) => Value::V4(ip.src),
                Net::V6(ip) | Net::Grh(ip) => Value::V6(ip.src),
            })
        },
        set: |p, value| {
            match (&mut p.net, value) {
                (Net::V4(ip), Value::V4(address)) => ip.src = address,
                (Net::V6(ip) | Net::Grh(ip), Value::V6(address)) => ip.src = address,
                _ => return None,
            }
            Some(())
        },
    },
    Field {
        name: "ip.dst",
        kind: Kind::Address,
        ordinary: Ordinary::Base,
        get: |p| {
            Some(match &p.net {
                Net::V4(ip) => Value::V4(ip.dst),
                Net::V6(ip) | Net::Grh(ip) => Value::V6(ip.dst),
            })
        },
        set: |p, value| {
            match (&mut p.net, value) {
                (Net::V4(ip), Value::V4(address)) => ip.dst = address,
                (Net::V6(ip) | Net::Grh(ip), Value::V6(address)) => ip.dst = address,
                _ => return None,
            }
            Some(())
        },
    },
    in_ip!(
        "ip.dscp",
        Kind::Decimal(6),
        Ordinary::Base,
        |i| i.tos >> 2,
        i.traffic_class >> 2,
        |i, v| i.tos = i.tos & 3 | (v as u8) << 2,
        i.traffic_class = i.traffic_class & 3 | (v as u8) << 2
    ),
    in_ip!(
        "ip.ecn",
        Kind::Ecn,
        Ordinary::Base,
        |i| i.tos & 3,
        i.traffic_class & 3,
        |i, v| i.tos = i.tos & !3 | v as u8,
        i.traffic_class = i.traffic_class & !3 | v as u8
    ),
    in_ip!(
        "ip.ttl",
        Kind::Decimal(8),
        Ordinary::Base,
        |i| i.ttl,
        i.hop_limit,
        |i, v| i.ttl = v as u8,
        i.hop_limit = v as u8
    ),
    number!(
        "ip.proto",
        Kind::Decimal(8),
        Ordinary::Derived(|p| Value::Uint(u64::from(match p.net {
            Net::Grh(_) => NEXT_HEADER_IBA,
            _ => PROTOCOL_UDP,
        }))),
        |p| Some(u64::from(match p.net {
            Net::V4(ip) => ip.protocol,
            Net::V6(ip) | Net::Grh(ip) => ip.next_header,
        })),
        |p, v| {
            match &mut p.net {
                Net::V4(ip) => ip.protocol = v as u8,
                Net::V6(ip) | Net::Grh(ip) => ip.next_header = v as u8,
            }
            Some(())
        }
    ),
    number!(
        "ip.flow",
        Kind::Hex(20),
        Ordinary::Base,
        |p| match p.net {
            Net::V4(_) => None,
            Net::V6(ip) | Net::Grh(ip) => Some(u64::from(ip.flow_label)),
        },
        |p, v| {
            let (Net::V6(ip) | Net::Grh(ip)) = &mut p.net else { return None };
            ip.flow_label = v as u32;
            Some(())
        }
    ),
    in_v4!("ip.id", Kind::Hex(16), Ordinary::Base, |i| i.id, |i, v| i.id = v as u16),
    in_v4!("ip.reserved", Kind::Flag, Ordinary::Uint(0), |i| i.flags_offset >> 15, |i, v| {
        i.flags_offset = i.flags_offset & 0x7fff | (v as u16) << 15;
    }),
    in_v4!("ip.df", Kind::Flag, Ordinary::Base, |i| i.flags_offset >> 14 & 1, |i, v| {
        i.flags_offset = i.flags_offset & !Ipv4::DF | (v as u16) << 14;
    }),
    in_v4!("ip.mf", Kind::Flag, Ordinary::Uint(0), |i| i.flags_offset >> 13 & 1, |i, v| {
        i.flags_offset = i.flags_offset & !Ipv4::MF | (v as u16) << 13;
    }),
    in_v4!("ip.offset", Kind::Decimal(13), Ordinary::Uint(0), |i| i.flags_offset & 0x1fff, |i, v| {
        i.flags_offset = i.flags_offset & !0x1fff | v as u16;
    }),
    Field {
        name: "ip.options",
        kind: Kind::Bytes,
        ordinary: Ordinary::Opcode(|_| Value::Bytes(&[])),
        get: |p| match p.net {
            Net::V4(ip) => Some(Value::Bytes(ip.options)),
            _ => None,
        },
        set: |p, value| {
            let Net::V4(ip) = &mut p.net else { return None };
            ip.options = value.bytes().filter(|options| options.len() <= 40 && options.len() % 4 == 0)?;
            Some(())
        },
    },
    in_v4!(
        "ip.ihl",
        Kind::Decimal(4),
        Ordinary::Derived(|p| Value::Uint(p.net.len() as u64 / 4)),
        |i| i.ihl,
        |i, v| i.ihl = v as u8
    ),
    in_ip!(
        "ip.len",
        Kind::Decimal(16),
        Ordinary::Derived(|p| {
            let rest = p.udp.map_or(0, |_| Udp::LEN) + p.transport_len();
            Value::Uint(match p.net {
                Net::V4(ip) => ip.len() + rest,
                Net::V6(_) | Net::Grh(_) => rest,
            } as u64)
        }),
        |i| i.total_len,
        i.payload_len,
        |i, v| i.total_len = v as u16,
        i.payload_len = v as u16
    ),
    in_v4!(
        "ip.checksum",
        Kind::Hex(16),
        Ordinary::Derived(|p| Value::Uint(match p.net {
            Net::V4(ip) => u64::from(ip.right_checksum()),
            _ => 0,
        })),
        |i| i.checksum,
        |i, v| i.checksum = v as u16
    ),
    in_udp!("udp.checksum", Kind::Hex(16), Ordinary::Uint(0), checksum),
    number!(
        "icrc",
        Kind::Hex(32),
        Ordinary::Derived(|p| Value::Uint(u64::from(icrc::compute(p)))),
        |p| Some(u64::from(p.icrc)),
        |p, v| {
            p.icrc = v as u32;
            Some(())
        }
    ),
    mac_field!("eth.dst", dst),
    mac_field!("eth.src", src),
    in_tag!("vlan.id", Kind::Decimal(12), 0, 0, 12),
    in_tag!("vlan.pcp", Kind::Decimal(3), 0, 13, 3),
    in_tag!("vlan.dei", Kind::Flag, 0, 12, 1),
    in_tpid!("vlan.tpid", 0),
    in_tag!("vlan2.id", Kind::Decimal(12), 1, 0, 12),
    in_tag!("vlan2.pcp", Kind::Decimal(3), 1, 13, 3),
    in_tag!("vlan2.dei", Kind::Flag, 1, 12, 1),
    in_tpid!("vlan2.tpid", 1),
    number!(
        "eth.type",
        Kind::Hex(16),
        Ordinary::Derived(|p| Value::Uint(u64::from(match p.net {
            Net::V4(_) => ETHERTYPE_IPV4,
            Net::V6(_) => ETHERTYPE_IPV6,
            Net::Grh(_) => ETHERTYPE_ROCE_V1,
        }))),
        |p| Some(u64::from(p.eth.ethertype)),
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

/// Operation code of COMPARE SWAP in every transport that has it.
const COMPARE_SWAP: u8 = 0x13;
