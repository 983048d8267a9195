use std::time::Duration;

use rocespec_model::Policy;
use rocespec_model::SendOperation::{RdmaWrite, Send};
use rocespec_model::{QpState, Time};

use crate::harness::requester::{T, ack, requester, requester_with, sequence_nak};

#[test]
fn an_unacknowledged_packet_is_sent_again_after_the_timeout() {
    for (code, nanos) in [(1, 8192), (8, 1_048_576), (14, 67_108_864), (18, 1_073_741_824), (31, 8_796_093_022_208)] {
        for multiple in 1..=4 {
            let mut lab = requester_with(|options| {
                options.attributes.timeout = Some(code);
                options.policy = Policy { timeout_multiple: multiple, ..Policy::PLAIN };
            });
            lab.start(0, Send, 4);
            let end = Time::from_nanos(nanos * u64::from(multiple));
            assert_eq!(lab.until(end), [(end, "SEND_ONLY 0 ack 4B".to_owned())], "{code}");
        }
    }
}

#[test]
fn the_timeout_stays_in_its_window_whatever_the_policy_says() {
    for multiple in [0, 1, 4, 5, u32::MAX] {
        let mut lab = requester_with(|options| options.policy.timeout_multiple = multiple);
        lab.start(0, Send, 4);
        let again = lab.until(Time::ZERO + T * 4);
        assert!(again[0].0 >= Time::ZERO + T, "{multiple}");
    }
}

#[test]
fn code_zero_waits_for_ever() {
    let mut lab = requester_with(|options| options.attributes.timeout = Some(0));
    lab.start(0, Send, 4);
    assert_eq!(lab.port.next_timeout(), None);
    assert_eq!(lab.wait(Duration::from_secs(86_400)), [""; 0]);
    lab.answer(ack(0, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn after_so_many_retries_the_request_fails() {
    for retries in 0..=7u8 {
        let mut lab = requester_with(|options| options.attributes.retry_count = Some(retries));
        lab.start_all(Send, &[4, 4]);
        let times: Vec<_> = lab.until(Time::ZERO + T * 100).into_iter().map(|(time, _)| time).collect();
        let expected: Vec<_> = (1..=u32::from(retries)).flat_map(|n| [Time::ZERO + T * n; 2]).collect();
        assert_eq!(times, expected, "both packets, {retries} times, T apart");
        assert_eq!(lab.statuses(), [(0, "retry_exc_err"), (1, "wr_flush_err")]);
        assert_eq!((lab.state(), lab.port.next_timeout()), (QpState::Error, None));
    }
}

#[test]
fn naks_count_as_retries() {
    let mut lab = requester_with(|options| options.attributes.retry_count = Some(2));
    lab.start(0, Send, 4);
    assert_eq!(lab.answer(sequence_nak(0)).len(), 1);
    assert_eq!(lab.wait(T).len(), 1);
    assert_eq!(lab.answer(sequence_nak(0)), [""; 0]);
    assert_eq!(lab.statuses(), [(0, "retry_exc_err")]);
}

#[test]
fn each_step_forward_restores_the_retries() {
    let mut lab = requester_with(|options| options.attributes.retry_count = Some(1));
    lab.start(0, RdmaWrite, 5 * 256);
    for psn in 0..5 {
        assert_eq!(lab.wait(T).len(), 5 - psn as usize);
        lab.answer(ack(psn, 0));
    }
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn each_step_forward_starts_the_timeout_anew() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    assert_eq!(lab.wait(T - Duration::from_nanos(1)), [""; 0]);
    lab.answer(ack(0, 1));
    assert_eq!(lab.wait(T - Duration::from_nanos(1)), [""; 0]);
    assert_eq!(lab.wait(Duration::from_nanos(1)), ["SEND_ONLY 1 ack 4B"]);
}

#[test]
fn an_old_ack_does_not_start_the_timeout_anew() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    lab.answer(ack(0, 1));
    lab.wait(T / 2);
    lab.answer(ack(0, 1));
    assert_eq!(lab.wait(T / 2), ["SEND_ONLY 1 ack 4B"]);
}

#[test]
fn nothing_is_waited_for_when_all_is_done() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    lab.answer(ack(0, 1));
    assert_eq!(lab.port.next_timeout(), None);
}
