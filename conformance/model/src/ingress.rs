//! The way in: what a frame must be before a queue pair looks at it. Whatever fails here is dropped without a word.

mod overlook;

use alloc::vec::Vec;

use rocespec_codec::{
    Bth, ETHERTYPE_MAC_CONTROL, Frame, Ipv4, MacControl, Net, Opcode, Qpn, Roce, Tag, Transport, decode, icrc,
};

use crate::config::{Config, GidEntry, GidKind};
use crate::counters::Counter;
use crate::defect::Defect;
use crate::multicast::{self, Groups};
use crate::qp::Qp;
use crate::qps::Qps;
use crate::verbs::{QpHandle, QpKind, QpState};

/// Whom a frame is for.
#[derive(Debug)]
pub(crate) enum Recipients {
    /// A queue pair.
    One(QpHandle),
    /// Those of a multicast group that can take it.
    Members(Vec<QpHandle>),
}

/// Whom a frame is for, and the packet in it; or why it is dropped.
///
/// `room` is where a repaired copy of the frame goes, when a defect asks for one.
pub(crate) fn admit<'f>(
    config: &Config,
    qps: &Qps,
    groups: &Groups,
    frame: &'f [u8],
    room: &'f mut Vec<u8>,
) -> Result<(Recipients, Roce<'f>), Counter> {
    let (mut packet, is_mended) = take_apart(config, frame, room)?;
    check_network(config, &packet)?;
    let (recipients, kind) = if packet.bth.dest_qp == Qpn::MULTICAST && !is_excused(config, &packet) {
        (Recipients::Members(members(config, qps, groups, &packet)?), QpKind::Ud)
    } else {
        let qp = find_qp(config, qps, &packet)?;
        check_addresses(config, qp, &packet)?;
        check_transport(config, qp, &packet)?;
        (Recipients::One(qp.handle), qp.kind)
    };
    // rule: icrc.responder.drop-bad, icrc.responder.masked, icrc.responder.covered, rc.requester.corrupt-ack
    let is_cnp = packet.bth.opcode.transport() == Transport::Cnp;
    // rule: congestion.reaction_point.only-valid
    let accepts =
        config.defects.has(Defect::AcceptsBadIcrc) || is_cnp && config.defects.has(Defect::AcceptsCnpWithBadIcrc);
    if !icrc_is_right(config, frame, &packet, is_mended) && !accepts {
        return Err(Counter::DropIcrc);
    }
    if is_cnp {
        return Ok((recipients, packet));
    }
    if config.defects.has(Defect::IgnoresTransportClass) {
        packet.bth.opcode = kind.opcode(packet.bth.opcode.operation());
    }
    // rule: frame.responder.trailer
    if config.defects.has(Defect::CountsTrailerAsPayload) && packet.payload.is_empty() {
        packet.payload = packet.trailer;
        packet.bth.pad_count = packet.trailer.len().wrapping_neg() as u8 & 3;
    }
    Ok((recipients, packet))
}

/// The MAC control frame that a frame is, if it is one.
pub(crate) fn mac_control(frame: &[u8]) -> Option<MacControl<'_>> {
    let ethertype = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = 12;
    while at < 20 && ethertype(at).is_some_and(Tag::is_tpid) {
        at += Tag::LEN;
    }
    if ethertype(at)? != ETHERTYPE_MAC_CONTROL {
        return None;
    }
    match decode(frame) {
        Ok(Frame::MacControl(control)) => Some(control),
        _ => None,
    }
}

/// The packet, and whether a defect of ours overlooked something in the frame.
fn take_apart<'f>(config: &Config, frame: &'f [u8], room: &'f mut Vec<u8>) -> Result<(Roce<'f>, bool), Counter> {
    // rule: frame.responder.udp-length, frame.responder.ip-version, frame.responder.truncated, frame.responder.grh
    // rule: frame.responder.total-length, frame.responder.udp-port
    let (packet, is_mended) = match decode(frame) {
        Ok(Frame::Roce(packet)) => (packet, false),
        Ok(_) => (overlook::in_frame(config, frame, room, None).ok_or(Counter::DropNotRoce)?, true),
        Err(error) => (overlook::in_frame(config, frame, room, Some(&error)).ok_or(Counter::DropMalformed)?, true),
    };
    // rule: ud.responder.multicast
    if packet.eth.dst != config.mac && multicast::mac(packet.net.dst_gid()) != Some(packet.eth.dst) {
        return Err(Counter::DropMac);
    }
    Ok((packet, is_mended))
}

