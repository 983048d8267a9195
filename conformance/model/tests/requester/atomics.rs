use rocespec_model::QpState;
use rocespec_model::SendOperation::{AtomicWrite, CompareSwap, FetchAdd, Flush, Send};

use crate::harness::requester::{T, ack, atomic_ack, read_only, requester};

#[test]
fn the_original_value_comes_home_as_the_host_has_it() {
    for operation in [CompareSwap, FetchAdd] {
        let mut lab = requester();
        lab.start(0, operation, 0);
        lab.answer(atomic_ack(0, 0x0102_0304_0506_0708));
        let completion = lab.completions()[0];
        assert_eq!((completion.status.name(), completion.byte_len), ("success", 8));
        assert_eq!(lab.buffer(8), 0x0102_0304_0506_0708_u64.to_le_bytes());
    }
}

#[test]
fn flush_and_atomic_write_are_answered_by_an_empty_read_response() {
    for operation in [Flush, AtomicWrite] {
        let mut lab = requester();
        lab.start(0, operation, 8);
        lab.answer(read_only(0, b""));
        assert_eq!(lab.statuses(), [(0, "success")]);
    }
}

#[test]
fn a_lost_answer_is_asked_for_with_the_same_request() {
    for operation in [CompareSwap, FetchAdd, Flush, AtomicWrite] {
        let mut lab = requester();
        let first = lab.start(0, operation, 8);
        assert_eq!(lab.wait(T), first);
        lab.start(1, Send, 4);
        let again = lab.answer(ack(1, 2));
        assert_eq!(again, [&first[0], "SEND_ONLY 1 ack 4B"], "{operation:?}");
    }
}

#[test]
fn an_answer_of_another_kind_ends_the_connection() {
    for (operation, answer) in [
        (FetchAdd, read_only(0, &[1; 8])),
        (CompareSwap, read_only(0, b"")),
        (Flush, atomic_ack(0, 1)),
        (AtomicWrite, atomic_ack(0, 1)),
        (Send, atomic_ack(0, 1)),
    ] {
        let mut lab = requester();
        lab.start(0, operation, 8);
        lab.answer(answer);
        assert_eq!((lab.statuses(), lab.state()), (vec![(0, "bad_resp_err")], QpState::Error), "{operation:?}");
    }
}

#[test]
fn an_answer_to_a_flush_brings_nothing() {
    let mut lab = requester();
    lab.start(0, Flush, 8);
    lab.answer(read_only(0, &[1; 8]));
    assert_eq!(lab.statuses(), [(0, "loc_len_err")]);
}

#[test]
fn the_same_answer_again_does_nothing() {
    let mut lab = requester();
    lab.start(0, FetchAdd, 0);
    lab.start(1, FetchAdd, 0);
    lab.answer(atomic_ack(0, 1));
    lab.answer(atomic_ack(0, 9));
    assert_eq!((lab.statuses(), lab.buffer(8)), (vec![(0, "success")], 1u64.to_le_bytes().to_vec()));
}
