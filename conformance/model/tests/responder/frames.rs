use rocespec_codec::{Ipv4, Net, Opcode, PKey, Qpn, Tag};
use rocespec_model::{QpAttributes, QpState};

use crate::harness::{Ip, Req, lab, lab_with, req};

fn send() -> Req {
    req(Opcode::RC_SEND_ONLY, 0).len(8)
}

#[test]
fn ipv4_ipv6_and_roce_v1_are_answered_in_kind() {
    for ip in [Ip::V4, Ip::V6, Ip::Grh] {
        let mut lab = lab_with(|options| options.ip = ip);
        assert_eq!(lab.send(send()), ["ACK 0 msn=1"], "{ip:?}");
        let kind = crate::harness::look(&lab.frames[0], |packet| match packet.net {
            Net::V4(_) => Ip::V4,
            Net::V6(_) => Ip::V6,
            Net::Grh(_) => Ip::Grh,
        });
        assert_eq!(kind, ip);
    }
}

#[test]
fn a_wrong_icrc_is_dropped() {
    for bit in 0..32 {
        let mut lab = lab();
        let mut frame = send().frame(&lab);
        let at = frame.len() - 4 + bit / 8;
        frame[at] ^= 1 << (bit % 8);
        assert_eq!(lab.send_frame(&frame), [""; 0]);
        assert_eq!(lab.counter("drop_icrc"), 1);
    }
}

#[test]
fn the_icrc_covers_the_pad() {
    let without = req(Opcode::RC_SEND_ONLY, 0).len(17).late_tweak(|packet| {
        packet.icrc = rocespec_codec::icrc::compute(&rocespec_codec::Roce { pad: &[], ..packet.clone() });
    });
    lab().assert_dropped(without, "drop_icrc");
}

#[test]
fn what_routers_change_does_not_matter() {
    let routed = send().late_tweak(|packet| {
        if let Net::V4(ip) = &mut packet.net {
            ip.ttl = 3;
            ip.tos = 0xff;
            ip.checksum = ip.right_checksum();
        }
        packet.bth.fecn = true;
        packet.bth.becn = true;
        packet.bth.resv6 = 0x3f;
        packet.udp.as_mut().unwrap().checksum = 0x1234;
    });
    assert_eq!(lab().send(routed), ["ACK 0 msn=1"]);
}

#[test]
fn reserved_bits_and_the_migration_bit_are_ignored() {
    let odd = send().bth(|bth| (bth.resv7, bth.migreq) = (0x55, true));
    assert_eq!(lab().send(odd), ["ACK 0 msn=1"]);
}

#[test]
fn an_empty_message_with_ethernet_padding_has_no_payload() {
    let mut lab = lab();
    let padded = req(Opcode::RC_SEND_ONLY, 0).late_tweak(|packet| packet.trailer = &[0xaa; 2]);
    assert_eq!(lab.send(padded), ["ACK 0 msn=1"]);
    assert_eq!(lab.completions()[0].byte_len, 0);
}

#[test]
fn tags_are_no_part_of_the_packet() {
    let tagged = send().late_tweak(|packet| packet.eth.tags.push(Tag { tpid: 0x8100, tci: 5 }));
    assert_eq!(lab().send(tagged), ["ACK 0 msn=1"]);
}

#[test]
fn a_frame_to_another_mac_address_is_dropped() {
    lab().assert_dropped(send().late_tweak(|packet| packet.eth.dst.0[5] = 9), "drop_mac");
}

#[test]
fn ipv4_options_are_dropped() {
    let options = send().tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.options = &[1, 1, 1, 0];
        ip.ihl = 6;
        ip.total_len += 4;
    });
    lab().assert_dropped(options, "drop_ip_header");
}

#[test]
fn fragments_are_dropped() {
    let first = send().tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.flags_offset = Ipv4::MF;
    });
    lab().assert_dropped(first, "drop_ip_header");
    let later = send().tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.flags_offset = 5;
    });
    lab().assert_dropped(later, "drop_not_roce");
}

#[test]
fn a_wrong_ip_checksum_is_dropped() {
    let wrong = send().late_tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.checksum ^= 1;
    });
    lab().assert_dropped(wrong, "drop_ip_header");
}

#[test]
fn a_udp_length_that_does_not_fit_is_dropped() {
    lab().assert_dropped(send().tweak(|packet| packet.udp.as_mut().unwrap().len += 4), "drop_malformed");
    lab().assert_dropped(send().tweak(|packet| packet.udp.as_mut().unwrap().len -= 4), "drop_malformed");
}

