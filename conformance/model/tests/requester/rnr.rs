use std::time::Duration;

use rocespec_codec::RnrTimer;
use rocespec_model::SendOperation::{RdmaRead, RdmaWrite, Send};
use rocespec_model::{QpState, Time};

use crate::harness::requester::{T, ack, read_only, requester, requester_with, rnr_nak, sequence_nak};

#[test]
fn the_request_is_sent_again_when_the_timer_has_run_out() {
    for code in 0..32 {
        let mut lab = requester();
        lab.start(0, Send, 4);
        assert_eq!(lab.answer(rnr_nak(0, code)), [""; 0]);
        let end = Time::ZERO + RnrTimer::new(code).duration();
        assert_eq!(lab.until(end), [(end, "SEND_ONLY 0 ack 4B".to_owned())], "{code}");
        lab.answer(ack(0, 1));
        assert_eq!(lab.statuses(), [(0, "success")]);
    }
}

#[test]
fn everything_behind_it_waits_and_follows() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4, 4]);
    assert_eq!(lab.answer(rnr_nak(1, 12)), [""; 0]);
    assert_eq!(lab.statuses(), [(0, "success")], "it acknowledges what is before it");
    assert_eq!(lab.start(3, Send, 0), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(639)), [""; 0]);
    let again = lab.wait(Duration::from_micros(1));
    assert_eq!(again, ["SEND_ONLY 1 ack 4B", "SEND_ONLY 2 ack 4B", "SEND_ONLY 3 ack"]);
}

#[test]
fn the_ack_timeout_does_not_run_meanwhile_and_runs_afterwards() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    lab.wait(T / 2);
    lab.answer(rnr_nak(0, 14));
    let wait = RnrTimer::new(14).duration();
    assert!(wait > T);
    assert_eq!(lab.wait(wait).len(), 1);
    let now = lab.now;
    assert_eq!(lab.until(now + T), [(now + T, "SEND_ONLY 0 ack 4B".to_owned())]);
}

#[test]
fn after_so_many_times_the_request_fails() {
    for limit in 0..7u8 {
        let mut lab = requester_with(|options| options.attributes.rnr_retry = Some(limit));
        let mut sent = lab.start_all(Send, &[4]).len();
        while lab.state() == QpState::Rts {
            lab.answer(rnr_nak(0, 1));
            sent += lab.wait(Duration::from_micros(10)).len();
        }
        assert_eq!(sent, usize::from(limit) + 1);
        assert_eq!(lab.statuses(), [(0, "rnr_retry_exc_err")]);
    }
}

#[test]
fn seven_stands_for_no_limit() {
    let mut lab = requester_with(|options| options.attributes.rnr_retry = Some(7));
    let mut sent = lab.start(0, Send, 4).len();
    for _ in 0..100 {
        lab.answer(rnr_nak(0, 1));
        sent += lab.wait(Duration::from_micros(10)).len();
    }
    lab.answer(ack(0, 1));
    assert_eq!((sent, lab.statuses()), (101, vec![(0, "success")]));
}

#[test]
fn rnr_naks_take_no_retries_and_a_step_forward_restores_theirs() {
    let mut lab = requester_with(|options| {
        (options.attributes.rnr_retry, options.attributes.retry_count) = (Some(1), Some(0));
    });
    lab.start(0, Send, 600);
    for psn in 0..3 {
        assert_eq!(lab.answer(rnr_nak(psn, 1)), [""; 0]);
        assert_eq!(lab.wait(Duration::from_micros(10)).len(), 3 - psn as usize);
        lab.answer(ack(psn, 0));
    }
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn the_same_rnr_nak_twice_counts_once_and_does_not_prolong_the_wait() {
    let mut lab = requester_with(|options| options.attributes.rnr_retry = Some(1));
    lab.start(0, Send, 4);
    lab.answer(rnr_nak(0, 12));
    lab.wait(Duration::from_micros(600));
    lab.answer(rnr_nak(0, 12));
    assert_eq!(lab.wait(Duration::from_micros(40)), ["SEND_ONLY 0 ack 4B"]);
}

#[test]
fn what_is_behind_a_lost_response_waits_too() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, Send, 4);
    assert_eq!(lab.answer(rnr_nak(1, 12)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(639)), [""; 0]);
    let again = ["RDMA_READ_REQUEST 0 ack va=0 len=4", "SEND_ONLY 1 ack 4B"];
    assert_eq!(lab.wait(Duration::from_micros(1)), again);
}

#[test]
fn a_lost_response_that_shows_during_the_wait_does_not_end_it() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, RdmaRead, 4);
    lab.start(2, Send, 4);
    lab.answer(rnr_nak(1, 12));
    assert_eq!(lab.answer(read_only(1, b"late")), [""; 0]);
    assert_eq!(lab.answer(sequence_nak(2)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(639)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(1)).len(), 3);
}

#[test]
fn a_write_or_a_read_may_be_asked_to_wait_too() {
    let mut lab = requester();
    lab.start(0, RdmaWrite, 4);
    lab.start(1, RdmaRead, 4);
    lab.answer(rnr_nak(0, 1));
    assert_eq!(lab.wait(Duration::from_micros(10)).len(), 2);
    lab.answer(rnr_nak(1, 1));
    assert_eq!(lab.wait(Duration::from_micros(10)), ["RDMA_READ_REQUEST 1 ack va=0 len=4"]);
    lab.answer(read_only(1, b"abcd"));
    assert_eq!(lab.statuses(), [(0, "success"), (1, "success")]);
}

#[test]
fn an_rnr_nak_that_comes_with_the_timeout_is_waited_for() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    let timeout = lab.port.next_timeout().expect("an ACK timeout");
    lab.now = timeout;
    assert_eq!(lab.answer(rnr_nak(0, 12)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(639)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_micros(1)), ["SEND_ONLY 0 ack 4B"]);
}
