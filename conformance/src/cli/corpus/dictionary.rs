//! Words that a RoCE parser looks for, in the form that libFuzzer and AFL++ read.

use std::fmt::Write as _;

use rocespec_codec::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, NEXT_HEADER_IBA, NakCode, Opcode, PROTOCOL_UDP, ROCE_V2_PORT,
    Syndrome,
};

/// The file.
pub(super) fn text() -> String {
    let mut text = String::from("# Words of RoCE, for -dict= of libFuzzer and -x of AFL++.\n");
    let mut put = |name: &str, bytes: &[u8]| {
        let _ = write!(text, "{name}=\"");
        for byte in bytes {
            let _ = write!(text, "\\x{byte:02x}");
        }
        text.push_str("\"\n");
    };
    put("ethertype_ipv4", &ETHERTYPE_IPV4.to_be_bytes());
    put("ethertype_ipv6", &ETHERTYPE_IPV6.to_be_bytes());
    put("ethertype_roce_v1", &ETHERTYPE_ROCE_V1.to_be_bytes());
    for (name, tpid) in [("tag_c", 0x8100u16), ("tag_s", 0x88a8), ("tag_old", 0x9100)] {
        put(name, &tpid.to_be_bytes());
    }
    put("ipv4_start", &[0x45, 0]);
    put("ipv4_ttl_udp", &[64, PROTOCOL_UDP]);
    put("ipv6_start", &[0x60, 0, 0, 0]);
    put("ipv6_udp_hops", &[PROTOCOL_UDP, 64]);
    put("grh_iba_hops", &[NEXT_HEADER_IBA, 64]);
    put("udp_port_roce", &ROCE_V2_PORT.to_be_bytes());
    // An opcode alone is one byte, which a fuzzer finds by itself: with its flags and partition key it starts a BTH.
    for opcode in Opcode::DEFINED {
        if let Some(info) = opcode.info() {
            put(&format!("bth_{}", info.name.to_lowercase()), &[opcode.0, 0, 0xff, 0xff]);
        }
    }
    put("bth_reserved_opcode", &[0x15, 0, 0xff, 0xff]);
    for pad in 1..=3u8 {
        put(&format!("bth_pad_{pad}"), &[Opcode::RC_SEND_ONLY.0, pad << 4, 0xff, 0xff]);
    }
    put("qp_general_services", &[0, 0, 0, 1]);
    put("qp_multicast", &[0, 0xff, 0xff, 0xff]);
    put("psn_last", &[0x80, 0xff, 0xff, 0xff]);
    put("psn_first", &[0x80, 0, 0, 0]);
    put("aeth_ack", &[0x1f, 0, 0, 1]);
    put("aeth_rnr_nak", &[0x2e, 0, 0, 1]);
    for code in 0..=5 {
        let code = NakCode::new(code);
        let name = code.name().unwrap_or("reserved");
        put(&format!("aeth_nak_{name}"), &[Syndrome::nak(code).0, 0, 0, 1]);
    }
    put("aeth_reserved", &[0x45, 0, 0, 1]);
    put("qkey_general_services", &[0x80, 0x01, 0, 0]);
    put("dma_length_largest", &[0x80, 0, 0, 0]);
    // Management datagrams: base version 1, class, class version, method.
    put("mad_connection", &[1, 0x07, 2, 3]);
    put("mad_subnet_get", &[1, 0x03, 2, 1]);
    for (name, attribute) in [
        ("req", 0x10u16),
        ("mra", 0x11),
        ("rej", 0x12),
        ("rep", 0x13),
        ("rtu", 0x14),
        ("dreq", 0x15),
        ("drep", 0x16),
        ("sidr_req", 0x17),
        ("sidr_rep", 0x18),
        ("lap", 0x19),
        ("apr", 0x1a),
    ] {
        let [high, low] = attribute.to_be_bytes();
        put(&format!("cm_{name}"), &[high, low, 0, 0]);
    }
    put("pause", &[0x88, 0x08, 0x00, 0x01]);
    put("pfc", &[0x88, 0x08, 0x01, 0x01]);
    put("lldp_dcbx", &[0xfe, 0x00, 0x00, 0x80, 0xc2]);
    put("lldp_cee", &[0xfe, 0x00, 0x00, 0x1b, 0x21]);
    put("icrc_placeholder", &[0xef, 0xbe, 0xad, 0xde]);
    text
}
