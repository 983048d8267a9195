use rocespec_model::SendOperation::{RdmaWrite, Send};
use rocespec_model::{SendFlags, SendRequest};

use crate::harness::requester::{T, ack, requester};

#[test]
fn an_ack_completes_its_request() {
    let mut lab = requester();
    lab.start(7, Send, 4);
    assert!(lab.completions().is_empty());
    assert_eq!(lab.answer(ack(0, 1)), [""; 0]);
    let completion = lab.completions()[0];
    assert_eq!((completion.wr_id, completion.status.name(), completion.kind.name()), (7, "success", "send"));
}

#[test]
fn one_ack_completes_all_before_it_in_order() {
    let mut lab = requester();
    assert_eq!(lab.start_all(Send, &[4; 5]).len(), 5);
    lab.answer(ack(4, 5));
    let all = [0, 1, 2, 3, 4].map(|wr_id| (wr_id, "success"));
    assert_eq!(lab.statuses(), all);
}

#[test]
fn an_ack_within_a_message_completes_what_is_before_it_alone() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 600]);
    lab.answer(ack(2, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
    let again = lab.wait(T);
    assert_eq!(again, ["SEND_LAST 3 ack 88B"]);
    lab.answer(ack(3, 2));
    assert_eq!(lab.statuses(), [(1, "success")]);
}

#[test]
fn the_same_ack_again_does_nothing() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    for _ in 0..5 {
        assert_eq!(lab.answer(ack(0, 1)), [""; 0]);
    }
    assert_eq!(lab.statuses(), [(0, "success")]);
    assert_eq!(lab.counter("drop_unexpected_response"), 4);
}

#[test]
fn an_ack_for_what_was_never_sent_does_nothing() {
    for psn in [1, 1000, 0x7f_ffff, 0x80_0000, 0xff_ffff] {
        let mut lab = requester();
        lab.start(0, Send, 4);
        assert_eq!(lab.answer(ack(psn, 9)), [""; 0]);
        assert!(lab.completions().is_empty(), "{psn:#x}");
        lab.answer(ack(0, 1));
        assert_eq!(lab.statuses(), [(0, "success")]);
    }
}

#[test]
fn an_ack_with_a_wrong_icrc_does_nothing() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    lab.answer(ack(0, 1).late_tweak(|packet| packet.icrc ^= 1));
    assert!(lab.completions().is_empty());
    assert_eq!(lab.wait(T), ["SEND_ONLY 0 ack 4B"]);
    lab.answer(ack(0, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_request_that_asked_for_no_completion_gets_none() {
    let mut lab = requester();
    let quiet = SendRequest { flags: SendFlags::default(), ..lab.work(0, RdmaWrite, 4) };
    lab.submit(quiet);
    lab.start(1, Send, 4);
    lab.answer(ack(1, 2));
    assert_eq!(lab.statuses(), [(1, "success")]);
}

#[test]
fn an_ack_for_the_first_transmission_ends_the_second() {
    let mut lab = requester();
    lab.start(0, RdmaWrite, 600);
    assert_eq!(lab.wait(T).len(), 3);
    lab.answer(ack(2, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
    assert_eq!(lab.wait(T * 9), [""; 0]);
    assert_eq!(lab.port.next_timeout(), None);
}
