use rocespec_codec::NakCode;
use rocespec_model::SendOperation::{RdmaRead, RdmaWrite, Send};
use rocespec_model::{Policy, QpState, ReservedSyndrome};

use crate::harness::requester::{ack, nak, read_only, requester, requester_with, sequence_nak, with_syndrome};

#[test]
fn a_sequence_nak_has_everything_from_its_psn_on_sent_again() {
    let mut lab = requester();
    let first = lab.start(0, RdmaWrite, 16 * 256);
    let frames = lab.frames.clone();
    let again = lab.answer(sequence_nak(6));
    assert_eq!(again, first[6..]);
    let transport = |frame: &Vec<u8>| frame[34..frame.len() - 4].to_vec();
    let sent: Vec<_> = frames[6..].iter().map(transport).collect();
    assert_eq!(lab.frames[16..].iter().map(transport).collect::<Vec<_>>(), sent, "the same bytes behind the IP header");
    lab.answer(ack(15, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_middle_is_sent_again_as_a_middle() {
    let mut lab = requester();
    lab.start(0, RdmaWrite, 600);
    assert_eq!(lab.answer(sequence_nak(1)), ["RDMA_WRITE_MIDDLE 1 256B", "RDMA_WRITE_LAST 2 ack 88B"]);
}

#[test]
fn a_nak_acknowledges_what_is_before_it() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4, 4]);
    assert_eq!(lab.answer(sequence_nak(2)), ["SEND_ONLY 2 ack 4B"]);
    assert_eq!(lab.statuses(), [(0, "success"), (1, "success")]);
}

#[test]
fn a_nak_over_a_wrap_goes_back_over_it() {
    let mut lab = requester_with(|options| options.start_psn = 0xff_ffff);
    lab.start(0, Send, 700);
    assert_eq!(lab.answer(sequence_nak(0)).len(), 3);
    assert_eq!(lab.answer(sequence_nak(1)), ["SEND_MIDDLE 1 256B", "SEND_LAST 2 ack 188B"]);
}

#[test]
fn a_nak_that_comes_twice_at_once_counts_once() {
    let mut lab = requester_with(|options| options.attributes.retry_count = Some(1));
    lab.start(0, Send, 4);
    let frame = sequence_nak(0).frame(&lab);
    for _ in 0..2 {
        lab.port.handle(lab.now, rocespec_model::Input::Frame(&frame));
    }
    assert_eq!(lab.leaving(), ["SEND_ONLY 0 ack 4B"]);
    assert!(lab.completions().is_empty());
    lab.answer(sequence_nak(0));
    assert_eq!(lab.statuses(), [(0, "retry_exc_err")]);
}

#[test]
fn a_nak_for_something_that_is_done_does_nothing() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    lab.answer(ack(0, 1));
    assert_eq!(lab.answer(sequence_nak(0)), [""; 0]);
    assert_eq!(lab.answer(nak(7, NakCode::RemoteAccessError)), [""; 0]);
    assert_eq!(lab.state(), QpState::Rts);
}

#[test]
fn a_nak_beyond_an_unanswered_read_has_the_read_sent_again() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, Send, 4);
    lab.start(2, Send, 4);
    let again = lab.answer(sequence_nak(2));
    assert_eq!(again, ["RDMA_READ_REQUEST 0 ack va=0 len=4", "SEND_ONLY 1 ack 4B", "SEND_ONLY 2 ack 4B"]);
    lab.answer(read_only(0, b"abcd"));
    lab.answer(ack(2, 3));
    assert_eq!(lab.statuses(), [(0, "success"), (1, "success"), (2, "success")]);
}

#[test]
fn a_nak_that_refuses_for_good_ends_the_connection() {
    let codes = [
        (NakCode::InvalidRequest, "rem_inv_req_err"),
        (NakCode::RemoteAccessError, "rem_access_err"),
        (NakCode::RemoteOperationalError, "rem_op_err"),
    ];
    for (code, status) in codes {
        let mut lab = requester_with(|options| options.receives = 1);
        lab.start_all(Send, &[4, 4, 4]);
        assert_eq!(lab.answer(nak(1, code)), [""; 0]);
        let ends = [(0, "success"), (1, status), (0, "wr_flush_err"), (2, "wr_flush_err")];
        assert_eq!(lab.statuses(), ends);
        assert_eq!(lab.state(), QpState::Error);
        assert_eq!(lab.start(9, Send, 4), [""; 0]);
        assert_eq!(lab.statuses(), [(9, "wr_flush_err")]);
        assert_eq!(lab.port.next_timeout(), None);
    }
}

#[test]
fn a_fatal_nak_beyond_a_read_leaves_the_read_without_answer() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, Send, 4);
    lab.answer(nak(1, NakCode::InvalidRequest));
    assert_eq!(lab.statuses(), [(0, "wr_flush_err"), (1, "rem_inv_req_err")]);
}

#[test]
fn a_reserved_syndrome_is_dropped_or_fatal_and_acknowledges_nothing() {
    for syndrome in [0x40, 0x65, 0x7f, 0x80] {
        let mut lab = requester();
        lab.start_all(Send, &[4, 4]);
        assert_eq!(lab.answer(with_syndrome(1, 2, syndrome)), [""; 0]);
        assert_eq!((lab.statuses(), lab.state()), (vec![], QpState::Rts), "{syndrome:#x}");
        let policy = Policy { reserved_syndrome: ReservedSyndrome::Fatal, ..Policy::PLAIN };
        let mut lab = requester_with(|options| options.policy = policy);
        lab.start_all(Send, &[4, 4]);
        lab.answer(with_syndrome(1, 2, syndrome));
        assert_eq!(lab.statuses(), [(0, "bad_resp_err"), (1, "wr_flush_err")], "{syndrome:#x}");
    }
}

#[test]
fn a_read_response_with_a_nak_for_a_syndrome_is_no_response() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    let mut odd = read_only(0, b"abcd");
    odd.ext.aeth.syndrome = rocespec_codec::Syndrome::nak(NakCode::PsnSequenceError);
    lab.answer(odd);
    assert!(lab.completions().is_empty());
    lab.answer(read_only(0, b"abcd"));
    assert_eq!(lab.statuses(), [(0, "success")]);
}
