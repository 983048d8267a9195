//! Lax decoding: what strict decoding takes or refuses, what the capture cut, what lies.

mod common;

use common::{encoded, packet, vectors};
use crc::{CRC_32_ISO_HDLC, Crc};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use rocespec_codec::field::Walk;
use rocespec_codec::notation::Scope;
use rocespec_codec::{Cut, Frame, Lax, Layer, Opcode, Trailer, decode, decode_lax};

/// Strict and lax decoding of a whole frame say the same.
fn agrees(frame: &[u8]) -> Lax<'_> {
    let lax = decode_lax(frame, frame.len());
    assert_eq!(lax.cut, None, "{frame:02x?}");
    match decode(frame) {
        Ok(Frame::Roce(packet)) => {
            assert_eq!(lax.problems[..], [], "{frame:02x?}");
            assert_eq!(lax.packet(), Some(packet));
        }
        // Its inside is read by lax decoding alone.
        Ok(datagram @ Frame::Datagram(_)) => assert_eq!(lax.other, Some(datagram)),
        Ok(other) => {
            assert_eq!(lax.problems[..], []);
            assert_eq!(lax.other, Some(other));
        }
        Err(error) => assert_eq!(lax.problems.first(), Some(&error), "{frame:02x?}"),
    }
    lax.walk(&mut |_, _, _| ());
    if let Some(packet) = lax.packet() {
        assert_eq!(encoded(&packet), frame);
    }
    if let Some(other) = &lax.other {
        let mut buffer = vec![0; frame.len()];
        assert_eq!(other.encode(&mut buffer), Ok(frame));
    }
    lax
}

/// A frame that the capture cut has what the whole one has, as far as it goes, and is not wrong for being cut.
fn cuts(whole: &Lax<'_>, len: usize) {
    let cut = decode_lax(&whole.frame[..len], whole.original_len);
    for problem in &cut.problems {
        assert!(whole.problems.contains(problem), "{problem}: {:02x?} of {:02x?}", cut.frame, whole.frame);
    }
    assert!(cut.eth.is_none() || cut.eth == whole.eth);
    assert!(cut.udp.is_none() || cut.udp == whole.udp);
    assert!(cut.bth.is_none() || cut.bth == whole.bth);
    assert!(whole.headers().starts_with(cut.headers()));
    assert!(whole.payload.starts_with(cut.payload));
    assert!(cut.payload_len.is_none() || cut.payload_len == whole.payload_len);
    assert!(cut.icrc.is_none() || cut.icrc == whole.icrc);
    if whole.icrc.is_some() && whole.other.is_none() {
        let end = whole.frame.len() - whole.trailer.len();
        assert_eq!(cut.cut.is_some(), len < end, "{len} of {:02x?}", whole.frame);
    }
}

#[test]
fn every_opcode_and_pad_count_at_every_length() {
    for opcode in 0..=255 {
        for pad in 0..4 {
            let mut buffer = [0; 64];
            let line = format!("OP_{opcode:#x} psn=1 5B pad={pad} icrc=right");
            let right = encoded(&packet(&line, &Scope::default(), &mut buffer));
            let whole = agrees(&right);
            for len in 0..right.len() {
                agrees(&right[..len]);
                cuts(&whole, len);
                // Shorter, and all lengths say so.
                let mut short = right[..len].to_vec();
                if len >= 42 {
                    short[16..18].copy_from_slice(&(len as u16 - 14).to_be_bytes());
                    short[38..40].copy_from_slice(&(len as u16 - 34).to_be_bytes());
                    agrees(&short);
                }
            }
        }
    }
}

#[test]
fn the_vectors_at_every_length() {
    for vector in vectors() {
        let whole = agrees(&vector.frame);
        for len in 0..vector.frame.len() {
            agrees(&vector.frame[..len]);
            cuts(&whole, len);
        }
    }
}

