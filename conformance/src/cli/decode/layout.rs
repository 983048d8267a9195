//! Where each field lies in the bytes of a packet.

use std::ops::Range;

use rocespec_codec::{Header, Net, Roce};

/// Some bytes of a packet that hold one field, or several that share them.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Part {
    /// Bytes of the frame.
    pub(in crate::cli) bytes: Range<usize>,
    /// Name of the layer.
    pub(in crate::cli) layer: &'static str,
    /// Fields by their names in [`rocespec_codec::field::FIELDS`], high bits first; `opcode` is that of the BTH.
    pub(in crate::cli) fields: &'static [&'static str],
}

/// Length and fields, in wire order.
type Layout = &'static [(usize, &'static [&'static str])];

const IPV4: Layout = &[
    (1, &["ip.version", "ip.ihl"]),
    (1, &["ip.dscp", "ip.ecn"]),
    (2, &["ip.len"]),
    (2, &["ip.id"]),
    (2, &["ip.reserved", "ip.df", "ip.mf", "ip.offset"]),
    (1, &["ip.ttl"]),
    (1, &["ip.proto"]),
    (2, &["ip.checksum"]),
    (4, &["ip.src"]),
    (4, &["ip.dst"]),
];

const IPV6: Layout = &[
    (4, &["ip.version", "ip.dscp", "ip.ecn", "ip.flow"]),
    (2, &["ip.len"]),
    (1, &["ip.proto"]),
    (1, &["ip.ttl"]),
    (16, &["ip.src"]),
    (16, &["ip.dst"]),
];

const UDP: Layout = &[(2, &["udp.sport"]), (2, &["udp.dport"]), (2, &["udp.len"]), (2, &["udp.checksum"])];

const BTH: Layout = &[
    (1, &["opcode"]),
    (1, &["se", "migreq", "pad", "tver"]),
    (2, &["pkey"]),
    (1, &["fecn", "becn", "resv6"]),
    (3, &["qp"]),
    (1, &["ack", "resv7"]),
    (3, &["psn"]),
];

const TAGS: [Layout; 2] = [
    &[(2, &["vlan.tpid"]), (2, &["vlan.pcp", "vlan.dei", "vlan.id"])],
    &[(2, &["vlan2.tpid"]), (2, &["vlan2.pcp", "vlan2.dei", "vlan2.id"])],
];

fn header(header: Header) -> (&'static str, Layout) {
    match header {
        Header::Rdeth => ("RDETH", &[(1, &["rdeth.resv"]), (3, &["ee"])]),
        Header::Deth => ("DETH", &[(4, &["qkey"]), (1, &["deth.resv"]), (3, &["src_qp"])]),
        Header::XrcEth => ("XRCETH", &[(1, &["xrceth.resv"]), (3, &["srqn"])]),
        Header::Feth => ("FETH", &[(4, &["feth.resv", "flush.sel", "flush.plt"])]),
        Header::Reth => ("RETH", &[(8, &["va"]), (4, &["rkey"]), (4, &["len"])]),
        Header::AtomicEth => ("AtomicETH", &[(8, &["va"]), (4, &["rkey"]), (8, &["swap", "add"]), (8, &["compare"])]),
        Header::Aeth => ("AETH", &[(1, &["syndrome", "credits", "timer", "code"]), (3, &["msn"])]),
        Header::AtomicAckEth => ("AtomicAckETH", &[(8, &["original"])]),
        Header::ImmDt => ("ImmDt", &[(4, &["imm"])]),
        Header::Ieth => ("IETH", &[(4, &["inv"])]),
    }
}

/// The whole frame, part by part. Parts without bytes are left out.
pub(in crate::cli) fn parts(packet: &Roce<'_>) -> Vec<Part> {
    let mut parts = Vec::with_capacity(48);
    let mut at = 0;
    let mut put = |layer, layout: &[(usize, &'static [&'static str])]| {
        for (len, fields) in layout {
            let bytes = at..at + len;
            at = bytes.end;
            if *len > 0 {
                parts.push(Part { bytes, layer, fields });
            }
        }
    };
    put("Ethernet", &[(6, &["eth.dst"]), (6, &["eth.src"])]);
    for layout in TAGS.iter().take(packet.eth.tags.len()) {
        put("VLAN", layout);
    }
    put("Ethernet", &[(2, &["eth.type"])]);
    match packet.net {
        Net::V4(ip) => {
            put("IPv4", IPV4);
            put("IPv4", &[(ip.options.len(), &["ip.options"])]);
        }
        Net::V6(_) => put("IPv6", IPV6),
        Net::Grh(_) => put("GRH", IPV6),
    }
    if packet.udp.is_some() {
        put("UDP", UDP);
    }
    put("BTH", BTH);
    for kind in packet.bth.opcode.headers() {
        let (layer, layout) = header(*kind);
        put(layer, layout);
    }
    put("payload", &[(packet.payload.len(), &["data"])]);
    put("pad", &[(packet.pad.len(), &["pad.data"])]);
    put("ICRC", &[(4, &["icrc"])]);
    put("trailer", &[(packet.trailer.len(), &["trailer"])]);
    parts
}

