//! The way out: a transport packet to a frame.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use rocespec_codec::{
    Bth, Ecn, Ethernet, Extensions, Ipv4, Ipv6, MacAddr, Net, Opcode, PKey, Psn, ROCE_V2_PORT, Roce, Udp, encode,
    encoded_len, field, icrc,
};

use crate::config::{Config, GidKind};
use crate::defect::Defect;
use crate::qp::Qp;

/// What the transport says of a packet; the rest follows from the queue pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) opcode: Opcode,
    pub(crate) psn: Psn,
    pub(crate) ext: Extensions,
    pub(crate) payload: Vec<u8>,
}

/// The frame that carries `packet` to the peer of `qp`.
pub(crate) fn frame(
    config: &Config,
    neighbours: &BTreeMap<Ipv6Addr, MacAddr>,
    qp: &Qp,
    ip_id: u16,
    packet: &Packet,
) -> Vec<u8> {
    let net = network(config, qp, ip_id);
    let mut frame = Roce {
        eth: link(config, neighbours, qp),
        net,
        udp: (!matches!(net, Net::Grh(_))).then(|| Udp {
            sport: source_port(config, qp),
            // rule: frame.responder.udp-port
            dport: ROCE_V2_PORT,
            len: 0,
            checksum: 0,
        }),
        bth: transport(config, qp, packet),
        ext: packet.ext,
        payload: &packet.payload,
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    field::complete(&mut frame, |_| false);
    spoil(config, &mut frame);
    let mut bytes = vec![0; encoded_len(&frame)];
    encode(&frame, &mut bytes).expect("the buffer has the length that the frame needs");
    bytes
}

fn link(config: &Config, neighbours: &BTreeMap<Ipv6Addr, MacAddr>, qp: &Qp) -> Ethernet {
    let peer = qp.attributes.remote_gid.and_then(|gid| neighbours.get(&gid).copied());
    // rule: frame.responder.vlan
    let mut tags = qp.last_link.as_ref().map(|link| link.tags.clone()).unwrap_or_default();
    if let Some(tag) = tags.first_mut() {
        let priority = u16::from(qp.attributes.service_level.unwrap_or(0));
        tag.tci = tag.tci & 0x1fff | priority << 13;
    }
    // The type follows from the network layer.
    Ethernet { dst: peer.unwrap_or_else(|| qp.learned_mac()), src: config.mac, tags, ethertype: 0 }
}

fn network<'a>(config: &Config, qp: &Qp, ip_id: u16) -> Net<'a> {
    let attributes = &qp.attributes;
    let local = config.gids.get(qp.gid_index());
    let kind = local.map_or(GidKind::RoceV2, |entry| entry.kind);
    let src = local.map_or(Ipv6Addr::UNSPECIFIED, |entry| entry.gid);
    let dst = attributes.remote_gid.unwrap_or(Ipv6Addr::UNSPECIFIED);
    // rule: frame.responder.traffic-class, frame.responder.ecn
    let traffic_class = attributes.traffic_class.unwrap_or(0);
    let marks_itself = traffic_class & 3 == Ecn::Ce as u8;
    let traffic_class = if marks_itself { traffic_class & !3 } else { traffic_class };
    let traffic_class = if config.defects.has(Defect::IgnoresTrafficClass) { 0 } else { traffic_class };
    // rule: frame.responder.hop-limit
    let hop_limit = attributes.hop_limit.unwrap_or(64);
    let hop_limit = if config.defects.has(Defect::IgnoresHopLimit) { 1 } else { hop_limit };
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
        flow_label: attributes.flow_label.unwrap_or(0),
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
fn source_port(config: &Config, qp: &Qp) -> u16 {
    // rule: frame.responder.source-port
    let label = match qp.attributes.flow_label.unwrap_or(0) {
        0 => {
            let mut product = u64::from(qp.qpn.get()) * u64::from(qp.peer_qpn().get());
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
fn transport(config: &Config, qp: &Qp, packet: &Packet) -> Bth {
    let is_ack = packet.opcode == Opcode::RC_ACKNOWLEDGE;
    let defects = config.defects;
    Bth {
        se: is_ack && defects.has(Defect::AckSolicited),
        ack_req: is_ack && defects.has(Defect::AckAsksForAck),
        pkey: if defects.has(Defect::AckWithoutPkey) { PKey::new(0) } else { qp.pkey() },
        dest_qp: if defects.has(Defect::AckToOwnQp) { qp.qpn } else { qp.peer_qpn() },
        psn: packet.psn,
        ..Bth::new(packet.opcode)
    }
}

/// What defects do to a frame that is otherwise ready.
fn spoil(config: &Config, frame: &mut Roce<'_>) {
    // rule: frame.responder.ip-length
    if config.defects.has(Defect::LengthsWithoutIcrc) {
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
        frame.icrc = icrc::compute(frame);
    }
    // rule: icrc.responder.pad
    if config.defects.has(Defect::IcrcWithoutPad) {
        frame.icrc = icrc::compute(&Roce { pad: &[], ..frame.clone() });
    }
    // rule: icrc.responder.byte-order
    if config.defects.has(Defect::IcrcByteSwapped) {
        frame.icrc = frame.icrc.swap_bytes();
    }
}
