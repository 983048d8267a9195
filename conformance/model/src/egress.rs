//! The way out: a transport packet to a frame.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use rocespec_codec::{
    Bth, Ecn, Ethernet, Info, Ipv4, Ipv6, MacAddr, Net, Opcode, PKey, ROCE_V2_PORT, Roce, Transport, Udp, encode,
    encoded_len, field, icrc,
};

use crate::config::{Config, GidKind};
use crate::defect::Defect;
use crate::memory::Memory;
use crate::multicast;
use crate::packet::Packet;
use crate::qp::Qp;
use crate::route::Route;
use crate::verbs::QpKind;

/// The frame that carries `packet` to the peer of `qp`.
pub(crate) fn frame(
    config: &Config,
    neighbours: &BTreeMap<Ipv6Addr, MacAddr>,
    memory: &Memory,
    qp: &Qp,
    ip_id: u16,
    packet: &Packet,
) -> Vec<u8> {
    let to_peer;
    let route = match &packet.route {
        Some(route) => route,
        None => {
            to_peer = Route::to_peer(qp);
            &to_peer
        }
    };
    let net = network(config, route, packet.opcode, ip_id);
    let mut frame = Roce {
        eth: link(config, neighbours, route),
        net,
        udp: (!matches!(net, Net::Grh(_))).then(|| Udp {
            sport: source_port(config, qp, route),
            // rule: frame.responder.udp-port
            dport: ROCE_V2_PORT,
            len: 0,
            checksum: 0,
        }),
        bth: transport(config, qp, route, packet),
        ext: packet.ext,
        payload: packet.payload.bytes(memory),
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    // rule: rc.requester.pad
    // The length in a RETH is that of the message, which the packet alone does not say.
    field::complete(&mut frame, |field| matches!(field.name, "len" | "icrc"));
    if config.defects.has(Defect::SendsPadUncounted) {
        frame.bth.pad_count = 0;
    }
    if config.defects.has(Defect::LengthsWithoutIcrc) {
        shorten(&mut frame);
    }
    let mut bytes = vec![0; encoded_len(&frame)];
    encode(&frame, &mut bytes).expect("the buffer has the length that the frame needs");
    // From the bytes as they stand, which is faster than from the headers once more.
    let icrc = spoil(config, &frame, icrc::compute_in(&bytes, &frame));
    let end = bytes.len() - frame.trailer.len();
    bytes[end - 4..end].copy_from_slice(&icrc.to_le_bytes());
    bytes
}

fn link(config: &Config, neighbours: &BTreeMap<Ipv6Addr, MacAddr>, route: &Route) -> Ethernet {
    let defects = config.defects;
    let (learned, mut tags) = match &route.learned {
        // rule: frame.responder.vlan
        Some(link) if defects.has(Defect::SendsUntagged) => (link.src, Default::default()),
        Some(link) => (link.src, link.tags.clone()),
        None => Default::default(),
    };
    let dst =
        multicast::mac(route.remote_gid).or_else(|| neighbours.get(&route.remote_gid).copied()).unwrap_or(learned);
    if let Some(tag) = tags.first_mut() {
        tag.tci = tag.tci & 0x1fff | u16::from(route.service_level) << 13;
    }
    // The type follows from the network layer.
    Ethernet { dst, src: config.mac, tags, ethertype: 0 }
}

fn network<'a>(config: &Config, route: &Route, opcode: Opcode, ip_id: u16) -> Net<'a> {
    let local = config.gids.get(route.gid_index);
    let kind = local.map_or(GidKind::RoceV2, |entry| entry.kind);
    let src = local.map_or(Ipv6Addr::UNSPECIFIED, |entry| entry.gid);
    let dst = route.remote_gid;
    // rule: frame.responder.traffic-class, frame.responder.ecn
    let traffic_class = route.traffic_class;
    let marks_itself = traffic_class & 3 == Ecn::Ce as u8;
    let traffic_class = if marks_itself { traffic_class & !3 } else { traffic_class };
    let says_nothing = traffic_class & 3 == Ecn::NotEct as u8 && opcode.transport() != Transport::Cnp;
    let capable = if says_nothing && config.congestion.ecn_capable { Ecn::Ect0 as u8 } else { 0 };
    let traffic_class = traffic_class | capable;
    let traffic_class = if config.defects.has(Defect::IgnoresTrafficClass) { 0 } else { traffic_class };
    let traffic_class = if config.defects.has(Defect::MarksItself) { traffic_class | 3 } else { traffic_class };
    // rule: frame.responder.hop-limit
    let hop_limit = if config.defects.has(Defect::IgnoresHopLimit) { 1 } else { route.hop_limit };
    if kind == GidKind::RoceV2
        && let (Some(src), Some(dst)) = (src.to_ipv4_mapped(), dst.to_ipv4_mapped())
    {
        // rule: frame.responder.dont-fragment
        let flags_offset = if config.defects.has(Defect::SendsWithoutDontFragment) { 0 } else { Ipv4::DF };
        return Net::V4(Ipv4 {
            version: 4,
            ihl: 5,
            tos: traffic_class,
            total_len: 0,
            id: ip_id,
            flags_offset,
            ttl: hop_limit,
            protocol: 0,
            checksum: 0,
            src,
            dst,
            options: &[],
        });
    }
    let ip = Ipv6 {
        version: 6,
        traffic_class,
        flow_label: route.flow_label,
        payload_len: 0,
        next_header: 0,
        hop_limit,
        src,
        dst,
    };
    if kind == GidKind::RoceV1 { Net::Grh(ip) } else { Net::V6(ip) }
}

/// One port per queue pair, so that a network that spreads flows keeps its packets in order (A17.3.2.1): 0xc000 and the
/// flow label, or where that is 0 the two queue pair numbers, folded to 14 bits.
fn source_port(config: &Config, qp: &Qp, route: &Route) -> u16 {
    // rule: frame.responder.source-port
    let label = match route.flow_label {
        0 => {
            let mut product = u64::from(qp.qpn.get()) * u64::from(route.dest_qpn.get());
            product ^= product >> 20;
            product ^= product >> 40;
            product as u32 & 0xf_ffff
        }
        label => label,
    };
    let port = 0xc000 | ((label & 0x3fff) ^ (label >> 14)) as u16;
    if config.defects.has(Defect::ChangesSourcePort) { port ^ (qp.frames_sent as u16 & 0x3fff) } else { port }
}

/// rule: rc.responder.ack-fields
fn transport(config: &Config, qp: &Qp, route: &Route, packet: &Packet) -> Bth {
    let is_ack = packet.opcode == Opcode::RC_ACKNOWLEDGE;
    let defects = config.defects;
    let is_response = packet.opcode.info().is_some_and(Info::is_response);
    Bth {
        se: packet.solicited || is_ack && defects.has(Defect::AckSolicited),
        ack_req: packet.ack_request || is_ack && defects.has(Defect::AckAsksForAck),
        pkey: if is_response && defects.has(Defect::AckWithoutPkey) {
            PKey::new(0)
        } else {
            packet.pkey.unwrap_or(qp.pkey)
        },
        // rule: congestion.notification_point.cnp-fields
        migreq: config.policy.sends_migrated && packet.opcode.transport() != Transport::Cnp,
        becn: packet.becn,
        dest_qp: if is_response && defects.has(Defect::AckToOwnQp) { qp.qpn } else { route.dest_qpn },
        psn: packet.psn,
        ..Bth::new(on_the_wire(config, qp.kind, packet.opcode))
    }
}

/// The transport itself speaks RC; other services have the same operations in a class of their own.
///
/// rule: uc.requester.opcodes, ud.requester.opcodes
fn on_the_wire(config: &Config, kind: QpKind, opcode: Opcode) -> Opcode {
    let own = kind.opcode(opcode.operation());
    let is_foreign = opcode.transport() != Transport::Rc || own.info().is_none();
    // Answers that only a defect gives have no opcode of their own.
    let keeps = match kind {
        QpKind::Uc => config.defects.has(Defect::UcSendsRcOpcodes),
        QpKind::Ud => config.defects.has(Defect::UdSendsRcOpcodes),
        _ => false,
    };
    if is_foreign || keeps { opcode } else { own }
}

/// Leaves the ICRC out of the lengths.
///
/// rule: frame.responder.ip-length
fn shorten(frame: &mut Roce<'_>) {
    match &mut frame.net {
        Net::V4(ip) => {
            ip.total_len -= 4;
            ip.checksum = ip.right_checksum();
        }
        Net::V6(ip) | Net::Grh(ip) => ip.payload_len -= 4,
    }
    if let Some(udp) = &mut frame.udp {
        udp.len -= 4;
    }
}

/// What defects do to the ICRC of a frame.
fn spoil(config: &Config, frame: &Roce<'_>, icrc: u32) -> u32 {
    // rule: icrc.responder.pad
    let without_pad = config.defects.has(Defect::IcrcWithoutPad);
    let icrc = if without_pad { icrc::compute(&Roce { pad: &[], ..frame.clone() }) } else { icrc };
    // rule: icrc.responder.polynomial
    let icrc = if config.defects.has(Defect::IcrcCastagnoli) { icrc::crc32c(frame) } else { icrc };
    // rule: icrc.responder.byte-order
    if config.defects.has(Defect::IcrcByteSwapped) { icrc.swap_bytes() } else { icrc }
}
