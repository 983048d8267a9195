use std::time::Duration;

use rocespec_codec::{Opcode, PKey, Qpn};
use rocespec_model::{Input, Output};

use crate::harness::{DUT_MAC, Ip, MTU, TESTER_MAC, TESTER_QPN, lab, lab_with, look, req};

#[test]
fn a_packet_that_asks_is_acknowledged_and_one_that_does_not_is_not() {
    let mut lab = lab();
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).no_ack()), [""; 0]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 1)), ["ACK 1 msn=2"]);
}

#[test]
fn a_middle_packet_that_asks_is_acknowledged() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 600).len(MTU).no_ack());
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_MIDDLE, 1).len(MTU)), ["ACK 1 msn=0"]);
}

#[test]
fn every_kind_of_message_counts_once() {
    let mut lab = lab();
    let answers = lab.send_all([
        req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 260).len(MTU).no_ack(),
        req(Opcode::RC_RDMA_WRITE_LAST, 1).len(4),
        req(Opcode::RC_RDMA_READ_REQUEST, 2).to(0, 4),
        req(Opcode::RC_FETCH_ADD, 3).atomic(1024, 0, 0),
        req(Opcode::RC_SEND_ONLY, 4),
        req(Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 5).to(0, 0),
    ]);
    assert_eq!(answers, ["ACK 1 msn=1", "ONLY 2 msn=2 4B", "ATOMIC 3 msn=3 0x0", "ACK 4 msn=4", "ACK 5 msn=5"]);
}

#[test]
fn a_response_has_the_fields_of_a_response() {
    let mut lab = lab_with(|options| {
        options.attributes.traffic_class = Some(0x62);
        options.attributes.hop_limit = Some(17);
    });
    lab.send(req(Opcode::RC_SEND_ONLY, 0).bth(|bth| (bth.se, bth.migreq) = (true, true)));
    look(&lab.frames[0], |packet| {
        let bth = packet.bth;
        assert!(!bth.se && !bth.ack_req && !bth.migreq && !bth.fecn && !bth.becn);
        assert_eq!((bth.pad_count, bth.tver, bth.resv6, bth.resv7), (0, 0, 0, 0));
        assert_eq!((bth.dest_qp, bth.pkey), (TESTER_QPN, PKey::DEFAULT));
        let rocespec_codec::Net::V4(ip) = packet.net else { panic!("IPv4") };
        assert_eq!((ip.ihl, ip.tos, ip.ttl, ip.flags_offset), (5, 0x62, 17, 0x4000));
        assert_eq!(ip.checksum, ip.right_checksum());
        assert_eq!((packet.eth.dst, packet.eth.src), (TESTER_MAC, DUT_MAC));
        let udp = packet.udp.unwrap();
        assert_eq!((udp.dport, udp.checksum), (4791, 0));
        assert!(rocespec_codec::icrc::verify(packet));
    });
}

#[test]
fn the_source_port_stays_the_same_and_lies_in_the_dynamic_range() {
    let mut lab = lab();
    lab.send_all((0..4).map(|psn| req(Opcode::RC_SEND_ONLY, psn)));
    let ports: Vec<_> = lab.frames.iter().map(|frame| look(frame, |packet| packet.udp.unwrap().sport)).collect();
    assert!(ports[0] >= 0xc000 && ports.iter().all(|port| *port == ports[0]), "{ports:x?}");
}

#[test]
fn the_flow_label_is_sent_and_gives_the_source_port() {
    let mut lab = lab_with(|options| {
        options.ip = Ip::V6;
        options.attributes.flow_label = Some(0x5_0003);
    });
    lab.send(req(Opcode::RC_SEND_ONLY, 0));
    look(&lab.frames[0], |packet| {
        let rocespec_codec::Net::V6(ip) = packet.net else { panic!("IPv6") };
        assert_eq!(ip.flow_label, 0x5_0003);
        assert_eq!(packet.udp.unwrap().sport, 0xc000 | (0x0003 ^ 0x14));
    });
}

#[test]
fn identifications_count_up() {
    let mut lab = lab();
    lab.send_all((0..3).map(|psn| req(Opcode::RC_SEND_ONLY, psn)));
    let ids: Vec<_> = lab
        .frames
        .iter()
        .map(|frame| look(frame, |packet| if let rocespec_codec::Net::V4(ip) = packet.net { ip.id } else { 0 }))
        .collect();
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn a_known_neighbour_is_answered_at_its_address() {
    let mut lab = lab();
    let (_, peer) = crate::harness::gids(Ip::V4);
    let mac = rocespec_codec::MacAddr([2, 9, 9, 9, 9, 9]);
    lab.port.add_neighbour(peer, mac);
    lab.send(req(Opcode::RC_SEND_ONLY, 0));
    assert_eq!(look(&lab.frames[0], |packet| packet.eth.dst), mac);
}

#[test]
fn a_tagged_request_is_answered_with_its_tag_and_the_queue_pairs_priority() {
    let mut lab = lab_with(|options| options.attributes.service_level = Some(3));
    let tagged = req(Opcode::RC_SEND_ONLY, 0).len(8).late_tweak(|packet| {
        packet.eth.tags.push(rocespec_codec::Tag { tpid: 0x8100, tci: 0xa064 });
    });
    assert_eq!(lab.send(tagged), ["ACK 0 msn=1"]);
    let tags = look(&lab.frames[0], |packet| packet.eth.tags.clone());
    assert_eq!(tags[..], [rocespec_codec::Tag { tpid: 0x8100, tci: 0x6064 }]);
}

#[test]
fn an_ack_leaves_after_the_response_delay() {
    let mut lab = lab();
    let frame = req(Opcode::RC_SEND_ONLY, 0).frame(&lab);
    lab.port.handle(lab.now, Input::Frame(&frame));
    let due = lab.port.next_timeout().unwrap();
    assert_eq!(due - lab.now, Duration::from_micros(1));
    assert_eq!(lab.port.poll_output(lab.now), None);
    assert!(matches!(lab.port.poll_output(due), Some(Output::Frame(_))));
    assert_eq!(lab.port.next_timeout(), None);
}

#[test]
fn two_queue_pairs_do_not_touch_each_other() {
    let mut lab = lab();
    let (other, qpn) = lab.port.create_qp(rocespec_model::QpKind::Rc, rocespec_model::Capacity::default()).unwrap();
    assert_eq!(qpn, Qpn::new(0x12));
    lab.assert_dropped(req(Opcode::RC_SEND_ONLY, 0).bth(|bth| bth.dest_qp = Qpn::new(0x12)), "drop_qp_state");
    assert!(lab.port.poll(other, 8).is_empty());
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 0 msn=1"]);
}

#[test]
fn a_responder_does_not_mark_its_own_packets_as_congested() {
    let mut lab = lab_with(|options| options.attributes.traffic_class = Some(0x63));
    lab.send(req(Opcode::RC_SEND_ONLY, 0));
    assert_eq!(look(&lab.frames[0], |packet| packet.net.traffic_class()), 0x60);
}

#[test]
fn requests_beyond_what_can_be_kept_are_lost_like_frames() {
    let mut lab = lab();
    let write = |psn| req(Opcode::RC_RDMA_WRITE_ONLY, psn).to(0, 0);
    assert_eq!(lab.burst((0..1100).map(write)).len(), 1024);
    assert_eq!(lab.counter("drop_busy"), 76);
    assert_eq!(lab.send(write(1024)), ["ACK 1024 msn=1025"]);
}
