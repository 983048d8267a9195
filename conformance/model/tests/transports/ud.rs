//! The UD responder.

use rocespec_codec::{Deth, Mtu, Net, Opcode, PKey, QKey, Qpn};
use rocespec_model::{Endpoint, LongDatagram, QpKind, QpState, Status};

use crate::harness::{Ip, Lab, Options, QKEY, Req, TESTER_QPN, lab_with, pattern, req};

pub(crate) fn ud() -> Lab {
    lab_with(|options| options.kind = QpKind::Ud)
}

fn ud_with(change: impl FnOnce(&mut Options)) -> Lab {
    lab_with(|options| {
        options.kind = QpKind::Ud;
        change(options);
    })
}

pub(crate) fn datagram(psn: u32) -> Req {
    let mut request = req(Opcode::UD_SEND_ONLY, psn).len(8);
    request.ext.deth = Deth { qkey: QKEY, src_qp: TESTER_QPN, ..Deth::default() };
    request
}

fn keyed(qkey: u32) -> Req {
    let mut request = datagram(0);
    request.ext.deth.qkey = QKey::new(qkey);
    request
}

#[test]
fn the_payload_lies_behind_forty_bytes() {
    let mut lab = ud();
    assert_eq!(lab.send(datagram(0)), [""; 0]);
    let done = lab.completions();
    let [done] = done[..] else { panic!("{done:?}") };
    assert_eq!((done.status, done.byte_len, done.grh, done.src_qpn), (Status::Success, 48, true, TESTER_QPN));
    assert_eq!(done.immediate, None);
    assert_eq!(lab.received(0, 48)[40..], pattern(8));
}

#[test]
fn immediate_data_comes_with_the_completion() {
    let mut lab = ud();
    let mut request = datagram(0).immediate(0x0102_0304).bth(|bth| bth.se = true);
    request.bth.opcode = Opcode::UD_SEND_ONLY_WITH_IMMEDIATE;
    lab.send(request);
    let done = lab.completions();
    assert_eq!((done[0].immediate, done[0].solicited), (Some(0x0102_0304), true));
}

#[test]
fn an_ipv4_header_lies_at_twenty_and_nothing_before_it() {
    let mut lab = ud();
    lab.port.write_memory(lab.inbox.handle, 0, &[0xee; 64]).unwrap();
    let frame = datagram(0).frame(&lab);
    lab.send_frame(&frame);
    let buffer = lab.received(0, 64);
    assert_eq!(buffer[..20], [0xee; 20]);
    assert_eq!(buffer[20..40], frame[14..34]);
    assert_eq!(buffer[48..], [0xee; 16]);
}

#[test]
fn an_ipv6_header_and_a_grh_fill_the_area() {
    for ip in [Ip::V6, Ip::Grh] {
        let mut lab = ud_with(|options| options.ip = ip);
        let frame = datagram(0).frame(&lab);
        lab.send_frame(&frame);
        assert_eq!(lab.received(0, 40), frame[14..54]);
        assert_eq!(lab.completions()[0].byte_len, 48);
    }
}

#[test]
fn one_queue_pair_takes_both_versions() {
    let mut lab = ud();
    for ip in [Ip::V4, Ip::V6, Ip::Grh] {
        lab.options.ip = ip;
        lab.send(datagram(0));
        assert_eq!(lab.statuses().len(), 1, "{ip:?}");
    }
}

#[test]
fn a_version_that_no_gid_stands_for_is_dropped() {
    let mut lab = ud();
    let mut config = lab.port.config().clone();
    config.gids.retain(|entry| entry.kind == rocespec_model::GidKind::RoceV2);
    lab.port = Endpoint::new(config);
    lab.inbox = lab.port.register_memory(4096, rocespec_model::Access::LOCAL_WRITE).unwrap();
    (lab.qp, lab.qpn) = lab.port.create_qp(QpKind::Ud, Default::default()).unwrap();
    lab.connect();
    lab.post(0);
    lab.options.ip = Ip::Grh;
    lab.assert_dropped(datagram(0), "drop_destination");
    lab.options.ip = Ip::V6;
    lab.send(datagram(0));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn another_destination_is_dropped() {
    let elsewhere = datagram(0).tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.dst = [10, 0, 0, 9].into();
    });
    ud().assert_dropped(elsewhere, "drop_destination");
}

