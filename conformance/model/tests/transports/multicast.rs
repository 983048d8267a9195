//! Multicast groups of UD queue pairs.

use std::net::Ipv6Addr;

use rocespec_codec::{MacAddr, Net, Opcode, QKey, Qpn};
use rocespec_model::{Capacity, QpAttributes, QpHandle, QpKind, QpState, VerbError};

use crate::harness::{Lab, QKEY, Req, lab, req, to};
use crate::ud::{datagram, ud};

const GROUP: &str = "::ffff:239.1.2.3";

fn group() -> Ipv6Addr {
    GROUP.parse().unwrap()
}

fn to_group() -> Req {
    datagram(0).bth(|bth| bth.dest_qp = Qpn::MULTICAST).tweak(|packet| {
        packet.eth.dst = MacAddr([0x01, 0x00, 0x5e, 1, 2, 3]);
        let Net::V4(ip) = &mut packet.net else { return };
        ip.dst = [239, 1, 2, 3].into();
    })
}

/// A second UD queue pair with one receive.
fn another(lab: &mut Lab, qkey: QKey) -> QpHandle {
    let (qp, _) = lab.port.create_qp(QpKind::Ud, Capacity::default()).unwrap();
    let init = QpAttributes { pkey_index: Some(0), qkey: Some(qkey), ..to(QpState::Init) };
    lab.port.modify_qp(qp, &init).unwrap();
    lab.port.modify_qp(qp, &to(QpState::Rtr)).unwrap();
    lab.port.post_receive(qp, 9, lab.inbox.handle, 8192, 1024).unwrap();
    qp
}

#[test]
fn every_member_gets_a_copy() {
    let mut lab = ud();
    let second = another(&mut lab, QKEY);
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    lab.port.attach_multicast(second, group()).unwrap();
    assert_eq!(lab.send(to_group()), [""; 0]);
    assert_eq!(lab.completions().len(), 1);
    assert_eq!(lab.port.poll(second, 9).len(), 1);
    assert_eq!(lab.received(0, 48)[20..], lab.port.read_memory(lab.inbox.handle, 8192 + 20, 28).unwrap());
}

#[test]
fn attaching_twice_is_attaching_once() {
    let mut lab = ud();
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    lab.send(to_group());
    assert_eq!(lab.completions().len(), 1);
}

#[test]
fn a_member_with_another_key_or_without_a_receive_does_not_disturb_the_others() {
    let mut lab = ud();
    let second = another(&mut lab, QKey::new(1));
    for qp in [second, lab.qp] {
        lab.port.attach_multicast(qp, group()).unwrap();
    }
    lab.send(to_group());
    assert_eq!((lab.completions().len(), lab.port.poll(second, 9).len()), (1, 0));
    assert_eq!(lab.counter("qkey_violations"), 1);
}

#[test]
fn who_is_not_attached_gets_nothing() {
    let mut lab = ud();
    lab.assert_dropped(to_group(), "drop_unknown_qp");
    lab.port.attach_multicast(lab.qp, "::ffff:239.1.2.4".parse().unwrap()).unwrap();
    lab.assert_dropped(to_group(), "drop_unknown_qp");
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    lab.port.detach_multicast(lab.qp, group()).unwrap();
    lab.assert_dropped(to_group(), "drop_unknown_qp");
}

#[test]
fn a_destroyed_queue_pair_is_in_no_group() {
    let mut lab = ud();
    let second = another(&mut lab, QKEY);
    lab.port.attach_multicast(second, group()).unwrap();
    lab.port.destroy_qp(second).unwrap();
    lab.assert_dropped(to_group(), "drop_unknown_qp");
}

#[test]
fn a_group_is_named_by_address_and_number_together() {
    let mut lab = ud();
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    let qpn = lab.qpn;
    lab.assert_dropped(to_group().bth(|bth| bth.dest_qp = qpn), "drop_destination");
    lab.assert_dropped(datagram(0).bth(|bth| bth.dest_qp = Qpn::MULTICAST), "drop_unknown_qp");
    let wrong_mac = datagram(0).bth(|bth| bth.dest_qp = Qpn::MULTICAST).tweak(|packet| {
        packet.eth.dst = MacAddr([0x01, 0x00, 0x5e, 1, 2, 4]);
        let Net::V4(ip) = &mut packet.net else { return };
        ip.dst = [239, 1, 2, 3].into();
    });
    lab.assert_dropped(wrong_mac, "drop_mac");
}

#[test]
fn connected_requests_to_a_group_are_dropped() {
    let mut lab = ud();
    lab.port.attach_multicast(lab.qp, group()).unwrap();
    let mut connected = to_group().len(8);
    connected.bth.opcode = Opcode::RC_SEND_ONLY;
    lab.assert_dropped(connected, "drop_unknown_qp");
    let mut connection = crate::harness::lab();
    let plain = req(Opcode::RC_SEND_ONLY, 0).bth(|bth| bth.dest_qp = Qpn::MULTICAST);
    connection.assert_dropped(plain, "drop_unknown_qp");
}

#[test]
fn groups_are_for_datagrams_and_have_group_addresses() {
    let mut rc = lab();
    assert_eq!(rc.port.attach_multicast(rc.qp, group()), Err(VerbError::Unsupported));
    let mut lab = ud();
    let single = "::ffff:10.0.0.1".parse().unwrap();
    assert_eq!(lab.port.attach_multicast(lab.qp, single), Err(VerbError::OutOfRange("group")));
    assert_eq!(lab.port.attach_multicast(QpHandle(99), group()), Err(VerbError::NoSuchObject));
    assert_eq!(lab.port.detach_multicast(lab.qp, group()), Err(VerbError::NoSuchObject));
    lab.port.attach_multicast(lab.qp, "ff0e::1".parse().unwrap()).unwrap();
}
