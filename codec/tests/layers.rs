//! Frames beside RoCE, both ways: MAC control, ARP, neighbour discovery.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use rocespec_codec::field::{Value, Walk};
use rocespec_codec::notation::{Scope, parse, print_frame};
use rocespec_codec::{
    Arp, Control, Frame, LinkAddress, MAC_CONTROL_DESTINATION, MacAddr, MacControl, Neighbor, NeighborMessage, Pause,
    Pfc, Roce, decode,
};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// Encodes a frame, which decodes as itself.
fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut buffer = vec![0; frame.encoded_len()];
    frame.encode(&mut buffer).unwrap();
    assert_eq!(decode(&buffer).as_ref(), Ok(frame));
    let mut short = vec![0; buffer.len() - 1];
    assert_eq!(frame.encode(&mut short).unwrap_err().needed, buffer.len());
    buffer
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn filled(text: &str) -> Vec<u8> {
    let mut bytes = hex(text);
    bytes.resize(60, 0);
    bytes
}

#[test]
fn pause_frames_have_their_layout() {
    let pfc = Pfc::new(0b1001, 0x1234);
    let frame = Frame::MacControl(MacControl::new(MAC, Control::Pfc(pfc)));
    let right = "0180c2000001 020000000001 8808 0101 0009 1234 0000 0000 1234 0000 0000 0000 0000";
    assert_eq!(encoded(&frame), filled(right));
    let frame = Frame::MacControl(MacControl::new(MAC, Control::Pause(Pause { quanta: 0xffff })));
    assert_eq!(encoded(&frame), filled("0180c2000001 020000000001 8808 0001 ffff"));
    assert_eq!(pfc.timer(3), Some(0x1234));
    assert_eq!((pfc.timer(1), pfc.timer(8)), (None, None));
    assert_eq!(Pfc::new(1, 0).timer(0), Some(0));
}

#[test]
fn other_frames_do_not_make_a_packet_larger() {
    assert_eq!(size_of::<Frame<'_>>(), size_of::<Roce<'_>>());
}

#[test]
fn quanta_are_512_bit_times() {
    assert_eq!(Pause::duration(1, 10_000_000_000), Duration::from_nanos(51));
    assert_eq!(Pause::duration(65535, 100_000_000_000), Duration::from_nanos(335_539));
    assert_eq!(Pause::duration(1, 0), Duration::ZERO);
}

#[test]
fn short_and_unknown_mac_control_frames_are_kept() {
    for (bytes, opcode) in [("", None), ("01", None), ("0101", Some(0x101)), ("0001ff", Some(1)), ("0002ffff", Some(2))]
    {
        let body = hex(bytes);
        let frame = [&MAC_CONTROL_DESTINATION.0[..], &MAC.0, &[0x88, 0x08], &body].concat();
        let Ok(decoded @ Frame::MacControl(_)) = decode(&frame) else { panic!("{bytes}") };
        let Frame::MacControl(control) = &decoded else { unreachable!() };
        assert_eq!((control.control, control.control.opcode()), (Control::Other(&body), opcode));
        assert_eq!(encoded(&decoded), frame);
    }
}

#[test]
fn arp_asks_and_answers() {
    let (own, other) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let request = Arp::request(MAC, own, other);
    let right = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002";
    assert_eq!(encoded(&Frame::Arp(request.clone())), filled(right));
    let reply = request.reply(PEER, other);
    let right = "020000000001 020000000002 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001";
    assert_eq!(encoded(&Frame::Arp(reply)), filled(right));
    // Of another hardware, or cut short, it is any frame.
    for frame in [&hex(&right.replace("0001 0800 06", "0006 0800 06"))[..], &hex(right)[..41]] {
        assert_eq!(decode(frame), Ok(Frame::Other(frame)));
    }
}

#[test]
fn neighbours_are_solicited_and_advertise_themselves() {
    let (own, other) = (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, 0x203));
    let ask = Neighbor::solicitation(MAC, own, other);
    let right = "3333ff010203 020000000001 86dd 60000000 0020 3a ff fd00000000000000 0000000000000001 \
                 ff02000000000000 00000001ff010203 87 00 5d3f 00000000 fd00000000000000 0000000000010203 01 01 020000000001";
    let bytes = encoded(&Frame::Neighbor(ask.clone()));
    let mut expected = hex(right);
    expected[56..58].copy_from_slice(&ask.right_checksum().to_be_bytes());
    assert_eq!(bytes, expected);
    assert!(sum_is_right(&bytes));
    let answer = ask.advertisement(PEER);
    let bytes = encoded(&Frame::Neighbor(answer.clone()));
    assert!(sum_is_right(&bytes));
    assert_eq!((answer.message, answer.flags), (NeighborMessage::Advertisement, 0x6000_0000));
    assert_eq!((answer.eth.dst, answer.ip.src, answer.ip.dst, answer.target), (MAC, other, own, other));
    assert_eq!(answer.link, Some(LinkAddress { kind: 2, mac: PEER }));
    // Who has no address yet is answered to all nodes.
    let probe = Neighbor::solicitation(MAC, Ipv6Addr::UNSPECIFIED, other).advertisement(PEER);
    assert_eq!((probe.ip.dst, probe.flags), (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), 0x2000_0000));
}

