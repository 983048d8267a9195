//! What does not decode says where it stops, and which length lied.

mod common;

use common::{encoded, packet, roce};
use rocespec_codec::notation::Scope;
use rocespec_codec::{Frame, decode};

/// Decodes the packet of a line, cut or filled to `len` bytes.
fn error(line: &str, len: Option<usize>) -> String {
    let mut buffer = [0; 256];
    let mut bytes = encoded(&packet(line, &Scope::default(), &mut buffer));
    bytes.resize(len.unwrap_or(bytes.len()), 0);
    match decode(&bytes) {
        Err(error) => error.to_string(),
        Ok(Frame::Roce(_)) => "RoCE".to_owned(),
        Ok(other) => format!("{other:?}").chars().take(5).collect(),
    }
}

#[test]
fn each_names_the_layer_the_place_and_the_length() {
    let cases = [
        ("SEND_ONLY 64B", Some(13), "Ethernet at byte 0: needs 14 bytes, but the end of the frame leaves 13"),
        ("SEND_ONLY vlan.id=1", Some(17), "VLAN tag at byte 14: needs 4 bytes, but the end of the frame leaves 3"),
        ("SEND_ONLY 64B", Some(33), "IPv4 at byte 14: needs 20 bytes, but the end of the frame leaves 19"),
        ("SEND_ONLY v6 64B", Some(53), "IPv6 at byte 14: needs 40 bytes, but the end of the frame leaves 39"),
        ("SEND_ONLY v1 64B", Some(53), "GRH at byte 14: needs 40 bytes, but the end of the frame leaves 39"),
        ("SEND_ONLY 64B", Some(121), "IPv4 at byte 14: the IPv4 total length claims 108 bytes, but there are 107"),
        (
            "SEND_ONLY v6 64B ip.len=89",
            None,
            "IPv6 at byte 14: the IPv6 payload length claims 89 bytes, but there are 88",
        ),
        (
            "SEND_ONLY v1 64B ip.len=81",
            None,
            "GRH at byte 14: the GRH payload length claims 81 bytes, but there are 80",
        ),
        (
            "SEND_ONLY ip.len=19",
            None,
            "IPv4 at byte 14: the IPv4 total length claims 19 bytes, but the layer around it gives 20",
        ),
        ("SEND_ONLY ip.ihl=4", None, "IPv4 at byte 14: header length of 4 words is below the least possible"),
        ("SEND_ONLY ip.version=5", None, "IPv4 at byte 14: version 5 is not the announced one"),
        ("SEND_ONLY ip.len=27", None, "UDP at byte 34: needs 8 bytes, but the IPv4 total length leaves 7"),
        ("SEND_ONLY 64B udp.len=89", None, "UDP at byte 34: the UDP length claims 89 bytes, but there are 88"),
        (
            "SEND_ONLY 64B udp.len=87",
            None,
            "UDP at byte 34: the UDP length claims 87 bytes, but the layer around it gives 88",
        ),
        ("SEND_ONLY ip.len=39 udp.len=19", None, "BTH at byte 42: needs 12 bytes, but the IPv4 total length leaves 11"),
        ("ACK ip.len=43 udp.len=23", None, "AETH at byte 54: needs 4 bytes, but the IPv4 total length leaves 3"),
        (
            "SEND_ONLY v6 ip.len=23 udp.len=23",
            None,
            "ICRC at byte 74: needs 4 bytes, but the IPv6 payload length leaves 3",
        ),
        (
            "SEND_ONLY pad=3 pad.data=none",
            None,
            "payload at byte 54: pad count 3, but only 0 bytes lie before the ICRC",
        ),
    ];
    for (line, len, said) in cases {
        assert_eq!(error(line, len), said, "{line} {len:?}");
    }
}

#[test]
fn what_is_not_roce_is_not_judged() {
    for line in ["udp.dport=4790", "ip.proto=6", "v6 ip.proto=0", "v1 ip.proto=0x1c", "eth.type=0x88cd"] {
        assert_eq!(error(&format!("SEND_ONLY 64B {line}"), None), "Other", "{line}");
    }
    assert_eq!(error("SEND_ONLY 64B ip.mf", None), "RoCE", "the first fragment has the headers");
}

#[test]
fn ethernet_padding_is_outside_of_the_packet() {
    let mut buffer = [0; 64];
    let bytes = encoded(&packet("SEND_ONLY", &Scope::default(), &mut buffer));
    assert_eq!((bytes.len(), roce(&bytes).payload.len(), roce(&bytes).trailer), (60, 0, &[0, 0][..]));
}
