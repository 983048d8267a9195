use proptest::prelude::*;
use rocespec_codec::notation::{Line, Scope, parse};
use rocespec_codec::{Frame, decode, encode, encoded_len, icrc};

use super::*;

/// A frame from its line.
fn frame(line: &str) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let Ok(Line::Roce(packet)) = parse(line, &Scope::default(), &mut buffer) else { panic!("{line}") };
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}

fn captured(linktype: u32, data: Vec<u8>) -> CapturedFrame {
    CapturedFrame { number: 1, linktype, original_len: data.len() as u32, data, ..CapturedFrame::default() }
}

/// `front` and then `inner`, as one frame of that link type.
fn wrap(linktype: u32, front: &[u8], inner: &[u8]) -> CapturedFrame {
    captured(linktype, [front, inner].concat())
}

/// Ethernet, IPv4 of that protocol and so many bytes behind it.
fn ipv4(protocol: u8, behind: usize) -> Vec<u8> {
    let mut bytes = vec![0; 34];
    bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    bytes[16..18].copy_from_slice(&(20 + behind as u16).to_be_bytes());
    bytes[23] = protocol;
    bytes
}

fn udp(port: u16, behind: usize) -> Vec<u8> {
    let mut bytes = ipv4(17, 8 + behind);
    bytes.extend([0xc0, 0x00]);
    bytes.extend(port.to_be_bytes());
    bytes.extend((8 + behind as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// What lies around the frame; the frame has to be `inner`, or `inner` with another Ethernet header.
fn around(captured: &CapturedFrame, inner: &[u8]) -> Vec<String> {
    let mut opener = Opener::default();
    let Inside::Ethernet(carried) = opener.open(captured).inside else { panic!("no Ethernet in {captured:?}") };
    assert_eq!(carried.frame[carried.made..], inner[carried.made..]);
    assert_eq!(captured.data[carried.start..], inner[carried.made..]);
    assert_eq!(carried.original_len, inner.len());
    let Ok(Frame::Roce(packet)) = decode(carried.frame) else { panic!("no RoCE in {captured:?}") };
    assert!(icrc::verify(&packet));
    carried.around.iter().map(ToString::to_string).collect()
}

const LINES: [&str; 3] = ["SEND_ONLY psn=1 ack 64B", "RDMA_WRITE_ONLY v6 va=0x1000 len=64 64B", "ACK v1 psn=3"];

#[test]
fn for_ethernet_nothing_is_copied_or_allocated() {
    for line in LINES.into_iter().chain(["ACK vlan.id=7 vlan2.id=8", "ACK v6 vlan.id=7"]) {
        let data = frame(line);
        let mut opener = Opener::default();
        let Inside::Ethernet(carried) = opener.look(1, data.len() as u32, &data) else { panic!("{line}") };
        assert!(std::ptr::eq(carried.frame, &raw const data[..]), "{line}");
        assert_eq!(carried.around.capacity(), 0, "{line}");
    }
}

#[test]
fn ethernet_is_taken_as_it_is() {
    for line in LINES.into_iter().chain(["ACK vlan.id=7 vlan.pcp=3", "ACK vlan.id=7 vlan2.id=8"]) {
        let inner = frame(line);
        assert_eq!(around(&wrap(1, &[], &inner), &inner), [""; 0]);
    }
}

#[test]
fn link_types_without_ethernet_are_given_a_header() {
    for line in &LINES[..2] {
        let inner = frame(line);
        let v6 = line.contains(" v6 ");
        let ethertype: [u8; 2] = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let ip = &inner[14..];
        let mut cooked = vec![0; 16];
        cooked[14..].copy_from_slice(&ethertype);
        assert_eq!(around(&wrap(113, &cooked, ip), &inner), ["cooked1"]);
        let mut cooked = vec![0; 20];
        cooked[..2].copy_from_slice(&ethertype);
        cooked[7] = 5;
        assert_eq!(around(&wrap(276, &cooked, ip), &inner), ["cooked2 interface=5"]);
        assert_eq!(around(&wrap(101, &[], ip), &inner), ["raw-ip"]);
        assert_eq!(around(&wrap(if v6 { 229 } else { 228 }, &[], ip), &inner), ["raw-ip"]);
        let family = if v6 { 30 } else { 2 };
        assert_eq!(around(&wrap(0, &[family, 0, 0, 0], ip), &inner), ["loopback"]);
        assert_eq!(around(&wrap(0, &[0, 0, 0, family], ip), &inner), ["loopback"]);
        assert_eq!(around(&wrap(108, &[0, 0, 0, family], ip), &inner), ["loopback"]);
    }
}

#[test]
fn cooked_frames_keep_their_tags_and_roce_v1() {
    let inner = frame(LINES[2]);
    let mut cooked = vec![0; 16];
    cooked[14..].copy_from_slice(&[0x89, 0x15]);
    assert_eq!(around(&wrap(113, &cooked, &inner[14..]), &inner), ["cooked1"]);
    let inner = frame("ACK vlan.id=7 vlan.pcp=3");
    cooked[14..].copy_from_slice(&[0x81, 0x00]);
    assert_eq!(around(&wrap(113, &cooked, &inner[14..]), &inner), ["cooked1"]);
}

#[test]
fn erf_records_are_opened() {
    let inner = frame(LINES[0]);
    let mut header = vec![0; 18];
    header[8] = 2;
    header[14..16].copy_from_slice(&(inner.len() as u16).to_be_bytes());
    assert_eq!(around(&wrap(197, &header, &inner), &inner), ["erf"]);
    // Two extension headers between.
    header[8] |= 0x80;
    let mut extended = header.clone();
    extended.splice(16..16, [0x80, 0, 0, 0, 0, 0, 0, 0, 0x03, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(around(&wrap(197, &extended, &inner), &inner), ["erf"]);
}

#[test]
fn native_infiniband_is_named() {
    // LRH with a BTH behind it, and one with a GRH between.
    let bth = [4, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 5];
    for (lnh, grh) in [(2, 0), (3, 40)] {
        let mut packet = vec![0, lnh, 0, 3, 0, 0, 0, 9];
        packet.extend(vec![0; grh]);
        packet.extend(bth);
        let captured = captured(247, packet);
        let mut opener = Opener::default();
        let Inside::InfiniBand(native) = opener.open(&captured).inside else { panic!() };
        assert_eq!(native.to_string(), "native InfiniBand, lid 9 > 3 RC_SEND_ONLY qp=0x11 psn=@0x000005");
    }
}

#[test]
fn tunnels_are_taken_off() {
    for line in LINES {
        let inner = frame(line);
        let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
        let front = [udp(4789, 8 + inner.len()), vxlan.to_vec()].concat();
        assert_eq!(around(&wrap(1, &front, &inner), &inner), ["vxlan vni=42"]);
        // One option of four bytes.
        let geneve = [1, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 0, 0, 0];
        let front = [udp(6081, 12 + inner.len()), geneve.to_vec()].concat();
        assert_eq!(around(&wrap(1, &front, &inner), &inner), ["geneve vni=7"]);
        let gre = [0x20, 0, 0x65, 0x58, 0, 0, 0, 1];
        let front = [ipv4(47, 8 + inner.len()), gre.to_vec()].concat();
        assert_eq!(around(&wrap(1, &front, &inner), &inner), ["gre"]);
        let control_word = [0, 0, 0, 0];
        let front = [vec![0; 12], vec![0x88, 0x47, 0, 0, 0x70, 64, 0, 0, 0x91, 64], control_word.to_vec()].concat();
        assert_eq!(around(&wrap(1, &front, &inner), &inner), ["mpls label=7", "mpls label=9"]);
    }
}

#[test]
fn ip_in_gre_mpls_and_ip_is_given_a_header() {
    let inner = frame(LINES[0]);
    let ip = &inner[14..];
    let front = [ipv4(47, 4 + ip.len()), vec![0, 0, 0x08, 0x00]].concat();
    assert_eq!(around(&wrap(1, &front, ip), &inner), ["gre"]);
    let front = [vec![0; 12], vec![0x88, 0x47, 0, 0, 0x71, 64]].concat();
    assert_eq!(around(&wrap(1, &front, ip), &inner), ["mpls label=7"]);
    assert_eq!(around(&wrap(1, &ipv4(4, ip.len()), ip), &inner), ["ip"]);
}

#[test]
fn mirrors_are_opened_in_every_version() {
    let inner = frame(LINES[1]);
    let erspan = |header: &[u8]| [ipv4(47, header.len() + inner.len()), header.to_vec()].concat();
    assert_eq!(around(&wrap(1, &erspan(&[0, 0, 0x88, 0xbe]), &inner), &inner), ["erspan1"]);
    let second = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0x00, 0x05, 0, 0, 0, 0];
    assert_eq!(around(&wrap(1, &erspan(&second), &inner), &inner), ["erspan2 session=5"]);
    let mut third = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0x00, 0x06, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(around(&wrap(1, &erspan(&third), &inner), &inner), ["erspan3 session=6"]);
    third[19] |= 1;
    third.extend([0; 8]);
    third[10] |= 0x04;
    let captured = wrap(1, &erspan(&third), &inner);
    assert_eq!(around(&captured, &inner), ["erspan3 session=6"]);
    let mut opener = Opener::default();
    let Inside::Ethernet(carried) = opener.open(&captured).inside else { panic!() };
    assert!(carried.is_cut_by_mirror());
}

#[test]
fn tunnels_lie_in_tunnels_but_not_without_end() {
    let inner = frame(LINES[0]);
    let mut data = inner.clone();
    for _ in 0..40 {
        let front = [ipv4(47, 4 + data.len()), vec![0, 0, 0x65, 0x58]].concat();
        data = [front, data].concat();
    }
    let captured = captured(1, data);
    let mut opener = Opener::default();
    let Inside::Ethernet(carried) = opener.open(&captured).inside else { panic!() };
    assert_eq!(carried.around, [Around::Gre; MAX_LAYERS]);
}

#[test]
fn another_port_counts_when_it_is_named() {
    let captured = wrap(1, &[], &frame("SEND_ONLY psn=1 udp.dport=4000 64B"));
    for (ports, is_roce) in [(vec![], false), (vec![4000], true), (vec![4001], false)] {
        let mut opener = Opener::with_ports(ports);
        let Inside::Ethernet(carried) = opener.open(&captured).inside else { panic!() };
        assert_eq!(carried.port, is_roce.then_some(4000));
        assert_eq!(matches!(decode(carried.frame), Ok(Frame::Roce(_))), is_roce);
    }
}

proptest! {
    #[test]
    fn whatever_was_captured_is_opened(linktype in 0u32..300, ports: Vec<u16>, data: Vec<u8>) {
        let captured = captured(linktype, data);
        let mut opener = Opener::with_ports(ports);
        if let Inside::Ethernet(carried) = opener.open(&captured).inside {
            prop_assert_eq!(carried.frame.len() - carried.made, captured.data.len() - carried.start);
        }
    }

    /// Behind fronts that lead far in, which random bytes do not find.
    #[test]
    fn whatever_lies_in_a_tunnel_is_opened(front in 0usize..6, cut in 0usize..80, data: Vec<u8>) {
        let fronts = [
            udp(4789, data.len()), udp(6081, data.len()), ipv4(47, data.len()), ipv4(4, data.len()),
            [vec![0; 12], vec![0x88, 0x47]].concat(), [ipv4(47, data.len()), vec![0x10, 0, 0x22, 0xeb]].concat(),
        ];
        let mut captured = wrap(1, &fronts[front], &data);
        captured.data.truncate(captured.data.len().saturating_sub(cut));
        Opener::default().open(&captured);
    }
}
