//! Frames before and after, by their lines.

use proptest::prelude::*;
use rocespec_codec::icrc::{self, Verdict};
use rocespec_codec::lldp::{PfcConfiguration, Writer};
use rocespec_codec::mad::{IpCm, Mad, Message, Rej, Rep, Req, ServiceId, SidrRep};
use rocespec_codec::notation::{self, Scope};
use rocespec_codec::{
    Arp, MacAddr, Neighbor, Net, Psn, Qpn, Roce, decode, encode, encoded_len, field, right_udp_checksum,
};

use super::*;
use crate::capture::inside::Opener;

/// A frame from its line.
fn frame(line: &str) -> Vec<u8> {
    let (mut room, mut out) = (vec![0; 16384], vec![0; 16384]);
    let read = notation::parse(line, &Scope::default(), &mut room).unwrap_or_else(|error| panic!("{line}: {error}"));
    read.encode(&mut out).unwrap().to_vec()
}

fn captured(data: &[u8]) -> CapturedFrame {
    let (linktype, original_len) = (LINKTYPE_ETHERNET, data.len() as u32);
    CapturedFrame { number: 7, time_ns: 5, linktype, original_len, data: data.to_vec(), ..CapturedFrame::default() }
}

fn rewrite(rewriter: &mut Rewriter, captured: &CapturedFrame) -> Result<CapturedFrame, LeftOut> {
    rewriter.frame(&Opener::default().open(captured))
}

fn roce(frame: &[u8]) -> Roce<'_> {
    let Ok(Frame::Roce(packet)) = decode(frame) else { panic!("not RoCE: {:?}", decode(frame)) };
    packet
}

/// The line of a frame that was made anonymous.
fn anonymous(line: &str) -> String {
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&frame(line))).unwrap();
    notation::print(&roce(&after.data), &Scope::default()).to_string()
}

const V4: &str = "ip.src=198.18.0.1 ip.dst=198.18.0.2";

#[test]
fn addresses_change_and_nothing_else_does() {
    let theirs = "eth.src=b8:ce:f6:01:02:03 eth.dst=b8:ce:f6:04:05:06";
    let cases = [
        (format!("SEND_ONLY psn=7 ack 64B {theirs}"), format!("SEND_ONLY psn=7 ack 64B {V4}")),
        (format!("SEND_ONLY psn=7 13B=aa icrc=bad {theirs}"), format!("SEND_ONLY psn=7 13B=aa {V4} icrc=bad")),
        (format!("SEND_ONLY psn=7 icrc=swapped {theirs}"), format!("SEND_ONLY psn=7 {V4} icrc=swapped")),
        (format!("SEND_ONLY psn=7 icrc=crc32c {theirs}"), format!("SEND_ONLY psn=7 {V4} icrc=crc32c")),
        (format!("SEND_ONLY psn=7 icrc=0xdeadbeef {theirs}"), format!("SEND_ONLY psn=7 {V4} icrc=0xdeadbeef")),
        (
            format!("ACK psn=7 msn=1 vlan.id=5 ip.checksum=0 {theirs}"),
            format!("ACK psn=7 msn=1 {V4} ip.checksum=0x0 vlan.id=5"),
        ),
        (
            format!("RDMA_WRITE_ONLY v6 psn=7 va=0x1234 rkey=0x77 8B {theirs}"),
            "RDMA_WRITE_ONLY v6 psn=7 va=0x1234 rkey=0x77 8B ip.src=2001:db8::1 ip.dst=2001:db8::2".to_owned(),
        ),
        (
            format!("ACK v1 psn=7 msn=1 {theirs}"),
            "ACK v1 psn=7 msn=1 ip.src=::ffff:198.18.0.1 ip.dst=::ffff:198.18.0.2".to_owned(),
        ),
    ];
    for (before, after) in cases {
        assert_eq!(anonymous(&before), after, "{before}");
    }
}

