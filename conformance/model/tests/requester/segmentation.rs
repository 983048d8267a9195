use rocespec_codec::Frame;
use rocespec_model::SendOperation::{
    AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead, RdmaWrite, RdmaWriteWithImmediate, Send, SendWithImmediate,
    SendWithInvalidate,
};
use rocespec_model::{SendFlags, SendOperation, SendRequest};

use crate::harness::requester::{ack, read_only, requester, requester_with};
use crate::harness::{MTU, look, pattern};

#[test]
fn a_message_is_cut_at_the_path_mtu_and_ends_full_at_its_multiples() {
    let cut = |length| requester().start(0, Send, length);
    assert_eq!(cut(0), ["SEND_ONLY 0 ack"]);
    assert_eq!(cut(1), ["SEND_ONLY 0 ack 1B"]);
    assert_eq!(cut(256), ["SEND_ONLY 0 ack 256B"]);
    assert_eq!(cut(257), ["SEND_FIRST 0 256B", "SEND_LAST 1 ack 1B"]);
    assert_eq!(cut(512), ["SEND_FIRST 0 256B", "SEND_LAST 1 ack 256B"]);
    assert_eq!(cut(513), ["SEND_FIRST 0 256B", "SEND_MIDDLE 1 256B", "SEND_LAST 2 ack 1B"]);
}

#[test]
fn a_message_of_any_length_arrives_whole() {
    for length in (0..6).flat_map(|count| [count * MTU, count * MTU + 1, count * MTU + MTU - 1]) {
        let mut lab = requester();
        let lines = lab.start(0, RdmaWrite, length as u32);
        assert_eq!(lines.len(), length.div_ceil(MTU).max(1), "{length}");
        let data: Vec<u8> = lab.frames.iter().flat_map(|frame| look(frame, |packet| packet.payload.to_vec())).collect();
        assert_eq!(data, pattern(length));
    }
}

#[test]
fn pad_bytes_are_zero_and_counted() {
    for (length, pad) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
        let mut lab = requester();
        lab.start(0, Send, length);
        look(&lab.frames[0], |packet| {
            assert_eq!((packet.bth.pad_count, packet.pad), (pad, &[0; 4][..usize::from(pad)]));
        });
    }
}

#[test]
fn a_write_says_where_it_goes_once() {
    let lines = requester().start(0, RdmaWrite, 600);
    let expected = ["RDMA_WRITE_FIRST 0 va=0 len=600 256B", "RDMA_WRITE_MIDDLE 1 256B", "RDMA_WRITE_LAST 2 ack 88B"];
    assert_eq!(lines, expected);
    assert_eq!(requester().start(0, RdmaWrite, 4), ["RDMA_WRITE_ONLY 0 ack va=0 len=4 4B"]);
}

#[test]
fn what_ends_a_message_carries_its_immediate_or_the_key_to_invalidate() {
    let with = |operation, length| {
        let mut lab = requester();
        let request = SendRequest { immediate: 0x0102_0304, ..lab.work(0, operation, length) };
        lab.submit(request)
    };
    assert_eq!(with(SendWithImmediate, 4), ["SEND_ONLY_WITH_IMMEDIATE 0 ack imm=0x1020304 4B"]);
    let lines = with(SendWithImmediate, 300);
    assert_eq!(lines, ["SEND_FIRST 0 256B", "SEND_LAST_WITH_IMMEDIATE 1 ack imm=0x1020304 44B"]);
    assert_eq!(with(SendWithInvalidate, 4), ["SEND_ONLY_WITH_INVALIDATE 0 ack inv=0x1020304 4B"]);
    assert_eq!(with(SendWithInvalidate, 300)[1], "SEND_LAST_WITH_INVALIDATE 1 ack inv=0x1020304 44B");
    let lines = with(RdmaWriteWithImmediate, 0);
    assert_eq!(lines, ["RDMA_WRITE_ONLY_WITH_IMMEDIATE 0 ack va=0 len=0 imm=0x1020304"]);
    assert_eq!(with(RdmaWriteWithImmediate, 300)[1], "RDMA_WRITE_LAST_WITH_IMMEDIATE 1 ack imm=0x1020304 44B");
}