/// The frame of a line, changed, and what is said of it.
fn said(line: &str, change: impl FnOnce(&mut Vec<u8>), look: impl FnOnce(&Lax<'_>)) -> Vec<String> {
    let mut buffer = [0; 256];
    let mut frame = encoded(&packet(line, &Scope::default(), &mut buffer));
    change(&mut frame);
    let lax = agrees(&frame);
    look(&lax);
    lax.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_length_that_lies_does_not_hide_the_packet() {
    let payload = |lax: &Lax<'_>| assert_eq!(lax.packet().unwrap().payload.len(), 64);
    assert_eq!(
        said("SEND_ONLY 64B ip.len=0", |_| {}, payload),
        ["IPv4 at byte 14: the IPv4 total length claims 0 bytes, but the layer around it gives 20"]
    );
    assert_eq!(
        said("SEND_ONLY 64B ip.len=900 udp.len=88 trailer=0000", |_| {}, payload),
        ["IPv4 at byte 14: the IPv4 total length claims 900 bytes, but there are 110"]
    );
    assert_eq!(
        said("SEND_ONLY 64B udp.len=60000", |_| {}, payload),
        ["UDP at byte 34: the UDP length claims 60000 bytes, but there are 88"]
    );
    assert_eq!(
        said("SEND_ONLY 64B udp.len=20", |_| {}, payload),
        ["UDP at byte 34: the UDP length claims 20 bytes, but the layer around it gives 88"]
    );
    assert_eq!(
        said("SEND_ONLY v6 64B ip.len=900 ip.version=7", |_| {}, payload),
        [
            "IPv6 at byte 14: version 7 is not the announced one",
            "IPv6 at byte 14: the IPv6 payload length claims 900 bytes, but there are 88"
        ]
    );
    assert_eq!(
        said("SEND_ONLY v1 64B ip.version=4", |_| {}, payload),
        ["GRH at byte 14: version 4 is not the announced one"]
    );
    assert_eq!(
        said("SEND_ONLY 64B ip.ihl=3", |_| {}, payload),
        ["IPv4 at byte 14: header length of 3 words is below the least possible"]
    );
}

#[test]
fn the_ip_version_beats_the_ethertype() {
    let v6 = |lax: &Lax<'_>| assert!(lax.packet().is_some_and(|packet| packet.payload.len() == 64));
    assert_eq!(
        said("SEND_ONLY v6 64B eth.type=0x800", |_| {}, v6),
        ["IPv4 at byte 14: version 6 is not the announced one"]
    );
    assert_eq!(
        said("SEND_ONLY 64B eth.type=0x86dd", |_| {}, v6),
        ["IPv6 at byte 14: version 4 is not the announced one"]
    );
}

#[test]
fn a_pad_larger_than_the_payload_leaves_the_headers() {
    let none = |lax: &Lax<'_>| {
        assert_eq!((lax.payload, lax.payload_len, lax.pad), (&[][..], Some(0), &[][..]));
        assert!(lax.packet().is_some());
    };
    assert_eq!(
        said("SEND_ONLY pad=3 pad.data=none", |_| {}, none),
        ["payload at byte 54: pad count 3, but only 0 bytes lie before the ICRC"]
    );
}

#[test]
fn headers_are_read_as_far_as_they_go() {
    let look = |lax: &Lax<'_>| {
        assert!(lax.is_roce() && lax.packet().is_none());
        assert_eq!(lax.bth.unwrap().opcode, Opcode::RC_RDMA_WRITE_ONLY);
        assert_eq!((lax.headers(), lax.unread.len(), lax.payload.len()), (&[][..], 15, 0));
    };
    let said = said("RDMA_WRITE_ONLY va=0x1000 ip.len=55 udp.len=35", |_| {}, look);
    assert_eq!(said, ["RETH at byte 54: needs 16 bytes, but the IPv4 total length leaves 15"]);
}

#[test]
fn the_capture_is_told_apart_from_the_frame() {
    let mut buffer = [0; 1024];
    let frame = encoded(&packet("RDMA_WRITE_ONLY va=0x1000 1001B", &Scope::default(), &mut buffer));
    let at = |len: usize| {
        let lax = decode_lax(&frame[..len], frame.len());
        assert_eq!(lax.problems[..], []);
        (lax.cut, lax.payload.len(), lax.payload_len)
    };
    let cut = |layer, offset| Some(Cut { layer, offset });
    assert_eq!(at(13), (cut(Layer::Ethernet, 0), 0, None));
    assert_eq!(at(33), (cut(Layer::Ipv4, 14), 0, None));
    assert_eq!(at(64), (cut(Layer::Reth, 54), 0, None));
    assert_eq!(at(96), (cut(Layer::Payload, 70), 26, Some(1001)));
    assert_eq!(at(1072), (cut(Layer::Payload, 70), 1001, Some(1001)));
    assert_eq!(at(1074), (cut(Layer::Icrc, 1074), 1001, Some(1001)));
    assert_eq!(at(1078), (None, 1001, Some(1001)));
    // Cut, and wrong on the wire too.
    let lax = decode_lax(&frame[..64], frame.len() - 1);
    let said: Vec<String> = lax.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "IPv4 at byte 14: the IPv4 total length claims 1064 bytes, but there are 1063",
            "UDP at byte 34: the UDP length claims 1044 bytes, but there are 1043"
        ]
    );
    assert_eq!(lax.cut, cut(Layer::Reth, 54));
}