#[test]
fn another_udp_port_is_not_roce() {
    lab().assert_dropped(send().tweak(|packet| packet.udp.as_mut().unwrap().dport = 4792), "drop_not_roce");
}

#[test]
fn another_destination_address_is_dropped() {
    let wrong = send().tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.dst = [10, 0, 0, 9].into();
    });
    lab().assert_dropped(wrong, "drop_destination");
}

#[test]
fn another_source_address_is_dropped() {
    let wrong = send().tweak(|packet| {
        let Net::V4(ip) = &mut packet.net else { return };
        ip.src = [10, 0, 0, 9].into();
    });
    lab().assert_dropped(wrong, "drop_source");
}

#[test]
fn roce_v1_for_a_v2_address_is_dropped_and_the_reverse() {
    let as_v1 = {
        let v1 = lab_with(|options| options.ip = Ip::Grh);
        send().frame(&v1)
    };
    let mut v2 = lab_with(|options| options.ip = Ip::V6);
    assert_eq!(v2.send_frame(&as_v1), [""; 0]);
    assert_eq!(v2.counter("drop_destination"), 1);
    let as_v2 = send().frame(&v2);
    let mut v1 = lab_with(|options| options.ip = Ip::Grh);
    assert_eq!(v1.send_frame(&as_v2), [""; 0]);
    assert_eq!(v1.counter("drop_destination"), 1);
}

#[test]
fn an_unknown_queue_pair_is_dropped() {
    for qpn in [0x12, 1, 0xff_ffff] {
        lab().assert_dropped(send().bth(|bth| bth.dest_qp = Qpn::new(qpn)), "drop_unknown_qp");
    }
}

#[test]
fn opcodes_of_other_services_are_dropped() {
    for opcode in [Opcode::UC_SEND_ONLY, Opcode::UD_SEND_ONLY, Opcode::XRC_SEND_ONLY, Opcode(0x80), Opcode(0xff)] {
        lab().assert_dropped(req(opcode, 0).len(16), "drop_transport_class");
    }
}

#[test]
fn a_congestion_notification_is_counted_and_not_answered() {
    lab().assert_dropped(req(Opcode::CNP, 0).payload(&[0; 16]), "cnp_received");
}

#[test]
fn responses_that_nobody_waits_for_are_dropped() {
    for opcode in [Opcode::RC_ACKNOWLEDGE, Opcode::RC_RDMA_READ_RESPONSE_ONLY, Opcode::RC_ATOMIC_ACKNOWLEDGE] {
        lab().assert_dropped(req(opcode, 0), "drop_unexpected_response");
    }
}

#[test]
fn an_unknown_transport_version_is_dropped() {
    for tver in 1..16 {
        lab().assert_dropped(req(Opcode::RC_SEND_ONLY, 0).bth(|bth| bth.tver = tver), "drop_bth");
    }
}

#[test]
fn partitions_are_kept_apart() {
    lab().assert_dropped(send().bth(|bth| bth.pkey = PKey::new(0x1234)), "drop_pkey");
    assert_eq!(lab().send(send().bth(|bth| bth.pkey = PKey::new(0x7fff))), ["ACK 0 msn=1"]);
    let mut limited = lab_with(|options| options.attributes.pkey_index = Some(1));
    limited.assert_dropped(send().bth(|bth| bth.pkey = PKey::new(0x7fff)), "drop_pkey");
    assert_eq!(limited.send(send()), ["ACK 0 msn=1"]);
}

#[test]
fn a_queue_pair_that_is_not_ready_to_receive_drops_requests() {
    let mut lab = lab();
    lab.modify(QpAttributes { state: Some(QpState::Reset), ..QpAttributes::default() });
    assert_eq!(lab.send(send()), [""; 0]);
    assert_eq!(lab.counter("drop_qp_state"), 1);
}

#[test]
fn a_pad_count_without_a_pad_is_dropped() {
    lab().assert_dropped(req(Opcode::RC_SEND_ONLY, 0).tweak(|packet| packet.bth.pad_count = 3), "drop_malformed");
}

#[test]
fn a_frame_cut_anywhere_is_dropped() {
    let mut lab = lab();
    let frame = req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 16).len(16).frame(&lab);
    for len in 0..frame.len() {
        assert_eq!(lab.send_frame(&frame[..len]), [""; 0], "{len}");
    }
    assert_eq!(lab.send_frame(&frame), ["ACK 0 msn=1"]);
}