fn check_network(config: &Config, packet: &Roce<'_>) -> Result<(), Counter> {
    let defects = config.defects;
    // rule: frame.responder.ipv4, frame.responder.ipv6, frame.responder.rocev1
    let refuses = match packet.net {
        Net::V4(_) => Defect::RefusesIpv4,
        Net::V6(_) => Defect::RefusesIpv6,
        Net::Grh(_) => Defect::RefusesRocev1,
    };
    // rule: frame.responder.udp-source-port
    let is_low = packet.udp.is_some_and(|udp| udp.sport < 0xc000);
    if defects.has(refuses) || is_low && defects.has(Defect::WantsHighSourcePort) {
        return Err(Counter::DropIpHeader);
    }
    if let Net::V4(ip) = &packet.net {
        // rule: frame.responder.ip-options
        if ip.ihl != 5 && !defects.has(Defect::AcceptsIpOptions) {
            return Err(Counter::DropIpHeader);
        }
        // rule: frame.responder.fragment
        if ip.flags_offset & (Ipv4::MF | 0x1fff) != 0 && !defects.has(Defect::AcceptsFragments) {
            return Err(Counter::DropIpHeader);
        }
        // rule: frame.responder.ip-checksum
        if ip.checksum != ip.right_checksum() && !defects.has(Defect::IgnoresIpChecksum) {
            return Err(Counter::DropIpHeader);
        }
    }
    Ok(())
}

fn find_qp<'q>(config: &Config, qps: &'q Qps, packet: &Roce<'_>) -> Result<&'q Qp, Counter> {
    // Queue pair 0 is not there on RoCE. Queue pair 1, which connection management uses, is out of scope: this endpoint
    // is told by its software whom it is connected with.
    // rule: bth.responder.unknown-qp, frame.responder.qp0
    let wanted: Qpn = packet.bth.dest_qp;
    let falls_back = config.defects.has(Defect::AnswersUnknownQp) || is_excused(config, packet);
    let fallback = || falls_back.then(|| qps.first()).flatten();
    qps.numbered(wanted).or_else(fallback).ok_or(Counter::DropUnknownQp)
}

/// True for a connected request to the multicast number, where a defect takes it for one to the first queue pair.
///
/// rule: bth.responder.multicast-qp
fn is_excused(config: &Config, packet: &Roce<'_>) -> bool {
    let is_connected = packet.bth.opcode.transport() != Transport::Ud;
    packet.bth.dest_qp == Qpn::MULTICAST && is_connected && config.defects.has(Defect::AnswersMulticastQp)
}

/// The members of the group that a multicast datagram is for.
///
/// rule: ud.responder.multicast, bth.responder.multicast-qp
fn members(config: &Config, qps: &Qps, groups: &Groups, packet: &Roce<'_>) -> Result<Vec<QpHandle>, Counter> {
    let group = packet.net.dst_gid();
    let is_datagram = packet.bth.opcode.transport() == Transport::Ud;
    if !is_datagram || !multicast::is_group(group) || config.defects.has(Defect::UdIgnoresMulticast) {
        return Err(Counter::DropUnknownQp);
    }
    let attached = groups.members(group).filter_map(|handle| qps.get(handle));
    let able = attached.filter(|qp| check_transport(config, qp, packet).is_ok()).map(|qp| qp.handle);
    let all = if config.defects.has(Defect::UdDeliversMulticastOnce) { 1 } else { usize::MAX };
    let members: Vec<_> = able.take(all).collect();
    if members.is_empty() { Err(Counter::DropUnknownQp) } else { Ok(members) }
}