#[test]
fn requests_that_are_answered_are_one_packet() {
    let one = |operation, change: fn(&mut SendRequest)| {
        let mut lab = requester();
        let mut request = lab.work(0, operation, 600);
        change(&mut request);
        lab.submit(request)
    };
    assert_eq!(one(RdmaRead, |_| ()), ["RDMA_READ_REQUEST 0 ack va=0 len=600"]);
    let swap = one(CompareSwap, |request| (request.compare_add, request.swap) = (5, 6));
    assert_eq!(swap, ["COMPARE_SWAP 0 ack va=0 swap_add=6 compare=5"]);
    let add = one(FetchAdd, |request| request.compare_add = 5);
    assert_eq!(add, ["FETCH_ADD 0 ack va=0 swap_add=5 compare=0"]);
    assert_eq!(one(AtomicWrite, |_| ()), ["ATOMIC_WRITE 0 ack va=0 len=8 8B"]);
    assert_eq!(one(Flush, |request| request.immediate = 1), ["FLUSH 0 ack feth=0x1 va=0 len=600"]);
}

#[test]
fn the_solicited_bit_stands_only_where_a_receive_completes() {
    let solicited = |operation, length| {
        let mut lab = requester();
        let flags = SendFlags { solicited: true, ..SendFlags::default() };
        let request = SendRequest { flags, ..lab.work(0, operation, length) };
        lab.submit(request).iter().map(|line| line.contains(" se")).collect::<Vec<_>>()
    };
    assert_eq!(solicited(Send, 300), [false, true]);
    assert_eq!(solicited(RdmaWriteWithImmediate, 300), [false, true]);
    for operation in [RdmaWrite, RdmaRead, CompareSwap, FetchAdd, AtomicWrite, Flush] {
        assert!(!solicited(operation, 300).contains(&true), "{operation:?}");
    }
}

#[test]
fn psns_follow_each_other_and_a_read_takes_one_for_each_response() {
    let mut lab = requester();
    let request = |lab: &crate::harness::Lab, operation: SendOperation, length| lab.work(0, operation, length);
    for (operation, length) in [(RdmaWrite, 600), (RdmaRead, 513), (FetchAdd, 0), (RdmaRead, 0), (Send, 0)] {
        let request = request(&lab, operation, length);
        lab.port.post_send(lab.qp, &request).unwrap();
    }
    let lines = lab.leaving();
    let psns: Vec<_> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(psns, ["0", "1", "2", "3", "6", "7", "8"]);
}

#[test]
fn psns_go_on_at_zero_after_the_largest() {
    let mut lab = requester_with(|options| options.start_psn = 0xff_fffe);
    let lines = lab.start(0, RdmaWrite, 700);
    assert_eq!(lines.len(), 3);
    let psns: Vec<_> = lab.frames.iter().map(|frame| look(frame, |packet| packet.bth.psn.get())).collect();
    assert_eq!(psns, [0xff_fffe, 0xff_ffff, 0]);
    assert_eq!(lab.answer(ack(2, 1)), [""; 0]);
    assert_eq!(lab.statuses(), [(0, "success")]);
    assert_eq!(lab.start(1, RdmaRead, 4), ["RDMA_READ_REQUEST 3 ack va=0 len=4"]);
    lab.answer(read_only(3, b"abcd"));
    assert_eq!((lab.statuses(), lab.buffer(4)), (vec![(1, "success")], b"abcd".to_vec()));
}

#[test]
fn requests_carry_the_peers_number_and_reserved_bits_that_are_zero() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    let Ok(Frame::Roce(packet)) = rocespec_codec::decode(&lab.frames[0]) else { panic!() };
    assert_eq!(packet.bth.dest_qp, crate::harness::TESTER_QPN);
    assert_eq!((packet.bth.resv6, packet.bth.resv7, packet.bth.tver), (0, 0, 0));
}

#[test]
fn the_last_packet_asks_for_an_ack_and_so_does_one_in_so_many() {
    let mut lab = requester_with(|options| options.policy.ack_every = 2);
    let asks: Vec<_> = lab.start(0, RdmaWrite, 1500).iter().map(|line| line.contains(" ack")).collect();
    assert_eq!(asks, [false, false, true, false, true, true]);
}