#[test]
fn a_wrong_qkey_is_dropped_and_counted() {
    let mut lab = ud();
    for wrong in [0, QKEY.get() ^ 1, QKEY.get() ^ 0x8000_0000] {
        lab.assert_dropped(keyed(wrong), "qkey_violations");
    }
    assert_eq!(lab.counter("qkey_violations"), 3);
    lab.send(datagram(0));
    assert_eq!(lab.statuses(), [(0, "success")], "no receive was taken");
}

#[test]
fn datagrams_come_from_anywhere_with_any_psn() {
    let mut lab = ud();
    lab.send(datagram(5));
    lab.send(datagram(5));
    let mut other = datagram(3).tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.src = [10, 9, 9, 9].into();
    });
    other.ext.deth.src_qp = Qpn::new(0x1234);
    lab.send(other);
    let sources: Vec<_> = lab.completions().iter().map(|done| done.src_qpn.get()).collect();
    assert_eq!(sources, [TESTER_QPN.get(), TESTER_QPN.get(), 0x1234]);
}

#[test]
fn another_partition_is_dropped() {
    ud().assert_dropped(datagram(0).bth(|bth| bth.pkey = PKey::new(0x1234)), "drop_pkey");
}

#[test]
fn a_buffer_that_is_too_small_is_never_overrun() {
    for (policy, statuses) in [(LongDatagram::Dropped, vec![]), (LongDatagram::Completed, vec![(0, "loc_len_err")])] {
        let mut lab = ud_with(|options| (options.receives, options.policy.long_datagram) = (0, policy));
        lab.port.write_memory(lab.inbox.handle, 0, &[0xee; 128]).unwrap();
        lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 0, 64).unwrap();
        assert_eq!(lab.send(datagram(0).len(25)), [""; 0]);
        assert_eq!(lab.received(0, 128)[64..], [0xee; 64]);
        assert_eq!(lab.state(), QpState::Rtr);
        assert_eq!(lab.statuses(), statuses);
    }
}

#[test]
fn a_datagram_may_fill_its_buffer_to_the_last_byte() {
    let mut lab = ud_with(|options| options.receives = 0);
    lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 0, 64).unwrap();
    lab.send(datagram(0).len(24));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_datagram_is_as_long_as_the_port_allows() {
    let mut lab = ud_with(|options| (options.receive_len, options.port_mtu) = (4096, Mtu::B1024));
    lab.assert_dropped(datagram(0).len(1025), "drop_message");
    lab.send(datagram(0).len(1024));
    assert_eq!(lab.completions()[0].byte_len, 1064);
}

#[test]
fn without_a_receive_a_datagram_is_dropped() {
    let mut lab = ud_with(|options| options.receives = 0);
    lab.assert_dropped(datagram(0), "drop_not_ready");
}

#[test]
fn there_are_no_messages_of_several_packets() {
    let mut lab = ud();
    for operation in [0x60, 0x61, 0x62, 0x6a, 0x6c, 0x71] {
        lab.assert_dropped(req(Opcode(operation), 0), "drop_message");
    }
}

#[test]
fn connected_requests_are_dropped() {
    let mut lab = ud();
    for opcode in [Opcode::RC_SEND_ONLY, Opcode::UC_SEND_ONLY] {
        lab.assert_dropped(req(opcode, 0).len(8), "drop_transport_class");
    }
    let mut connection = lab_with(|_| {});
    connection.assert_dropped(datagram(0), "drop_transport_class");
}

#[test]
fn a_buffer_that_cannot_be_written_stops_the_queue_pair() {
    let mut lab = ud_with(|options| options.receives = 0);
    lab.port.post_receive(lab.qp, 0, lab.inbox.handle, (1 << 16) - 44, 64).unwrap();
    lab.send(datagram(0));
    assert_eq!(lab.statuses(), [(0, "loc_prot_err")]);
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn reserved_bits_are_ignored() {
    let mut lab = ud();
    lab.send(datagram(0).tweak(|packet| packet.ext.deth.reserved = 0xff));
    assert_eq!(lab.statuses(), [(0, "success")], "reserved bits are ignored");
}
