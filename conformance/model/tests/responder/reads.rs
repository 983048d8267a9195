use rocespec_codec::{Mtu, Opcode};
use rocespec_model::QpState;

use crate::harness::{MTU, Req, lab, lab_with, look, pattern, read_data, req};

fn read(psn: u32, offset: i64, len: usize) -> Req {
    req(Opcode::RC_RDMA_READ_REQUEST, psn).to(offset, len as u32)
}

#[test]
fn a_long_read_is_cut_into_packets_of_the_path_mtu() {
    let mut lab = lab();
    let data = pattern(3 * MTU + 5);
    lab.set_memory(16, &data);
    let answers = lab.send(read(0, 16, data.len()));
    assert_eq!(answers, ["FIRST 0 msn=1 256B", "MIDDLE 1 256B", "MIDDLE 2 256B", "LAST 3 msn=1 5B"]);
    assert_eq!(read_data(&lab.frames), data);
    assert_eq!(look(&lab.frames[3], |packet| packet.bth.pad_count), 3);
}

#[test]
fn a_read_of_whole_packets_ends_with_a_full_one() {
    assert_eq!(lab().send(read(0, 0, MTU)), ["ONLY 0 msn=1 256B"]);
    assert_eq!(lab().send(read(0, 0, 2 * MTU)), ["FIRST 0 msn=1 256B", "LAST 1 msn=1 256B"]);
}

#[test]
fn a_read_takes_as_many_psns_as_it_has_responses() {
    let mut lab = lab();
    lab.send(read(0, 0, 2 * MTU + 1));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 3)), ["ACK 3 msn=2"]);
}

#[test]
fn responses_leave_in_the_order_of_their_psns() {
    let mut lab = lab();
    let answers = lab.burst([read(0, 0, 2 * MTU), req(Opcode::RC_SEND_ONLY, 2), read(3, 0, 4)]);
    assert_eq!(answers, ["FIRST 0 msn=1 256B", "LAST 1 msn=1 256B", "ACK 2 msn=2", "ONLY 3 msn=3 4B"]);
}

#[test]
fn response_psns_wrap() {
    let mut lab = lab_with(|options| options.start_psn = 0xff_ffff);
    assert_eq!(lab.send(read(0, 0, 2 * MTU)), ["FIRST 0 msn=1 256B", "LAST 1 msn=1 256B"]);
}

#[test]
fn a_queue_pair_that_granted_no_reads_refuses_them() {
    let mut lab = lab_with(|options| options.attributes.max_dest_rd_atomic = Some(0));
    assert_eq!(lab.send(read(0, 0, 4)), ["NAK 0 msn=0 invalid_request"]);
}

#[test]
fn memory_that_goes_away_under_a_read_ends_it() {
    let mut lab = lab();
    let request = read(0, 0, 4).frame(&lab);
    lab.port.handle(lab.now, rocespec_model::Input::Frame(&request));
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_eq!(lab.collect(), ["NAK 0 msn=1 remote_access_error"]);
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn a_long_read_is_made_packet_by_packet() {
    let mut lab = lab_with(|options| {
        options.region_len = 16 << 20;
        options.attributes.path_mtu = Some(Mtu::B4096);
    });
    let request = read(0, 0, 16 << 20).frame(&lab);
    lab.port.handle(lab.now, rocespec_model::Input::Frame(&request));
    let due = lab.port.next_timeout().unwrap();
    for _ in 0..4096 {
        assert_eq!(lab.port.next_timeout(), Some(due));
        assert!(lab.port.poll_output(due).is_some());
    }
    assert_eq!(lab.port.poll_output(due), None);
    assert_eq!(lab.port.next_timeout(), None);
}

#[test]
fn memory_that_goes_during_a_read_takes_the_receive_of_the_message_behind_it_along() {
    let mut lab = lab_with(|options| options.receives = 1);
    let before = lab.now;
    for request in [read(0, 0, 4), req(Opcode::RC_SEND_FIRST, 1).len(MTU)] {
        let frame = request.frame(&lab);
        lab.port.handle(before, rocespec_model::Input::Frame(&frame));
    }
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_eq!(lab.collect(), ["NAK 0 msn=1 remote_access_error"]);
    assert_eq!(lab.statuses(), [(0, "wr_flush_err")]);
}

#[test]
fn a_duplicate_read_of_memory_that_is_gone_is_dropped() {
    let mut lab = lab();
    lab.send(read(0, 0, 4));
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_eq!(lab.send(read(0, 0, 4)), [""; 0]);
    assert_eq!((lab.state(), lab.counter("drop_duplicate")), (QpState::Rtr, 1));
}
