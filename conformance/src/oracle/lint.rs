//! Rules on a single frame: lengths, reserved bits, checksums, the ICRC.

use rocespec_codec::{
    DecodeError, Ecn, ErrorKind, Ipv4, LengthSource, Net, PKey, PayloadRule, Qpn, Roce, Transport, icrc,
};
use rocespec_reports::outcome::Level;

use super::Breach;

/// What is known of the connection that a frame of the device belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// Queue pair of the tester: where the device must send to.
    pub tester_qpn: Qpn,
    /// Queue pair of the device.
    pub device_qpn: Qpn,
}

/// A frame on the RoCE port that cannot be taken apart.
pub fn undecodable(error: &DecodeError) -> Breach {
    let rule = match error.kind {
        ErrorKind::TooLong { field, .. } | ErrorKind::Disagree { field, .. } => match field {
            LengthSource::UdpLength => "lint.udp-length",
            LengthSource::Frame => "lint.undecodable",
            _ => "lint.ip-length",
        },
        _ => "lint.undecodable",
    };
    Breach {
        rule,
        level: Level::Must,
        expected: "a frame whose lengths agree".to_owned(),
        seen: error.to_string(),
        why: "a receiver drops a frame whose layers and length fields do not agree",
    }
}

/// Every rule that a frame from the device breaks on its own.
pub fn lint(packet: &Roce<'_>, ends: &Ends) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // Said only when it is needed: nearly every frame is right.
    let mut must = |rule, right: bool, expected: &dyn Fn() -> String, seen: &dyn Fn() -> String, why| {
        if !right {
            breaches.push(Breach { rule, level: Level::Must, expected: expected(), seen: seen(), why });
        }
    };
    let bth = &packet.bth;

    // rule: lint.icrc
    let right = icrc::compute(packet);
    must(
        "lint.icrc",
        packet.icrc == right,
        &|| format!("icrc={right:#010x}"),
        &|| format!("icrc={:#010x}", packet.icrc),
        "every receiver drops a packet whose ICRC is wrong",
    );
    // Datagrams (the management traffic of a port) belong to no connection.
    if matches!(bth.opcode.transport(), Transport::Rc | Transport::Uc | Transport::Cnp) {
        // rule: lint.dest-qp
        must(
            "lint.dest-qp",
            bth.dest_qp == ends.tester_qpn,
            &|| format!("qp={}", ends.tester_qpn),
            &|| format!("qp={}", bth.dest_qp),
            "a packet goes to the queue pair that the connection names",
        );
        // rule: lint.pkey
        must(
            "lint.pkey",
            bth.pkey.matches(PKey::DEFAULT),
            &|| format!("pkey={}", PKey::DEFAULT),
            &|| format!("pkey={}", bth.pkey),
            "a packet carries a partition key that matches that of the connection",
        );
    }
    // rule: ud.requester.source-qp
    must(
        "ud.requester.source-qp",
        bth.opcode.transport() != Transport::Ud
            || bth.dest_qp != ends.tester_qpn
            || packet.ext.deth.src_qp == ends.device_qpn,
        &|| format!("src_qp={}", ends.device_qpn),
        &|| format!("src_qp={}", packet.ext.deth.src_qp),
        "a datagram names the queue pair that sends it",
    );
    // rule: lint.bth-tver
    must(
        "lint.bth-tver",
        bth.tver == 0,
        &|| "tver=0".to_owned(),
        &|| format!("tver={}", bth.tver),
        "there is no other transport version",
    );
    // rule: lint.bth-reserved
    must(
        "lint.bth-reserved",
        bth.resv6 == 0 && bth.resv7 == 0,
        &|| "resv6=0 resv7=0".to_owned(),
        &|| format!("resv6={:#x} resv7={:#x}", bth.resv6, bth.resv7),
        "reserved bits are sent as 0",
    );
    // rule: lint.pad
    let pad = packet.payload.len().wrapping_neg() & 3;
    must(
        "lint.pad",
        usize::from(bth.pad_count) == pad,
        &|| format!("pad={pad}"),
        &|| format!("pad={} behind {} bytes", bth.pad_count, packet.payload.len()),
        "the pad fills the payload up to a multiple of 4",
    );
    if let Net::V4(ip) = packet.net {
        // rule: lint.ipv4-header-length
        must(
            "lint.ipv4-header-length",
            ip.ihl == 5,
            &|| "ip.ihl=5".to_owned(),
            &|| format!("ip.ihl={}", ip.ihl),
            "RoCE v2 has no IPv4 options",
        );
        // rule: lint.fragment
        must(
            "lint.fragment",
            ip.flags_offset == Ipv4::DF,
            &|| "ip.df ip.mf=0 ip.offset=0".to_owned(),
            &|| format!("flags and offset {:#06x}", ip.flags_offset),
            "RoCE v2 is never fragmented",
        );
        // rule: lint.ip-checksum
        let right = ip.right_checksum();
        must(
            "lint.ip-checksum",
            ip.checksum == right,
            &|| format!("ip.checksum={right:#06x}"),
            &|| format!("ip.checksum={:#06x}", ip.checksum),
            "routers and receivers drop a datagram whose header checksum is wrong",
        );
    }
    if let Some(info) = bth.opcode.info() {
        // rule: lint.ack-fields
        must(
            "lint.ack-fields",
            !info.is_response() || !bth.ack_req && !bth.se,
            &|| "ack=0 se=0".to_owned(),
            &|| format!("ack={} se={}", u8::from(bth.ack_req), u8::from(bth.se)),
            "a response never asks for an acknowledgement and never raises a solicited event",
        );
        let bare = info.is_response() && info.payload == PayloadRule::Empty;
        must(
            "lint.ack-fields",
            !bare || packet.payload.is_empty() && bth.pad_count == 0,
            &|| "no payload, pad=0".to_owned(),
            &|| format!("{} bytes, pad={}", packet.payload.len(), bth.pad_count),
            "an acknowledgement has neither payload nor padding",
        );
    }
    // rule: lint.ecn
    if packet.net.ecn() == Ecn::Ce {
        breaches.push(Breach {
            rule: "lint.ecn",
            // No more: a congested switch on the way may have done it.
            level: Level::Should,
            expected: "ip.ecn other than ce".to_owned(),
            seen: "ip.ecn=ce".to_owned(),
            why: "a sender does not mark its own packets; only a congested switch does",
        });
    }
    // rule: lint.udp-checksum
    if let Some(udp) = packet.udp
        && udp.checksum != 0
    {
        breaches.push(Breach {
            rule: "lint.udp-checksum",
            level: Level::Should,
            expected: "udp.checksum=0".to_owned(),
            seen: format!("udp.checksum={:#06x}", udp.checksum),
            why: "the UDP checksum should be 0; the ICRC protects the packet",
        });
    }
    breaches
}

/// Packets of a connection leave from one UDP source port, so that a network which spreads flows keeps them in order.
pub fn source_port(first: Option<u16>, seen: Option<u16>) -> Option<Breach> {
    let (first, seen) = (first?, seen?);
    // rule: frame.responder.source-port
    (first != seen).then(|| Breach {
        rule: "frame.responder.source-port",
        level: Level::Should,
        expected: format!("udp.sport={first}"),
        seen: format!("udp.sport={seen}"),
        why: "packets that must stay in order should have one UDP source port",
    })
}