#[test]
fn checksums_stay_right_wrong_or_absent() {
    for line in ["SEND_ONLY psn=7 13B udp.checksum=right", "SEND_ONLY v6 psn=7 13B udp.checksum=right"] {
        let before = frame(line);
        let after = rewrite(&mut Rewriter::anonymising(), &captured(&before)).unwrap().data;
        let (before, after) = (roce(&before), roce(&after));
        assert_eq!(after.udp.unwrap().checksum, right_udp_checksum(&after), "{line}");
        assert_ne!(after.net, before.net);
    }
    let line = "SEND_ONLY psn=7 13B udp.checksum=0x1234 ip.checksum=0x5678";
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&frame(line))).unwrap().data;
    let packet = roce(&after);
    let Net::V4(ip) = packet.net else { panic!() };
    assert_ne!(ip.checksum, ip.right_checksum());
    assert!(![0, right_udp_checksum(&packet)].contains(&packet.udp.unwrap().checksum));
}

#[test]
fn a_checksum_that_the_nic_was_to_finish_stays_one() {
    let half = |packet: &Roce<'_>| {
        let Net::V4(ip) = packet.net else { panic!() };
        let words = [ip.src.to_bits(), ip.dst.to_bits()].map(|bits| (bits >> 16) + (bits & 0xffff));
        let sum = words[0] + words[1] + 17 + u32::from(packet.udp.unwrap().len);
        (sum % 0xffff) as u16
    };
    let plain = frame("SEND_ONLY psn=7 64B");
    let line = format!("SEND_ONLY psn=7 64B udp.checksum={:#x}", half(&roce(&plain)));
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&frame(&line))).unwrap().data;
    assert_eq!(roce(&after).udp.unwrap().checksum, half(&roce(&after)));
}

#[test]
fn a_packet_cut_by_the_capture_is_rewritten_as_far_as_it_is_there() {
    let whole = frame("SEND_ONLY psn=7 64B udp.checksum=right eth.src=b8:ce:f6:01:02:03");
    let expected = rewrite(&mut Rewriter::anonymising(), &captured(&whole)).unwrap().data;
    for len in 42..whole.len() {
        let cut = CapturedFrame { data: whole[..len].to_vec(), ..captured(&whole) };
        let after = rewrite(&mut Rewriter::anonymising(), &cut).unwrap();
        assert_eq!(after.original_len as usize, whole.len());
        // Without the rest of an ICRC that says what the addresses were.
        assert_eq!(after.data.len(), len.min(whole.len() - 4));
        let but_its_checksum = |frame: &[u8]| [&frame[..40], &frame[42..]].concat();
        assert_eq!(but_its_checksum(&after.data), but_its_checksum(&expected[..after.data.len()]), "{len} bytes");
    }
    for len in 14..42 {
        let cut = CapturedFrame { data: whole[..len].to_vec(), ..captured(&whole) };
        let after = rewrite(&mut Rewriter::anonymising(), &cut);
        assert!(matches!(after, Err(LeftOut::Headless | LeftOut::Other)), "{len} bytes: {after:?}");
    }
}

#[test]
fn the_checksum_of_a_cut_packet_is_brought_up_to_date() {
    // The ICRC counts in it, too, and is not there: what is wrong afterwards is what the ICRC changed.
    let whole = frame("SEND_ONLY psn=7 64B udp.checksum=right");
    let cut = CapturedFrame { data: whole[..60].to_vec(), ..captured(&whole) };
    let after = rewrite(&mut Rewriter::anonymising(), &cut).unwrap().data;
    let mut restored = whole.clone();
    restored[..60].copy_from_slice(&after);
    let packet = roce(&restored);
    assert_eq!(packet.udp.unwrap().checksum, right_udp_checksum(&packet));
}

#[test]
fn payload_becomes_zeroes_and_keys_stay() {
    let cases = [
        ("SEND_ONLY psn=7 13B", "SEND_ONLY psn=7 13B=00"),
        ("SEND_ONLY psn=7 13B icrc=bad", "SEND_ONLY psn=7 13B=00 icrc=bad"),
        ("RDMA_WRITE_ONLY psn=7 va=0x1234 rkey=0x77 8B", "RDMA_WRITE_ONLY psn=7 va=0x1234 rkey=0x77 8B=00"),
        ("FETCH_ADD psn=7 va=0x1234 rkey=0x77 add=0x5", "FETCH_ADD psn=7 va=0x1234 rkey=0x77 add=0x5"),
    ];
    for (before, expected) in cases {
        let after = rewrite(&mut Rewriter::without_payload(), &captured(&frame(before))).unwrap().data;
        assert_eq!(notation::print(&roce(&after), &Scope::default()).to_string(), expected);
    }
    let whole = frame("SEND_ONLY psn=7 64B");
    let cut = CapturedFrame { data: whole[..70].to_vec(), ..captured(&whole) };
    let after = rewrite(&mut Rewriter::without_payload(), &cut).unwrap().data;
    assert_eq!((&after[..54], &after[54..]), (&whole[..54], &[0; 16][..]));
}

