use rocespec_model::SendOperation::{RdmaRead, Send};
use rocespec_model::{EventKind, QpAttributes, QpState, VerbError};

use crate::harness::Lab;
use crate::harness::requester::{T, ack, read_only, requester, requester_with, rnr_nak};

fn go_to(lab: &mut Lab, state: QpState) {
    lab.modify(QpAttributes { state: Some(state), ..QpAttributes::default() });
}

fn drained(lab: &mut Lab) -> bool {
    let drained = lab.events.iter().any(|event| (event.kind, event.qp) == (EventKind::SendQueueDrained, Some(lab.qp)));
    lab.events.clear();
    drained
}

#[test]
fn what_has_begun_goes_on_when_the_send_queue_is_stopped() {
    let mut lab = requester_with(|options| options.policy.window = 2);
    lab.start(0, Send, 700);
    go_to(&mut lab, QpState::Sqd);
    assert_eq!(lab.start(1, Send, 4), [""; 0], "posted, and waits");
    assert_eq!(lab.answer(ack(1, 0)), ["SEND_LAST 2 ack 188B"]);
    assert_eq!(lab.wait(T), ["SEND_LAST 2 ack 188B"], "sent again as always");
    assert!(!drained(&mut lab));
    assert_eq!(lab.answer(ack(2, 1)), [""; 0]);
    assert!(drained(&mut lab));
    assert_eq!((lab.statuses(), lab.state()), (vec![(0, "success")], QpState::Sqd));
}

#[test]
fn and_what_has_not_begun_goes_on_when_it_is_let_go() {
    let mut lab = requester();
    go_to(&mut lab, QpState::Sqd);
    lab.start(0, Send, 4);
    go_to(&mut lab, QpState::Rts);
    assert_eq!(lab.leaving(), ["SEND_ONLY 0 ack 4B"]);
}

#[test]
fn an_idle_send_queue_is_drained_at_once_and_says_so_once() {
    let mut lab = requester();
    go_to(&mut lab, QpState::Sqd);
    lab.leaving();
    assert!(drained(&mut lab));
    lab.start(0, Send, 4);
    assert!(!drained(&mut lab));
    go_to(&mut lab, QpState::Rts);
    lab.leaving();
    lab.answer(ack(0, 1));
    assert!(!drained(&mut lab));
    go_to(&mut lab, QpState::Sqd);
    lab.leaving();
    assert!(drained(&mut lab));
}

#[test]
fn going_on_before_it_was_drained_withdraws_the_wish() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    go_to(&mut lab, QpState::Sqd);
    go_to(&mut lab, QpState::Rts);
    lab.answer(ack(0, 1));
    assert!(!drained(&mut lab));
}

#[test]
fn the_software_may_send_a_queue_pair_to_error_with_requests_in_it() {
    let mut lab = requester();
    lab.start_all(Send, &[600, 4]);
    go_to(&mut lab, QpState::Error);
    assert_eq!(lab.statuses(), [(0, "wr_flush_err"), (1, "wr_flush_err")]);
    assert_eq!(lab.answer(ack(3, 2)), [""; 0]);
    assert_eq!(lab.port.next_timeout(), None);
}

#[test]
fn a_reset_forgets_the_requests() {
    let mut lab = requester_with(|options| options.policy.window = 1);
    lab.start_all(Send, &[600, 4]);
    go_to(&mut lab, QpState::Reset);
    assert_eq!((lab.leaving(), lab.port.next_timeout()), (vec![], None));
    assert!(lab.completions().is_empty());
    lab.connect();
    assert_eq!(lab.start(7, Send, 4), ["SEND_ONLY 0 ack 4B"]);
    lab.answer(ack(0, 1));
    assert_eq!(lab.statuses(), [(7, "success")]);
}

#[test]
fn a_reset_during_an_rnr_wait_ends_the_wait() {
    let mut lab = requester();
    lab.start(0, Send, 4);
    lab.answer(rnr_nak(0, 0));
    go_to(&mut lab, QpState::Reset);
    lab.connect();
    assert_eq!(lab.start(1, Send, 4), ["SEND_ONLY 0 ack 4B"]);
}

#[test]
fn a_destroyed_queue_pair_sends_nothing_more() {
    let mut lab = requester_with(|options| options.policy.window = 1);
    lab.start_all(Send, &[600, 4]);
    lab.port.destroy_qp(lab.qp).unwrap();
    assert_eq!((lab.leaving(), lab.port.next_timeout()), (vec![], None));
    assert_eq!(lab.answer(ack(0, 0)), [""; 0]);
    let request = lab.work(0, Send, 4);
    assert_eq!(lab.port.post_send(lab.qp, &request), Err(VerbError::NoSuchObject));
}

#[test]
fn responses_to_who_never_asked_are_dropped() {
    let mut lab = requester();
    lab.answer(ack(0, 1));
    lab.answer(read_only(0, b"abcd"));
    assert_eq!(lab.counter("drop_unexpected_response"), 2);
    assert_eq!(lab.start(0, RdmaRead, 4).len(), 1);
}
