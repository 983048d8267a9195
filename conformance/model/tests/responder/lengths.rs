use rocespec_codec::Opcode;
use rocespec_model::QpState;

use crate::harness::{Lab, MTU, Req, lab, lab_with, req};

/// The request gets NAK invalid request, and it is the last word.
#[track_caller]
fn assert_invalid(lab: &mut Lab, request: Req) {
    let psn = request.bth.psn.get();
    let answer = lab.send(request);
    assert_eq!(answer.len(), 1, "{answer:?}");
    assert!(answer[0].starts_with(&format!("NAK {psn} ")) && answer[0].ends_with("invalid_request"), "{answer:?}");
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn a_first_packet_is_exactly_as_long_as_the_path_mtu() {
    assert_invalid(&mut lab(), req(Opcode::RC_SEND_FIRST, 0).len(MTU - 4));
    assert_invalid(&mut lab(), req(Opcode::RC_SEND_FIRST, 0).len(MTU + 4));
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 512).len(MTU - 4));
}

#[test]
fn a_middle_packet_is_exactly_as_long_as_the_path_mtu() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    assert_invalid(&mut lab, req(Opcode::RC_SEND_MIDDLE, 1).len(MTU - 4));
}

#[test]
fn no_packet_is_longer_than_the_path_mtu() {
    assert_invalid(&mut lab(), req(Opcode::RC_SEND_ONLY, 0).len(MTU + 4));
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 260).len(260));
}

#[test]
fn a_last_packet_is_not_empty() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    assert_invalid(&mut lab, req(Opcode::RC_SEND_LAST, 1));
}

#[test]
fn a_full_last_packet_is_fine() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    assert_eq!(lab.send(req(Opcode::RC_SEND_LAST, 1).len(MTU)), ["ACK 1 msn=1"]);
    assert_eq!(lab.completions()[0].byte_len, 512);
}

#[test]
fn requests_without_payload_have_none() {
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_READ_REQUEST, 0).to(0, 8).len(4));
    assert_invalid(&mut lab(), req(Opcode::RC_FETCH_ADD, 0).atomic(0, 1, 0).len(4));
}

#[test]
fn the_pad_fills_the_last_word() {
    for len in 0..9 {
        let mut lab = lab();
        assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(len)), ["ACK 0 msn=1"]);
        assert_eq!(lab.completions()[0].byte_len as usize, len);
    }
}

#[test]
fn a_pad_of_another_length_is_invalid() {
    let four_and_three = req(Opcode::RC_SEND_ONLY, 0).len(7).tweak(|packet| {
        packet.bth.pad_count = 3;
        packet.pad = &packet.payload[4..7];
        packet.payload = &packet.payload[..4];
        // One byte less than completed: the length fields follow.
        let rocespec_codec::Net::V4(ip) = &mut packet.net else { return };
        ip.total_len -= 1;
        packet.udp.as_mut().unwrap().len -= 1;
    });
    assert_invalid(&mut lab(), four_and_three);
}

#[test]
fn a_first_packet_has_no_pad() {
    let padded = req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 512).len(MTU).tweak(|packet| {
        packet.bth.pad_count = 1;
        packet.pad = &packet.payload[255..];
        packet.payload = &packet.payload[..255];
    });
    assert_invalid(&mut lab(), padded);
}

#[test]
fn a_request_for_more_than_2_to_the_31_bytes_is_invalid() {
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_READ_REQUEST, 0).to(0, 0x8000_0001));
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 0x8000_0001).len(MTU));
}

#[test]
fn a_request_for_exactly_2_to_the_31_bytes_is_judged_by_the_memory() {
    let answer = lab().send(req(Opcode::RC_RDMA_READ_REQUEST, 0).to(0, 0x8000_0000));
    assert_eq!(answer, ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn a_write_brings_what_its_header_said() {
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 16).len(12));
    assert_invalid(&mut lab(), req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 8).len(12));
    let mut short = lab();
    short.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 300).len(MTU));
    assert_invalid(&mut short, req(Opcode::RC_RDMA_WRITE_LAST, 1).len(40));
    let mut long = lab();
    long.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 300).len(MTU));
    assert_invalid(&mut long, req(Opcode::RC_RDMA_WRITE_LAST, 1).len(48));
    assert_eq!(long.memory(256, 48), [0; 48]);
}

#[test]
fn a_send_longer_than_the_receive_is_invalid_and_completes_it_with_a_length_error() {
    let mut lab = lab_with(|options| options.receive_len = 128);
    assert_invalid(&mut lab, req(Opcode::RC_SEND_ONLY, 0).len(132));
    assert_eq!(lab.statuses(), [(0, "loc_len_err"), (1, "wr_flush_err"), (2, "wr_flush_err"), (3, "wr_flush_err")]);
}

#[test]
fn a_send_may_outgrow_its_receive_in_a_later_packet() {
    let mut lab = lab_with(|options| options.receive_len = 400);
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    assert_invalid(&mut lab, req(Opcode::RC_SEND_LAST, 1).len(148));
    assert_eq!(lab.statuses()[0], (0, "loc_len_err"));
}

#[test]
fn a_first_packet_that_brings_all_is_refused_when_more_comes() {
    let mut lab = lab();
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 256).len(MTU)), ["ACK 0 msn=0"]);
    assert_invalid(&mut lab, req(Opcode::RC_RDMA_WRITE_LAST, 1).len(4));
    assert_eq!(lab.memory(256, 4), [0; 4]);
}