/// A datagram to queue pair 1.
fn management(message: Message) -> Vec<u8> {
    let mut buffer = [0; Mad::LEN];
    let payload = Mad::cm(0x99, message.attribute(), &message.data()).encode(&mut buffer).unwrap().to_vec();
    let line = frame("UD_SEND_ONLY qp=1 src_qp=1 qkey=0x80010000 psn=3");
    let mut packet = Roce { payload: &payload, ..roce(&line) };
    field::complete(&mut packet, |_| false);
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}

fn message(frame: &[u8]) -> Message {
    let packet = roce(frame);
    assert!(icrc::verify(&packet));
    rocespec_codec::mad::of(&packet).unwrap().message().unwrap()
}

#[test]
fn the_connection_manager_speaks_of_the_same_addresses() {
    let mut rewriter = Rewriter::anonymising();
    let mut req = Req {
        local_comm_id: 5,
        service_id: ServiceId::of_port(6, 7174),
        local_ca_guid: 0xb8ce_f603_0001_0203,
        local_qpn: Qpn::new(0x11),
        primary_local_lid: 0xffff,
        primary_remote_lid: 7,
        primary_local_gid: "::ffff:10.0.0.1".parse().unwrap(),
        primary_remote_gid: "::ffff:10.0.0.2".parse().unwrap(),
        alternate_local_gid: "fe80::bace:f6ff:fe01:203".parse().unwrap(),
        private_data: [0x5a; 92],
        ..Req::default()
    };
    let ip = IpCm::new("10.0.0.1".parse().unwrap(), 4000, "10.0.0.2".parse().unwrap()).unwrap();
    req.set_ip_cm(&ip);
    let after = rewrite(&mut rewriter, &captured(&management(req.into()))).unwrap().data;
    let Message::Req(seen) = message(&after) else { panic!() };
    let packet = roce(&after);
    assert_eq!([seen.primary_local_gid, seen.primary_remote_gid], [packet.net.src_gid(), packet.net.dst_gid()]);
    let (src, dst) = seen.ip_cm().unwrap().addresses().unwrap();
    assert_eq!((src.to_string(), dst.to_string()), ("198.18.0.1".to_owned(), "198.18.0.2".to_owned()));
    assert_eq!(seen.ip_cm().unwrap().src_port, 4000);
    assert!(seen.private_data[IpCm::LEN..].iter().all(|byte| *byte == 0));
    assert_ne!(seen.local_ca_guid, req.local_ca_guid);
    assert!(seen.alternate_local_gid.is_unicast_link_local() && seen.alternate_local_gid != req.alternate_local_gid);
    assert_eq!((seen.primary_local_lid, seen.primary_remote_lid), (0xffff, 1));
    let kept = |req: &Req| (req.local_comm_id, req.service_id, req.local_qpn, req.alternate_remote_gid);
    assert_eq!(kept(&seen), kept(&req));

    let rep = Rep {
        local_ca_guid: req.local_ca_guid,
        starting_psn: Psn::new(9),
        private_data: [0x5a; 196],
        ..Rep::default()
    };
    let after = rewrite(&mut rewriter, &captured(&management(rep.into()))).unwrap().data;
    let expected = Rep { local_ca_guid: seen.local_ca_guid, private_data: [0; 196], ..rep };
    assert_eq!(message(&after), Message::Rep(expected), "the same adapter");
}

#[test]
fn what_programs_say_to_each_other_goes() {
    let rej = Rej { info: [0x5a; 72], private_data: [0x5a; 148], info_len: 16, ..Rej::default() };
    let sidr = SidrRep { info: [0x5a; 72], private_data: [0x5a; 136], ..SidrRep::default() };
    for message_of_theirs in [Message::from(rej), Message::from(sidr)] {
        let after = rewrite(&mut Rewriter::anonymising(), &captured(&management(message_of_theirs))).unwrap().data;
        assert!(!message(&after).data().contains(&0x5a));
        let kept = rewrite(&mut Rewriter::without_payload(), &captured(&management(message_of_theirs))).unwrap().data;
        assert_eq!(message(&kept), message_of_theirs, "a message is no payload");
    }
}