#[test]
fn bytes_behind_the_packet_are_known_by_what_they_are() {
    let kind = |line: &str, with_fcs: bool| {
        let mut buffer = [0; 256];
        let mut frame = encoded(&packet(line, &Scope::default(), &mut buffer));
        if with_fcs {
            frame.extend(Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(&frame).to_le_bytes());
        }
        agrees(&frame).trailer_kind()
    };
    assert_eq!(kind("SEND_ONLY 64B", false), Trailer::Empty);
    assert_eq!(kind("SEND_ONLY", false), Trailer::Padding);
    assert_eq!(kind("SEND_ONLY 64B", true), Trailer::Fcs);
    assert_eq!(kind("SEND_ONLY", true), Trailer::Fcs);
    assert_eq!(kind("SEND_ONLY 64B trailer=01020304", false), Trailer::Unknown);
}

#[test]
fn options_and_pieces_of_ipv4_are_recognised() {
    let options = |lax: &Lax<'_>| assert_eq!(lax.packet().unwrap().net.len(), 24);
    assert!(said("SEND_ONLY 64B ip.options=94040000", |_| {}, options).is_empty());
    let first = |lax: &Lax<'_>| {
        assert_eq!(lax.fragment.map(|fragment| (fragment.offset, fragment.more)), Some((0, true)));
        assert_eq!((lax.icrc, lax.payload.len()), (None, 68));
    };
    assert_eq!(
        said("SEND_ONLY 64B ip.mf udp.len=1000", |_| {}, first),
        ["UDP at byte 34: the UDP length claims 1000 bytes, but there are 88"]
    );
    let later = |lax: &Lax<'_>| {
        let Some(Frame::Datagram(datagram)) = &lax.other else { panic!("{lax:?}") };
        assert_eq!(datagram.fragment.map(|fragment| (fragment.offset, fragment.more)), Some((1480, false)));
        assert_eq!((datagram.udp, datagram.payload.len()), (None, 88));
    };
    assert!(said("SEND_ONLY 64B ip.offset=185", |_| {}, later).is_empty());
}

/// Puts extension headers between IPv6 and UDP of a frame.
fn extend(frame: &mut Vec<u8>, first: u8, headers: &[u8]) {
    frame[20] = first;
    frame.splice(54..54, headers.iter().copied());
    let len = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
}

#[test]
fn extension_headers_of_ipv6_are_walked() {
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let destination = [43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let routing = [17, 0, 4, 0, 0, 0, 0, 0];
    let all = [&hop_by_hop[..], &destination, &routing].concat();
    let look = |lax: &Lax<'_>| {
        let Some(Frame::Datagram(datagram)) = &lax.other else { panic!("{lax:?}") };
        let seen: Vec<_> = datagram.extensions.iter().map(|ext| (ext.kind, ext.offset, ext.len)).collect();
        assert_eq!(seen, [(0, 54, 8), (60, 62, 16), (43, 78, 8)]);
        assert_eq!(datagram.udp.unwrap().dport, 4791);
        assert!(lax.is_roce() && lax.packet().is_none());
        assert_eq!((lax.bth.unwrap().opcode, lax.payload.len()), (Opcode::RC_SEND_ONLY, 64));
        assert!(lax.icrc.is_some());
    };
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 0, &all), look).is_empty());
    // Cut inside of them, it is not known what follows.
    let cut = |lax: &Lax<'_>| {
        for len in 55..94 {
            let cut = decode_lax(&lax.frame[..len], lax.frame.len());
            assert_eq!((cut.cut, cut.problems.len()), (Some(Cut { layer: Layer::Ipv6, offset: 54 }), 0), "{len}");
        }
    };
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 0, &all), cut).is_empty());
    // Of another port, it is nobody's business.
    let other = |lax: &Lax<'_>| assert!(matches!(lax.other, Some(Frame::Other(_))));
    assert!(said("SEND_ONLY v6 64B udp.dport=4790", |frame| extend(frame, 0, &all), other).is_empty());
    // A header that does not fit, and more of them than anybody needs.
    let long = [17, 255, 0, 0, 0, 0, 0, 0];
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 60, &long), other).is_empty());
    let mut many = [60, 0, 1, 4, 0, 0, 0, 0].repeat(9);
    many[64] = 17;
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 60, &many), other).is_empty());
}

