use rocespec_model::SendOperation::{FetchAdd, RdmaRead, RdmaWrite, RdmaWriteWithImmediate, Send};
use rocespec_model::{CreditUse, Policy};

use crate::harness::Lab;
use crate::harness::requester::{T, ack, ack_with_credits, requester, requester_with};

fn keeping() -> Lab {
    requester_with(|options| {
        options.policy = Policy { credit_use: CreditUse::Kept, timeout_multiple: 1, ..Policy::PLAIN };
    })
}

#[test]
fn without_credit_one_packet_goes_to_find_out() {
    let mut lab = keeping();
    assert_eq!(lab.start_all(Send, &[4, 4, 4]), ["SEND_ONLY 0 ack 4B"]);
    assert_eq!(lab.answer(ack_with_credits(0, 1, 0)), ["SEND_ONLY 1 ack 4B"]);
    assert_eq!(lab.answer(ack_with_credits(1, 2, 0)), ["SEND_ONLY 2 ack 4B"]);
}

#[test]
fn the_packet_that_finds_out_asks_for_an_ack_within_a_message_too() {
    let mut lab = keeping();
    assert_eq!(lab.start(0, Send, 600), ["SEND_FIRST 0 ack 256B"]);
    assert_eq!(lab.answer(ack_with_credits(0, 0, 0)), ["SEND_MIDDLE 1 ack 256B"]);
    assert_eq!(lab.answer(ack_with_credits(1, 0, 1)), ["SEND_LAST 2 ack 88B"]);
}

#[test]
fn credit_covers_so_many_messages_behind_the_msn() {
    let mut lab = keeping();
    lab.start_all(Send, &[4; 8]);
    // Code 3: three messages behind the first one.
    assert_eq!(lab.answer(ack_with_credits(0, 1, 3)).len(), 3);
    assert_eq!(lab.answer(ack_with_credits(1, 2, 2)), [""; 0], "2 + 2 is what was known");
    assert_eq!(lab.answer(ack_with_credits(3, 4, 0)), ["SEND_ONLY 4 ack 4B"], "one to find out");
}

#[test]
fn the_last_ack_may_come_again_with_more() {
    let mut lab = keeping();
    lab.start_all(Send, &[4; 5]);
    lab.answer(ack_with_credits(0, 1, 1));
    assert_eq!(lab.leaving(), [""; 0]);
    assert_eq!(lab.answer(ack_with_credits(0, 1, 3)).len(), 2);
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn an_older_ack_does_not_take_credit_back() {
    let mut lab = keeping();
    lab.start(0, Send, 4);
    lab.answer(ack_with_credits(0, 1, 4));
    lab.answer(ack_with_credits(0, 1, 0));
    assert_eq!(lab.start_all(Send, &[4; 5]).len(), 4);
}

#[test]
fn an_ack_without_credits_lifts_the_limit_for_good() {
    let mut lab = keeping();
    lab.start_all(Send, &[4; 5]);
    assert_eq!(lab.answer(ack(0, 1)).len(), 4);
    lab.answer(ack_with_credits(4, 5, 0));
    assert_eq!(lab.start_all(Send, &[4; 3]).len(), 3);
}

#[test]
fn what_takes_no_receive_needs_no_credit() {
    let mut lab = keeping();
    lab.start_all(RdmaWrite, &[4, 4]);
    assert_eq!(lab.start(2, RdmaRead, 4).len() + lab.start(3, FetchAdd, 0).len(), 2);
    assert_eq!(lab.start(4, RdmaWriteWithImmediate, 4), [""; 0], "takes one");
}

#[test]
fn messages_without_receive_count_too() {
    let mut lab = keeping();
    lab.start(0, RdmaWrite, 4);
    lab.start_all(Send, &[4; 3]);
    // Messages 2 and 3 are covered, the last SEND is message 4.
    assert_eq!(lab.answer(ack_with_credits(0, 1, 2)).len(), 2);
}

#[test]
fn what_is_sent_again_keeps_its_credit() {
    let mut lab = keeping();
    lab.start_all(Send, &[4; 4]);
    assert_eq!(lab.answer(ack_with_credits(0, 1, 2)).len(), 2);
    assert_eq!(lab.wait(T).len(), 2);
}

#[test]
fn who_does_not_look_at_credits_sends() {
    let mut lab = requester();
    assert_eq!(lab.start_all(Send, &[4; 3]).len(), 3);
    lab.answer(ack_with_credits(0, 1, 0));
    assert_eq!(lab.start_all(Send, &[4; 3]).len(), 3);
}