#[test]
fn neighbours_are_found_at_the_new_addresses() {
    let mut rewriter = Rewriter::anonymising();
    let mac = MacAddr([0xb8, 0xce, 0xf6, 1, 2, 3]);
    let send = rewrite(&mut rewriter, &captured(&frame("SEND_ONLY psn=0 eth.src=b8:ce:f6:01:02:03"))).unwrap().data;
    let asks = Arp::request(mac, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let after = rewrite(&mut rewriter, &captured(&encoded(&Frame::Arp(asks)))).unwrap().data;
    let Ok(Frame::Arp(arp)) = decode(&after) else { panic!() };
    let packet = roce(&send);
    let Net::V4(ip) = packet.net else { panic!() };
    assert_eq!((arp.sender_mac, arp.sender_ip, arp.target_ip), (packet.eth.src, ip.src, ip.dst));
    assert_eq!((arp.eth.dst, arp.target_mac), (MacAddr([0xff; 6]), MacAddr([0; 6])));

    let own = "fe80::bace:f6ff:fe01:203".parse().unwrap();
    let asks = Neighbor::solicitation(mac, own, "2a00::5678:9abc".parse().unwrap());
    let after = rewrite(&mut rewriter, &captured(&encoded(&Frame::Neighbor(asks.clone())))).unwrap().data;
    let Ok(Frame::Neighbor(seen)) = decode(&after) else { panic!() };
    assert_eq!(seen.checksum, seen.right_checksum());
    assert_eq!(seen.link.unwrap().mac, packet.eth.src);
    let again = Neighbor::solicitation(packet.eth.src, seen.ip.src, seen.target);
    assert_eq!((seen.ip.dst, seen.eth.dst), (again.ip.dst, again.eth.dst), "it goes to the group of its target");
    let mut unknown = Neighbor { options: &[3, 1, 0, 0, 0, 0, 0, 0], ..asks };
    unknown.ip.payload_len += 8;
    assert_eq!(rewrite(&mut rewriter, &captured(&encoded(&Frame::Neighbor(unknown)))), Err(LeftOut::Link));
}

#[test]
fn discovery_keeps_what_is_about_priorities() {
    let mac = MacAddr([0xb8, 0xce, 0xf6, 1, 2, 3]);
    let pfc = PfcConfiguration { willing: true, mbc: false, reserved: 0, capability: 8, enabled: 0b1000 };
    let mut buffer = [0; 256];
    let mut writer = Writer::new(&mut buffer, mac);
    writer.identity(mac, "Ethernet17", 120).unwrap();
    writer.tlv(5, &[b"rack7-host3"]).unwrap().tlv(8, &[&[5, 1, 10, 0, 0, 1]]).unwrap();
    writer.organization([0, 1, 2], 1, b"secret").unwrap().pfc(pfc).unwrap().end().unwrap();
    let after = rewrite(&mut Rewriter::anonymising(), &captured(writer.frame())).unwrap().data;
    let Ok(Frame::Lldp(lldp)) = decode(&after) else { panic!() };
    let kinds: Vec<u8> = lldp.tlvs().map(|tlv| tlv.unwrap().kind).collect();
    assert_eq!(kinds, [1, 2, 3, 127, 0]);
    let said = lldp.tlvs().find_map(|tlv| tlv.unwrap().dcbx());
    assert_eq!(said, Some(rocespec_codec::lldp::Dcbx::Pfc(pfc)));
    for secret in [&b"Ethernet17"[..], b"rack7", b"secret", &[10, 0, 0, 1], &mac.0] {
        assert!(!after.windows(secret.len()).any(|bytes| bytes == secret));
    }
}

#[test]
fn pauses_stay_and_other_control_goes() {
    let pfc = "PFC prio=3 quanta=65535 eth.src=b8:ce:f6:01:02:03";
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&frame(pfc))).unwrap().data;
    assert_eq!(after, frame("PFC prio=3 quanta=65535 eth.src=02:00:00:00:00:01"));
    let other = captured(&frame("MAC_CONTROL data=01020304"));
    assert_eq!(rewrite(&mut Rewriter::anonymising(), &other), Err(LeftOut::Control));
}