#[cfg(test)]
mod tests {
    use rocespec_codec::field::{FIELDS, Field};
    use rocespec_codec::notation::{Line, Scope, parse};
    use rocespec_codec::{Frame, Opcode, decode, encode, encoded_len};

    use super::*;

    fn encoded(packet: &Roce<'_>) -> Vec<u8> {
        let mut bytes = vec![0; encoded_len(packet)];
        encode(packet, &mut bytes).unwrap();
        bytes
    }

    /// Packets of every opcode, over every network, with all that can be there.
    fn each(mut look: impl FnMut(&Roce<'_>)) {
        for opcode in Opcode::DEFINED {
            for net in ["v4 ip.options=01010101", "v6", "v1"] {
                let line = format!("OP_{:#04x} {net} vlan.id=5 vlan2.id=6 5B trailer=00", opcode.0);
                let mut buffer = [0; 64];
                let Ok(Line::Roce(packet)) = parse(&line, &Scope::default(), &mut buffer) else { panic!("{line}") };
                look(&packet);
            }
        }
    }

    #[test]
    fn parts_cover_every_byte_once_and_name_every_field() {
        each(|packet| {
            let parts = parts(packet);
            let mut at = 0;
            for part in &parts {
                assert_eq!(part.bytes.start, at, "{part:?}");
                at = part.bytes.end;
            }
            assert_eq!(at, encoded_len(packet));
            for field in FIELDS.iter().filter(|field| (field.get)(packet).is_some()) {
                let count = parts.iter().filter(|part| part.fields.contains(&field.name)).count();
                assert_eq!(count, 1, "{}", field.name);
            }
        });
    }

    #[test]
    fn a_changed_byte_changes_the_fields_that_its_part_names() {
        /// Bytes that say what the others are.
        const STRUCTURE: [&str; 9] = [
            "vlan.tpid",
            "vlan2.tpid",
            "eth.type",
            "ip.version",
            "ip.len",
            "ip.proto",
            "udp.dport",
            "udp.len",
            "opcode",
        ];
        each(|packet| {
            let bytes = encoded(packet);
            for part in parts(packet) {
                if part.fields.iter().any(|name| STRUCTURE.contains(name)) {
                    continue;
                }
                for at in part.bytes.clone() {
                    let mut changed = bytes.clone();
                    // Bits that move no boundary: PadCnt and the fragment offset stay.
                    changed[at] ^=
                        if part.fields.contains(&"pad") || part.fields.contains(&"ip.df") { 0x40 } else { 1 };
                    if part.fields.contains(&"ip.df") && at + 1 == part.bytes.end {
                        continue;
                    }
                    let Ok(Frame::Roce(seen)) = decode(&changed) else { panic!("byte {at} of {part:?}") };
                    for field in FIELDS.iter().filter(|field| (field.get)(&seen) != (field.get)(packet)) {
                        assert!(part.fields.contains(&field.name), "byte {at}: {field:?} is not in {part:?}");
                    }
                    let differs = |name: &&str| Field::named(name).is_some_and(|f| (f.get)(&seen) != (f.get)(packet));
                    assert!(part.fields.iter().any(differs), "byte {at} of {part:?}");
                }
            }
        });
    }
}