/// Datagrams may come from anywhere to any GID of the port; a connection has one of each.
fn check_addresses(config: &Config, qp: &Qp, packet: &Roce<'_>) -> Result<(), Counter> {
    if qp.kind == QpKind::Ud {
        // rule: ud.responder.both-versions, ud.responder.any-source
        let named = GidEntry { gid: packet.net.dst_gid(), kind: GidKind::of(&packet.net) };
        let first_only = config.defects.has(Defect::UdTakesOneVersion);
        let known = if first_only { config.gids.get(..1).unwrap_or_default() } else { &config.gids };
        return if known.contains(&named) { Ok(()) } else { Err(Counter::DropDestination) };
    }
    let local = config.gids.get(qp.gid_index()).ok_or(Counter::DropDestination)?;
    // rule: frame.responder.destination
    if packet.net.dst_gid() != local.gid && !config.defects.has(Defect::IgnoresDestination) {
        return Err(Counter::DropDestination);
    }
    // rule: frame.responder.gid-kind
    if GidKind::of(&packet.net) != local.kind && !config.defects.has(Defect::IgnoresGidKind) {
        return Err(Counter::DropDestination);
    }
    // rule: frame.responder.source
    let connected = qp.state != QpState::Reset && qp.state != QpState::Init;
    let from_peer = qp.attributes.remote_gid == Some(packet.net.src_gid());
    if connected && !from_peer && !config.defects.has(Defect::IgnoresSource) {
        return Err(Counter::DropSource);
    }
    Ok(())
}

fn check_transport(config: &Config, qp: &Qp, packet: &Roce<'_>) -> Result<(), Counter> {
    let defects = config.defects;
    let Bth { opcode, tver, pkey, migreq, resv6, resv7, .. } = packet.bth;
    // rule: bth.responder.transport-class
    match opcode.transport() {
        own if own == qp.kind.transport() => {}
        Transport::Cnp if opcode == Opcode::CNP => {}
        _ if defects.has(Defect::IgnoresTransportClass) && reads_the_same(opcode, qp.kind) => {}
        _ => return Err(Counter::DropTransportClass),
    }
    // rule: bth.responder.qp-state, rc.responder.error-silence
    let is_excused = qp.state == QpState::Init && defects.has(Defect::ReceivesBeforeRtr);
    if !qp.can_receive() && !is_excused {
        return Err(Counter::DropQpState);
    }
    // rule: bth.responder.tver
    if tver != 0 && !defects.has(Defect::IgnoresTver) {
        return Err(Counter::DropBth);
    }
    // rule: bth.responder.reserved-ignored
    if (resv6 != 0 || resv7 != 0) && defects.has(Defect::DropsReservedBits) {
        return Err(Counter::DropBth);
    }
    // rule: bth.responder.migreq
    if migreq && defects.has(Defect::DropsMigrated) {
        return Err(Counter::DropBth);
    }
    // rule: bth.responder.pkey, bth.responder.pkey-membership
    let same_partition = (pkey.get() ^ qp.pkey.get()) & 0x7fff == 0;
    let excused = same_partition && defects.has(Defect::AcceptsTwoLimitedMembers) || defects.has(Defect::IgnoresPkey);
    // A CNP has the P_Key of the packet that it answers, the queue pair's own: two limited members are no stop to it.
    let comes_back = opcode == Opcode::CNP && same_partition;
    if pkey.matches(qp.pkey) || comes_back || excused { Ok(()) } else { Err(Counter::DropPkey) }
}

/// True when the packet has the headers that go with the queue pair's own opcode of the same operation.
fn reads_the_same(opcode: Opcode, kind: QpKind) -> bool {
    opcode.headers() == kind.opcode(opcode.operation()).headers()
}

fn icrc_is_right(config: &Config, frame: &[u8], packet: &Roce<'_>, is_mended: bool) -> bool {
    // rule: icrc.responder.pad
    if config.defects.has(Defect::IcrcWithoutPad) {
        return packet.icrc == icrc::compute(&Roce { pad: &[], ..packet.clone() });
    }
    // rule: icrc.responder.polynomial
    if config.defects.has(Defect::IcrcCastagnoli) {
        return packet.icrc == icrc::crc32c(packet);
    }
    // rule: icrc.responder.covered
    if config.defects.has(Defect::IcrcWithoutReserved) {
        return packet.icrc == icrc::compute(&Roce { bth: Bth { resv7: 0, ..packet.bth }, ..packet.clone() });
    }
    // A packet that was mended does not stand in this frame.
    if is_mended { icrc::verify(packet) } else { icrc::verify_in(frame, packet) }
}