#[test]
fn what_is_not_understood_is_left_out() {
    let cases = [
        ("SEND_ONLY psn=0 ip.options=01010101", LeftOut::Hidden),
        ("SEND_ONLY psn=0 64B ip.mf", LeftOut::Hidden),
        ("UD_SEND_ONLY qp=1 psn=0 256B", LeftOut::Management),
        ("SEND_ONLY psn=0 udp.dport=53", LeftOut::Other),
    ];
    for (line, reason) in cases {
        assert_eq!(rewrite(&mut Rewriter::anonymising(), &captured(&frame(line))), Err(reason), "{line}");
    }
}

#[test]
fn bytes_behind_a_packet_are_zeroed_and_a_frame_check_sequence_is_made_anew() {
    let mut before = frame("SEND_ONLY psn=0 64B");
    let fcs = crc32fast::hash(&before).to_le_bytes();
    before.extend(fcs);
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&before)).unwrap().data;
    assert_eq!(decode_lax(&after, after.len()).trailer_kind(), Trailer::Fcs);
    let stamped = frame("SEND_ONLY psn=0 64B trailer=0102030405");
    let after = rewrite(&mut Rewriter::anonymising(), &captured(&stamped)).unwrap().data;
    assert_eq!(roce(&after).trailer, [0; 5]);
}

#[test]
fn another_port_stays_and_counts() {
    let line = "SEND_ONLY psn=0 64B udp.dport=5000";
    let before = captured(&frame(line));
    let mut opener = Opener::with_ports([5000]);
    let after = Rewriter::anonymising().frame(&opener.open(&before)).unwrap().data;
    let opened = after.clone();
    let captured = captured(&opened);
    let Inside::Ethernet(carried) = opener.open(&captured).inside else { panic!() };
    assert_eq!(carried.port, Some(5000));
    let mut packet = roce(carried.frame);
    packet.udp.as_mut().unwrap().dport = 5000;
    assert_eq!(icrc::explain(&packet).verdict, Verdict::Right);
}

proptest! {
    /// Whatever it is, nothing panics, and the addresses are gone from what stays.
    #[test]
    fn no_address_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..160), line in 0..4_usize, damage in proptest::collection::vec((0..200_usize, any::<u8>()), 0..6), len in 0..200_usize) {
        const LINES: [&str; 4] = [
            "SEND_ONLY psn=1 64B ip.src=77.78.79.80 ip.dst=77.78.79.81 eth.src=b8:ce:f6:01:02:03",
            "ACK v6 psn=1 ip.src=2a00:1:2:3:4:5:6:7 ip.dst=2a00:1:2:3:4:5:6:8 eth.src=b8:ce:f6:01:02:03",
            "RDMA_READ_REQUEST v1 psn=1 ip.src=2a00:1:2:3:4:5:6:7 ip.dst=2a00:1:2:3:4:5:6:8 eth.src=b8:ce:f6:01:02:03",
            "UD_SEND_ONLY qp=1 psn=1 ip.src=77.78.79.80 64B=aa eth.src=b8:ce:f6:01:02:03",
        ];
        let mut data = frame(LINES[line]);
        let secrets = [data[6..12].to_vec(), data[26..30].to_vec()];
        for (at, byte) in damage {
            // Behind the addresses of IPv4.
            if let Some(place) = data.get_mut(at.max(34)) {
                *place = byte;
            }
        }
        let original_len = data.len() as u32;
        data.truncate(len.max(14));
        for data in [bytes, data] {
            let captured = CapturedFrame { original_len: original_len.max(data.len() as u32), ..captured(&data) };
            for mut rewriter in [Rewriter::anonymising(), Rewriter::without_payload(), Rewriter::anonymising().and_without_payload()] {
                let is_anonymous = rewriter.names.is_some();
                let after = rewrite(&mut rewriter, &captured);
                if let Ok(after) = after && is_anonymous && captured.data.get(6..12) == Some(&secrets[0][..]) {
                    for secret in &secrets[..if line == 0 || line == 3 { 2 } else { 1 }] {
                        prop_assert!(!after.data.windows(secret.len()).any(|part| part == &secret[..]));
                    }
                }
            }
        }
    }
}