#[test]
fn pieces_of_ipv6_are_recognised() {
    let piece = |offset: u16, more: u16| {
        let [high, low] = (offset | more).to_be_bytes();
        [17, 0, high, low, 0xca, 0xfe, 0xba, 0xbe]
    };
    let look = |udp: bool, offset: usize, more: bool| {
        move |lax: &Lax<'_>| {
            let Some(Frame::Datagram(datagram)) = &lax.other else { panic!("{lax:?}") };
            let fragment = datagram.fragment.unwrap();
            assert_eq!((fragment.offset, fragment.more, fragment.id), (offset, more, 0xcafe_babe));
            assert_eq!((datagram.udp.is_some(), lax.bth.is_some()), (udp, udp));
        }
    };
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 44, &piece(0, 1)), look(true, 0, true)).is_empty());
    assert!(said("SEND_ONLY v6 64B", |frame| extend(frame, 44, &piece(1480, 0)), look(false, 1480, false)).is_empty());
}

#[test]
fn fields_that_could_be_read_are_walked() {
    let mut buffer = [0; 64];
    let frame = encoded(&packet("RDMA_WRITE_ONLY_WITH_IMMEDIATE va=0x1000 imm=1 16B", &Scope::default(), &mut buffer));
    let names = |len: usize| {
        let mut names = Vec::new();
        decode_lax(&frame[..len], frame.len()).walk(&mut |name, _, _| names.push(name));
        names
    };
    let has = |len: usize, name: &str| names(len).contains(&name);
    assert!(has(94, "icrc") && has(94, "data") && has(94, "imm") && !has(94, "unread"));
    assert!(!has(91, "icrc") && has(91, "data") && has(91, "unread"));
    assert!(has(71, "va") && !has(71, "imm") && !has(71, "data") && has(71, "unread"));
    assert!(has(60, "psn") && !has(60, "va"));
    assert!(has(50, "udp.len") && !has(50, "psn"));
    assert_eq!(names(14), ["eth.dst", "eth.src", "eth.type"]);
    assert_eq!(names(13), ["unread"]);
}

#[test]
fn every_field_of_a_header_is_unread_with_it() {
    for opcode in Opcode::DEFINED {
        let mut buffer = [0; 64];
        let frame = encoded(&packet(&format!("OP_{:#x}", opcode.0), &Scope::default(), &mut buffer));
        let names = |len: usize| {
            let mut names = Vec::new();
            decode_lax(&frame[..len], 300).walk(&mut |name, _, _| names.push(name));
            names
        };
        let bare = names(54);
        // What a packet without headers has.
        let mut plain = Vec::new();
        let mut buffer = [0; 64];
        packet("SEND_ONLY", &Scope::default(), &mut buffer).walk(&mut |name, _, _| plain.push(name));
        assert!(bare.iter().all(|name| plain.contains(name)), "{opcode:?}: {bare:?}");
    }
}

#[test]
fn usnic_has_its_name() {
    let usnic = |lax: &Lax<'_>| assert!(matches!(lax.other, Some(Frame::Usnic(_))) && !lax.is_roce());
    assert!(said("SEND_ONLY v1 64B ip.version=8", |_| {}, usnic).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200), cut: Index) {
        let whole = agrees(&bytes);
        cuts(&whole, cut.index(bytes.len() + 1));
    }

    #[test]
    fn frames_with_a_few_bytes_wrong(
        which: Index,
        changes in vec((0..90usize, any::<u8>()), 1..6),
        longer in vec(any::<u8>(), 0..6),
        cut: Index,
    ) {
        let mut frame = which.get(&vectors()).frame.clone();
        for (at, byte) in changes {
            let at = at % frame.len();
            frame[at] = byte;
        }
        frame.extend(longer);
        let whole = agrees(&frame);
        cuts(&whole, cut.index(frame.len() + 1));
    }
}
