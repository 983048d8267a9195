//! The BTH and the headers behind it.

use rocespec_codec::{Header, NakCode, PayloadRule, Roce, SyndromeClass, Transport};

use super::Found;
use crate::oracle::Ends;

pub(super) fn lint(packet: &Roce<'_>, ends: &Ends, found: &mut Found) {
    lint_ends(packet, ends, found);
    let bth = &packet.bth;
    // rule: lint.bth-tver
    found.must(
        "lint.bth-tver",
        bth.tver == 0,
        &|| "tver=0".to_owned(),
        &|| format!("tver={}", bth.tver),
        "there is no other transport version",
    );
    // rule: lint.bth-reserved
    found.must(
        "lint.bth-reserved",
        bth.resv6 == 0 && bth.resv7 == 0,
        &|| "resv6=0 resv7=0".to_owned(),
        &|| format!("resv6={:#x} resv7={:#x}", bth.resv6, bth.resv7),
        "reserved bits are sent as 0",
    );
    // rule: lint.pad
    let pad = packet.payload.len().wrapping_neg() & 3;
    found.must(
        "lint.pad",
        usize::from(bth.pad_count) == pad,
        &|| format!("pad={pad}"),
        &|| format!("pad={} behind {} bytes", bth.pad_count, packet.payload.len()),
        "the pad fills the payload up to a multiple of 4",
    );
    let Some(info) = bth.opcode.info() else { return };
    // rule: lint.ack-fields
    found.must(
        "lint.ack-fields",
        !info.is_response() || !bth.ack_req && !bth.se,
        &|| "ack=0 se=0".to_owned(),
        &|| format!("ack={} se={}", u8::from(bth.ack_req), u8::from(bth.se)),
        "a response never asks for an acknowledgement and never raises a solicited event",
    );
    let bare = info.is_response() && info.payload == PayloadRule::Empty;
    found.must(
        "lint.ack-fields",
        !bare || packet.payload.is_empty() && bth.pad_count == 0,
        &|| "no payload, pad=0".to_owned(),
        &|| format!("{} bytes, pad={}", packet.payload.len(), bth.pad_count),
        "an acknowledgement has neither payload nor padding",
    );
    // rule: rc.requester.solicited
    found.must(
        "rc.requester.solicited",
        !info.is_request() || !bth.se || info.may_solicit(),
        &|| format!("{} with se=0", info.name),
        &|| "se=1".to_owned(),
        "only the last packet of a SEND or of a WRITE with immediate raises a solicited event",
    );
    lint_extensions(packet, found);
}

/// Who sends to whom.
fn lint_ends(packet: &Roce<'_>, ends: &Ends, found: &mut Found) {
    let bth = &packet.bth;
    // Datagrams (the management traffic of a port) belong to no connection, and XRC has a queue pair for each direction.
    if matches!(bth.opcode.transport(), Transport::Rc | Transport::Uc | Transport::Cnp) {
        // rule: lint.dest-qp
        found.must(
            "lint.dest-qp",
            bth.dest_qp == ends.peer_qpn,
            &|| format!("qp={}", ends.peer_qpn),
            &|| format!("qp={}", bth.dest_qp),
            "a packet goes to the queue pair that the connection names",
        );
        // rule: lint.pkey
        found.must(
            "lint.pkey",
            ends.pkey.is_none_or(|pkey| bth.pkey.matches(pkey)),
            &|| ends.pkey.map_or_else(String::new, |pkey| format!("pkey={pkey}")),
            &|| format!("pkey={}", bth.pkey),
            "a packet carries a partition key that matches that of the connection",
        );
    }
    // rule: ud.requester.source-qp
    found.must(
        "ud.requester.source-qp",
        bth.opcode.transport() != Transport::Ud
            || bth.dest_qp != ends.peer_qpn
            || packet.ext.deth.src_qp == ends.own_qpn,
        &|| format!("src_qp={}", ends.own_qpn),
        &|| format!("src_qp={}", packet.ext.deth.src_qp),
        "a datagram names the queue pair that sends it",
    );
}

/// Reserved codes and bits behind the BTH. Headers that are not there are 0.
fn lint_extensions(packet: &Roce<'_>, found: &mut Found) {
    let ext = &packet.ext;
    let reserved = [
        ("deth", u32::from(ext.deth.reserved)),
        ("xrceth", u32::from(ext.xrceth.reserved)),
        ("rdeth", u32::from(ext.rdeth.reserved)),
        // Selectivity and placement stand below, and of those two bits are reserved.
        ("feth", ext.feth.0 & !0b11_0011),
    ];
    for (header, bits) in reserved {
        // rule: lint.ext-reserved
        found.must(
            "lint.ext-reserved",
            bits == 0,
            &|| format!("reserved bits of the {header} 0"),
            &|| format!("{bits:#x}"),
            "reserved bits are sent as 0",
        );
    }
    if packet.bth.opcode.headers().contains(&Header::Aeth) {
        let syndrome = ext.aeth.syndrome;
        // rule: lint.aeth-syndrome
        found.must(
            "lint.aeth-syndrome",
            !matches!(syndrome.class(), SyndromeClass::Nak(NakCode::Reserved(_)) | SyndromeClass::Reserved(_)),
            &|| "an ACK, an RNR NAK, or a NAK with a code of 0 to 4".to_owned(),
            &|| format!("syndrome={:#04x}", syndrome.0),
            "no requester knows what a reserved code means",
        );
    }
}