/// The checksum over the pseudo header and the message, by its definition: all 16-bit words add up to ones.
fn sum_is_right(frame: &[u8]) -> bool {
    let icmp = &frame[54..];
    let pseudo = [&frame[22..54], &(icmp.len() as u32).to_be_bytes(), &[0, 0, 0, 58], icmp].concat();
    let sum: u32 = pseudo.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

#[test]
fn fields_are_walked_by_name() {
    let names = |frame: &Frame<'_>| {
        let mut names = Vec::new();
        frame.walk(&mut |name, _, _| names.push(name));
        names
    };
    let pfc = Frame::MacControl(MacControl::new(MAC, Control::Pfc(Pfc::new(8, 5))));
    assert_eq!(names(&pfc)[..6], ["eth.dst", "eth.src", "eth.type", "opcode", "vector", "quanta0"]);
    let mut quanta = None;
    pfc.walk(&mut |name, _, value| {
        if name == "quanta3" {
            quanta = value.uint();
        }
    });
    assert_eq!(quanta, Some(5));
    let arp = Arp::request(MAC, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
    assert!(names(&Frame::Arp(arp)).contains(&"target_ip"));
    let mut seen = Vec::new();
    Frame::Other(b"abc").walk(&mut |name, _, value| seen.push((name, value.bytes() == Some(b"abc"))));
    assert_eq!(seen, [("raw", true)]);
    let mut ip = None;
    Frame::Neighbor(Neighbor::solicitation(MAC, Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST)).walk(
        &mut |name, _, value| {
            if let ("target", Value::V6(target)) = (name, value) {
                ip = Some(target);
            }
        },
    );
    assert_eq!(ip, Some(Ipv6Addr::LOCALHOST));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mac_control_frames_are_lines(
        dst: [u8; 6],
        tags in prop_oneof![
            Just(vec![]),
            Just(vec![0x81, 0, 0, 5]),
            Just(vec![0x88, 0xa8, 0xf0, 5]),
            Just(vec![0x91, 0, 0, 5, 0x81, 0, 0x70, 0])
        ],
        opcode in prop_oneof![Just(0x101u16), Just(1), any::<u16>()],
        vector in prop_oneof![Just(8u16), Just(0), any::<u16>()],
        timers in prop_oneof![Just(vec![0; 16]), vec(any::<u8>(), 0..24)],
        padding in prop_oneof![Just(vec![0; 26]), vec(any::<u8>(), 0..50)],
    ) {
        let head = [&dst[..], &MAC.0, &tags, &[0x88, 0x08]].concat();
        let frame = [&head[..], &opcode.to_be_bytes(), &vector.to_be_bytes(), &timers, &padding].concat();
        let Ok(decoded @ Frame::MacControl(_)) = decode(&frame) else { panic!("{frame:02x?}") };
        prop_assert_eq!(&encoded(&decoded), &frame);
        let scope = Scope::default();
        let line = print_frame(&decoded, &scope).to_string();
        prop_assert!(["PFC ", "PAUSE ", "MAC_CONTROL "].iter().any(|head| line.starts_with(head)), "{}", line);
        // A buffer as long as the frame is long enough.
        let (mut buffer, mut out) = (vec![0; frame.len()], vec![0; frame.len()]);
        let read = parse(&line, &scope, &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
        prop_assert_eq!(read.encode(&mut out).unwrap(), &frame[..], "{}", line);
    }

    #[test]
    fn arp_and_neighbours_keep_every_byte(body in vec(any::<u8>(), 0..80), kind in 0..3usize, options in vec(any::<u8>(), 0..16)) {
        let mut frame = [&PEER.0[..], &MAC.0].concat();
        match kind {
            0 => frame.extend([&[0x08, 0x06, 0, 1, 8, 0, 6, 4][..], &body].concat()),
            _ => {
                let (icmp, trailer) = body.split_at(body.len().min(25));
                let len = (1 + icmp.len() + options.len()) as u16;
                frame.extend([&[0x86, 0xdd, 0x60, 0, 0, 0][..], &len.to_be_bytes(), &[58, 255], &[7; 32]].concat());
                frame.extend([&[134 + kind as u8][..], icmp, &options, trailer].concat());
            }
        }
        let decoded = decode(&frame).unwrap();
        prop_assert_eq!(encoded(&decoded), frame);
    }
}
