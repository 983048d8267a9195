//! What a line leaves unsaid.

use core::net::{Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;

use super::head::{Class, Head};
use crate::bth::Bth;
use crate::code::{NakCode, RnrTimer, Syndrome};
use crate::eth::{Ethernet, MacAddr};
use crate::ext::Extensions;
use crate::field::{FIELDS, Ordinary, Value};
use crate::frame::Roce;
use crate::net::{Ipv4, Ipv6, NEXT_HEADER_IBA, Net, PROTOCOL_UDP};
use crate::number::{Psn, RKey};
use crate::opcode::{Opcode, Transport};
use crate::udp::{ROCE_V2_PORT, Udp};

/// The live values behind a line: what is ordinary on this path, and which memory regions have names.
#[derive(Debug, Clone)]
pub struct Scope<'s> {
    /// A packet that goes the same way: its addresses, ports, tags, partition key and destination queue pair are
    /// ordinary, and so are the Q_Key, source QP, SRQ number and EE context of its extension headers, whatever its
    /// opcode. Relative PSNs count from its PSN. Nothing else of it matters.
    pub base: Roce<'static>,
    /// Memory regions that `va` and `rkey` can name.
    pub regions: &'s [Region<'s>],
}

/// A memory region with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region<'s> {
    /// ASCII letters, digits and `_`, not beginning with a digit. Regions with other names are never printed.
    pub name: &'s str,
    /// Where it begins.
    pub va: u64,
    /// Bytes.
    pub len: u64,
    /// Its remote key.
    pub rkey: RKey,
}

impl Default for Scope<'_> {
    /// `02:00:00:00:00:01` to `02:00:00:00:00:02`, untagged; IPv4 10.0.0.1 to 10.0.0.2, TTL 64, DF, identification 0,
    /// traffic class 0; UDP source port 0xc000; P_Key 0xffff; queue pair 0; PSNs count from 0; no regions.
    fn default() -> Self {
        let base = Roce {
            eth: Ethernet {
                dst: MacAddr([2, 0, 0, 0, 0, 2]),
                src: MacAddr([2, 0, 0, 0, 0, 1]),
                tags: ArrayVec::new(),
                ethertype: 0,
            },
            net: NetKind::V4.default(),
            udp: Some(UDP),
            bth: Bth::new(Opcode::RC_SEND_ONLY),
            ext: Extensions::default(),
            payload: &[],
            pad: &[],
            icrc: 0,
            trailer: &[],
        };
        Scope { base, regions: &[] }
    }
}

const UDP: Udp = Udp { sport: 0xc000, dport: ROCE_V2_PORT, len: 0, checksum: 0 };

/// Kind of network header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetKind {
    V4,
    V6,
    V1,
}

impl NetKind {
    pub(super) const ALL: [NetKind; 3] = [NetKind::V4, NetKind::V6, NetKind::V1];

    pub(super) fn of(net: &Net<'_>) -> NetKind {
        match net {
            Net::V4(_) => NetKind::V4,
            Net::V6(_) => NetKind::V6,
            Net::Grh(_) => NetKind::V1,
        }
    }

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            NetKind::V4 => "v4",
            NetKind::V6 => "v6",
            NetKind::V1 => "v1",
        }
    }

    /// The header of a packet of another kind than the base: between the same addresses where both kinds have them.
    fn ordinary(self, base: &Net<'_>) -> Net<'static> {
        let (src, dst) = (base.src_gid(), base.dst_gid());
        let v4 = src.to_ipv4_mapped().zip(dst.to_ipv4_mapped());
        let mut net = self.default();
        match (&mut net, v4) {
            (Net::V4(ip), Some((src, dst))) => (ip.src, ip.dst) = (src, dst),
            (Net::V6(ip), None) | (Net::Grh(ip), _) => (ip.src, ip.dst) = (src, dst),
            _ => {}
        }
        net
    }

    /// The header of a packet of this kind between the default addresses.
    fn default(self) -> Net<'static> {
        let v6 = |next_header, src, dst| Ipv6 {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_len: 0,
            next_header,
            hop_limit: 64,
            src,
            dst,
        };
        match self {
            NetKind::V4 => Net::V4(Ipv4 {
                version: 4,
                ihl: 5,
                tos: 0,
                total_len: 0,
                id: 0,
                flags_offset: Ipv4::DF,
                ttl: 64,
                protocol: PROTOCOL_UDP,
                checksum: 0,
                src: Ipv4Addr::new(10, 0, 0, 1),
                dst: Ipv4Addr::new(10, 0, 0, 2),
                options: &[],
            }),
            NetKind::V6 => Net::V6(v6(
                PROTOCOL_UDP,
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
            )),
            // The link-local addresses of the default MAC addresses.
            NetKind::V1 => Net::Grh(v6(
                NEXT_HEADER_IBA,
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 1),
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 2),
            )),
        }
    }
}

impl Scope<'_> {
    /// Where relative PSNs count from.
    pub(super) fn origin(&self) -> Psn {
        self.base.bth.psn
    }

    /// The base, as a packet of this opcode and kind: its fields are the ordinary ones where [`Ordinary::Base`] says so.
    pub(super) fn like_base<'b>(&self, opcode: Opcode, kind: NetKind, untagged: bool) -> Roce<'b> {
        let mut base: Roce<'b> = self.base.clone();
        base.bth.opcode = opcode;
        if NetKind::of(&base.net) != kind {
            base.net = kind.ordinary(&self.base.net);
        }
        base.udp = (kind != NetKind::V1).then_some(base.udp.unwrap_or(UDP));
        if untagged {
            base.eth.tags.clear();
        }
        base
    }

    /// The packet that a line with this head and nothing else stands for, before its derived fields are completed.
    pub(super) fn start<'b>(&self, head: Head, kind: NetKind, untagged: bool) -> Roce<'b> {
        let opcode = head.opcode;
        let base: Roce<'b> = self.like_base(opcode, kind, untagged);
        let mut packet = Roce {
            eth: base.eth.clone(),
            bth: Bth::new(opcode),
            ext: Extensions::default(),
            payload: &[],
            pad: &[],
            icrc: 0,
            trailer: &[],
            ..base
        };
        for field in FIELDS {
            let has = (field.get)(&packet).is_some();
            let value = match field.ordinary {
                Ordinary::Uint(number) if has => Some(Value::Uint(number)),
                Ordinary::Opcode(value) if has => Some(value(opcode)),
                Ordinary::Base => (field.get)(&base),
                _ => None,
            };
            if let Some(value) = value {
                (field.set)(&mut packet, value);
            }
        }
        if opcode.transport() != Transport::Cnp {
            packet.bth.psn = self.origin();
        }
        match head.class {
            Some(Class::RnrNak) => packet.ext.aeth.syndrome = Syndrome::rnr_nak(RnrTimer::new(0)),
            Some(Class::Nak) => packet.ext.aeth.syndrome = Syndrome::nak(NakCode::PsnSequenceError),
            Some(Class::Ack) | None => {}
        }
        packet
    }
}

/// The region of this name.
pub(super) fn named<'r, 'n>(regions: &'r [Region<'n>], name: &str) -> Option<&'r Region<'n>> {
    regions.iter().find(|region| region.name == name)
}

/// True for names that a line can hold.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
