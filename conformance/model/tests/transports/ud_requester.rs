//! The UD requester.

use rocespec_codec::{MacAddr, Mtu, Net, QKey, Qpn};
use rocespec_model::{Destination, QpKind, QpState, SendOperation, SendRequest, VerbError};

use crate::harness::{Ip, Lab, QKEY, TESTER_MAC, gids, lab_with, look, pattern};
use crate::sent::{post, request, shape};
use crate::ud::datagram;

const PEER: Qpn = Qpn::new(0x4711);

fn ud() -> Lab {
    let mut lab = lab_with(|options| {
        (options.kind, options.start_psn, options.port_mtu) = (QpKind::Ud, 0xff_fffe, Mtu::B1024);
    });
    lab.go();
    lab
}

fn to_peer() -> Destination {
    Destination::new(gids(Ip::V4).1, PEER, QKey::new(0x77))
}

fn send(length: u32, destination: Destination) -> SendRequest {
    SendRequest { destination: Some(destination), ..request(SendOperation::Send, length) }
}

#[test]
fn a_datagram_says_from_whom_to_whom_and_with_which_key() {
    let mut lab = ud();
    let frames = post(&mut lab, send(8, to_peer()));
    assert_eq!(shape(&lab, &frames), ["UD_SEND_ONLY 0 8B"]);
    look(&frames[0], |packet| {
        assert_eq!((packet.bth.dest_qp, packet.bth.ack_req), (PEER, false));
        assert_eq!((packet.ext.deth.qkey, packet.ext.deth.src_qp), (QKey::new(0x77), lab.qpn));
        assert_eq!((packet.net.src_gid(), packet.net.dst_gid()), gids(Ip::V4));
        assert_eq!(packet.payload, pattern(8));
    });
    assert_eq!(lab.statuses(), [(1, "success")]);
    assert_eq!(lab.port.next_timeout(), None);
}

#[test]
fn immediate_data_goes_along() {
    let mut lab = ud();
    let operation = SendOperation::SendWithImmediate;
    let frames = post(&mut lab, SendRequest { operation, immediate: 0x0102_0304, ..send(0, to_peer()) });
    assert_eq!(shape(&lab, &frames), ["UD_SEND_ONLY_WITH_IMMEDIATE 0 0B"]);
    look(&frames[0], |packet| assert_eq!(packet.ext.immdt.0, 0x0102_0304));
}

#[test]
fn a_key_with_the_highest_bit_stands_for_the_queue_pairs_own() {
    let mut lab = ud();
    let privileged = Destination { qkey: QKey::new(0x8000_0001), ..to_peer() };
    let frames = post(&mut lab, send(8, privileged));
    look(&frames[0], |packet| assert_eq!(packet.ext.deth.qkey, QKEY));
}

#[test]
fn each_datagram_has_its_own_way() {
    let mut lab = ud();
    let destination = Destination {
        gid: gids(Ip::V6).1,
        gid_index: 1,
        traffic_class: 0x60,
        hop_limit: 9,
        flow_label: 0x12345,
        ..to_peer()
    };
    lab.port.add_neighbour(gids(Ip::V6).1, MacAddr([2, 0, 0, 0, 0, 9]));
    let frames = post(&mut lab, send(8, destination));
    look(&frames[0], |packet| {
        let Net::V6(ip) = packet.net else { panic!("{:?}", packet.net) };
        assert_eq!((ip.traffic_class, ip.hop_limit, ip.flow_label), (0x60, 9, 0x12345));
        assert_eq!(packet.eth.dst, MacAddr([2, 0, 0, 0, 0, 9]));
    });
    let as_v1 = Destination { gid_index: 2, ..destination };
    let frames = post(&mut lab, send(8, as_v1));
    look(&frames[0], |packet| assert!(matches!(packet.net, Net::Grh(_))));
}

#[test]
fn an_answer_goes_to_where_the_question_came_from() {
    let mut lab = ud();
    lab.send(datagram(0));
    let frames = post(&mut lab, send(8, to_peer()));
    look(&frames[0], |packet| assert_eq!(packet.eth.dst, TESTER_MAC));
}

#[test]
fn groups_have_ethernet_addresses_of_their_own() {
    for (index, group, mac) in [
        (0, "::ffff:239.129.2.3", [0x01, 0x00, 0x5e, 0x01, 2, 3]),
        (1, "ff0e::1:a0b:c0d", [0x33, 0x33, 0x0a, 0x0b, 0x0c, 0x0d]),
    ] {
        let mut lab = ud();
        let group = Destination { gid_index: index, ..Destination::new(group.parse().unwrap(), Qpn::MULTICAST, QKEY) };
        let frames = post(&mut lab, send(8, group));
        look(&frames[0], |packet| {
            assert_eq!((packet.eth.dst, packet.bth.dest_qp), (MacAddr(mac), Qpn::MULTICAST));
            assert_eq!(packet.net.dst_gid(), group.gid);
        });
    }
}

#[test]
fn psns_count_datagrams() {
    let mut lab = ud();
    let psns = [0, 1, 2].map(|_| {
        let frames = post(&mut lab, send(8, to_peer()));
        look(&frames[0], |packet| packet.bth.psn.get())
    });
    assert_eq!(psns, [0xff_fffe, 0xff_ffff, 0]);
}

#[test]
fn what_is_longer_than_the_port_allows_is_not_sent() {
    let mut lab = ud();
    assert_eq!(post(&mut lab, send(1024, to_peer())).len(), 1);
    assert!(post(&mut lab, send(1025, to_peer())).is_empty());
    assert_eq!(lab.statuses(), [(1, "success"), (1, "loc_len_err")]);
    assert_eq!(lab.state(), QpState::Sqe);
}

#[test]
fn a_datagram_needs_a_destination_that_the_port_can_reach() {
    let mut lab = ud();
    let refused = Err(VerbError::OutOfRange("destination"));
    for destination in [
        None,
        Some(Destination { gid: gids(Ip::V6).1, ..to_peer() }),
        Some(Destination { gid_index: 3, ..to_peer() }),
        Some(Destination { flow_label: 1 << 20, ..to_peer() }),
        Some(Destination { service_level: 8, ..to_peer() }),
    ] {
        let request = SendRequest { destination, ..request(SendOperation::Send, 0) };
        assert_eq!(lab.port.post_send(lab.qp, &request), refused);
    }
}

#[test]
fn ud_has_sends_alone() {
    let mut lab = ud();
    for operation in [SendOperation::RdmaWrite, SendOperation::RdmaRead, SendOperation::FetchAdd] {
        let request = SendRequest { operation, ..send(0, to_peer()) };
        assert_eq!(lab.port.post_send(lab.qp, &request), Err(VerbError::Unsupported));
    }
}
