use rocespec_codec::Psn;
use rocespec_model::SendOperation::{AtomicWrite, FetchAdd, Flush, RdmaRead, RdmaWrite, Send};
use rocespec_model::{Capacity, Policy, QpKind, SendFlags, SendRequest};

use crate::harness::requester::{T, ack, atomic_ack, read_only, request_line, requester, requester_with};
use crate::harness::{Lab, look};

#[test]
fn no_more_reads_and_atomics_are_out_than_agreed() {
    for depth in 1..4 {
        let mut lab = requester_with(|options| options.attributes.max_rd_atomic = Some(depth));
        for (wr_id, operation) in (0..).zip([RdmaRead, FetchAdd, AtomicWrite, Flush, RdmaRead]) {
            let request = lab.work(wr_id, operation, 8);
            lab.port.post_send(lab.qp, &request).unwrap();
        }
        assert_eq!(lab.leaving().len(), usize::from(depth));
        assert_eq!(lab.answer(read_only(0, &[1; 8])).len(), 1);
        assert_eq!(lab.answer(atomic_ack(1, 1)).len(), 1);
    }
}

#[test]
fn a_read_holds_up_what_is_behind_it_and_nothing_overtakes() {
    let mut lab = requester_with(|options| options.attributes.max_rd_atomic = Some(1));
    lab.start(0, RdmaRead, 4);
    assert_eq!(lab.start(1, RdmaRead, 4), [""; 0]);
    assert_eq!(lab.start(2, Send, 4), [""; 0]);
    assert_eq!(lab.answer(read_only(0, b"abcd")), ["RDMA_READ_REQUEST 1 ack va=0 len=4", "SEND_ONLY 2 ack 4B"]);
}

#[test]
fn depth_holds_for_what_is_sent_again() {
    let mut lab = requester_with(|options| options.attributes.max_rd_atomic = Some(2));
    for wr_id in 0..4 {
        lab.start(wr_id, RdmaRead, 4);
    }
    assert_eq!(lab.wait(T).len(), 2);
    assert_eq!(lab.answer(read_only(0, b"abcd")).len(), 1);
}

fn fenced(lab: &Lab, wr_id: u64) -> SendRequest {
    SendRequest { flags: SendFlags { fence: true, signaled: true, ..SendFlags::default() }, ..lab.work(wr_id, Send, 4) }
}

#[test]
fn a_fenced_request_waits_for_the_last_response() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, FetchAdd, 0);
    let request = fenced(&lab, 2);
    assert_eq!(lab.submit(request), [""; 0]);
    assert_eq!(lab.answer(read_only(0, b"abcd")), [""; 0]);
    assert_eq!(lab.answer(atomic_ack(1, 5)), ["SEND_ONLY 2 ack 4B"]);
}

#[test]
fn a_fence_does_not_wait_for_acks() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    let request = fenced(&lab, 1);
    assert_eq!(lab.submit(request), ["SEND_ONLY 1 ack 4B"]);
}

#[test]
fn a_fenced_request_waits_when_the_read_is_asked_for_again_too() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    let request = fenced(&lab, 1);
    lab.submit(request);
    assert_eq!(lab.wait(T), ["RDMA_READ_REQUEST 0 ack va=0 len=4"]);
}

#[test]
fn no_more_packets_are_out_than_the_window_holds() {
    let mut lab = requester_with(|options| options.policy = Policy { window: 3, ..Policy::PLAIN });
    let first = lab.start(0, RdmaWrite, 1500);
    let expected =
        ["RDMA_WRITE_FIRST 0 va=0 len=1500 256B", "RDMA_WRITE_MIDDLE 1 256B", "RDMA_WRITE_MIDDLE 2 ack 256B"];
    assert_eq!(first, expected, "the last one that fits asks for an ACK");
    assert_eq!(lab.answer(ack(1, 0)), ["RDMA_WRITE_MIDDLE 3 256B", "RDMA_WRITE_MIDDLE 4 ack 256B"]);
    assert_eq!(lab.answer(ack(4, 0)), ["RDMA_WRITE_LAST 5 ack 220B"]);
}

#[test]
fn a_window_of_one_sends_one_packet_at_a_time() {
    let mut lab = requester_with(|options| options.policy = Policy { window: 1, ..Policy::PLAIN });
    assert_eq!(lab.start_all(Send, &[300, 4]), ["SEND_FIRST 0 ack 256B"]);
    assert_eq!(lab.answer(ack(0, 0)), ["SEND_LAST 1 ack 44B"]);
    assert_eq!(lab.answer(ack(1, 1)), ["SEND_ONLY 2 ack 4B"]);
}

#[test]
fn a_read_of_more_responses_than_the_window_goes_alone() {
    let mut lab = requester_with(|options| options.policy = Policy { window: 2, ..Policy::PLAIN });
    lab.start(0, Send, 4);
    assert_eq!(lab.start(1, RdmaRead, 1500), [""; 0]);
    assert_eq!(lab.answer(ack(0, 1)), ["RDMA_READ_REQUEST 1 ack va=0 len=1500"]);
    assert_eq!(lab.start(2, Send, 4), [""; 0]);
}

#[test]
fn fewer_than_half_of_the_psns_are_ever_out() {
    let mut lab = requester_with(|options| {
        options.policy.window = u32::MAX;
        (options.region_len, options.attributes.max_rd_atomic) = (16 << 20, Some(255));
        options.capacity = Capacity { max_send_wr: 255, max_recv_wr: 0 };
        options.start_psn = 0xc0_0000;
    });
    // Of 65,536 responses each.
    let sent = lab.start_all(RdmaRead, &[16 << 20; 200]).len();
    assert_eq!(sent, 127);
    let psns: Vec<Psn> = lab.frames.iter().map(|frame| look(frame, |packet| packet.bth.psn)).collect();
    let last = psns[126].plus(0xffff);
    assert!((0..(1 << 23) - 1).contains(&last.since(psns[0])), "from {} to {last}", psns[0]);
}

#[test]
fn queue_pairs_take_turns() {
    let mut lab = requester();
    let first = lab.qp;
    let (second, qpn) = lab.port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    (lab.qp, lab.qpn) = (second, qpn);
    lab.connect();
    for qp in [first, second] {
        let request = lab.work(0, RdmaWrite, 700);
        lab.port.post_send(qp, &request).unwrap();
    }
    let lines = lab.leaving();
    let psns: Vec<_> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(psns, ["0", "0", "1", "1", "2", "2"]);
    assert_eq!(request_line(&lab.frames[0], 0), lines[0]);
}
