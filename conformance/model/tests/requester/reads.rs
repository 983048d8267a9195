use rocespec_codec::Opcode;
use rocespec_model::SendOperation::{RdmaRead, RdmaWrite, Send};
use rocespec_model::{AckInsteadOfResponse, Policy, QpState, ReadRetry};

use crate::harness::requester::{
    T, ack, atomic_ack, read_first, read_last, read_middle, read_only, read_response, requester, requester_with,
};
use crate::harness::{Lab, MTU, Req};

/// What the peer's memory holds.
fn remote(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 3 + at / 256 + 1) as u8).collect()
}

/// The response that carries the part from `at` on, as one of a READ of 600 bytes.
fn part(at: u32) -> Req {
    let data = remote(600);
    let rest = &data[at as usize * MTU..];
    match at {
        0 => read_first(0, &rest[..MTU]),
        1 => read_middle(1, &rest[..MTU]),
        _ => read_last(2, rest),
    }
}

fn assert_read(lab: &mut Lab) {
    let completion = lab.completions().pop().expect("a completion");
    assert_eq!((completion.status.name(), completion.kind.name(), completion.byte_len), ("success", "rdma_read", 600));
    assert_eq!(lab.buffer(600), remote(600));
    assert_eq!(lab.port.next_timeout(), None);
}

#[test]
fn responses_fill_the_buffer_and_complete_the_read() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 600);
    for at in 0..3 {
        assert!(lab.completions().is_empty());
        assert_eq!(lab.answer(part(at)), [""; 0]);
    }
    assert_read(&mut lab);
}

#[test]
fn a_read_of_nothing_is_answered_by_nothing() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 0);
    lab.answer(read_only(0, b""));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_read_may_end_with_a_full_response() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 512);
    lab.answer(read_first(0, &remote(512)[..256]));
    lab.answer(read_last(1, &remote(512)[256..]));
    assert_eq!((lab.statuses(), lab.buffer(512)), (vec![(0, "success")], remote(512)));
}

#[test]
fn a_response_acknowledges_what_is_before_the_read() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    lab.start(2, RdmaRead, 4);
    lab.answer(read_only(2, b"abcd"));
    assert_eq!(lab.statuses(), [(0, "success"), (1, "success"), (2, "success")]);
}

#[test]
fn a_missing_response_is_asked_for_from_there_on() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 600);
    lab.answer(part(0));
    assert_eq!(lab.answer(part(2)), ["RDMA_READ_REQUEST 1 ack va=256 len=344"]);
    lab.answer(read_first(1, &remote(600)[256..512]));
    lab.answer(read_last(2, &remote(600)[512..]));
    assert_read(&mut lab);
}

#[test]
fn or_the_whole_read_is_asked_for_again() {
    let mut lab = requester_with(|options| options.policy = Policy { read_retry: ReadRetry::Whole, ..Policy::PLAIN });
    lab.start(0, RdmaRead, 600);
    lab.answer(part(0));
    assert_eq!(lab.answer(part(2)), ["RDMA_READ_REQUEST 0 ack va=0 len=600"]);
    for at in 0..3 {
        lab.answer(part(at));
    }
    assert_read(&mut lab);
}

#[test]
fn a_timeout_asks_for_what_has_not_come() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 600);
    assert_eq!(lab.wait(T), ["RDMA_READ_REQUEST 0 ack va=0 len=600"]);
    lab.answer(part(0));
    assert_eq!(lab.wait(T), ["RDMA_READ_REQUEST 1 ack va=256 len=344"]);
    lab.answer(read_first(1, &remote(600)[256..512]));
    assert_eq!(lab.wait(T), ["RDMA_READ_REQUEST 2 ack va=512 len=88"]);
    lab.answer(read_only(2, &remote(600)[512..]));
    assert_read(&mut lab);
}

#[test]
fn responses_of_the_first_time_that_are_late_are_taken() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 600);
    lab.answer(part(0));
    assert_eq!(lab.answer(part(2)).len(), 1);
    lab.answer(part(1));
    lab.answer(part(2));
    assert_read(&mut lab);
    lab.answer(read_first(1, &remote(600)[256..512]));
    assert_eq!(lab.state(), QpState::Rts, "those of the second time come too late");
}

#[test]
fn a_gap_is_acted_upon_once() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 1500);
    assert_eq!(lab.answer(read_middle(2, &[0; MTU])).len(), 1);
    assert_eq!(lab.answer(read_middle(3, &[0; MTU])), [""; 0]);
    assert_eq!(lab.answer(read_middle(4, &[0; MTU])), [""; 0]);
    assert_eq!(lab.wait(T).len(), 1, "the timeout does the rest");
}

#[test]
fn an_ack_beyond_a_read_shows_that_its_response_is_lost() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, Send, 4);
    assert_eq!(lab.answer(ack(1, 2)), ["RDMA_READ_REQUEST 0 ack va=0 len=4", "SEND_ONLY 1 ack 4B"]);
    assert!(lab.completions().is_empty());
    lab.answer(read_only(0, b"abcd"));
    lab.answer(ack(1, 2));
    assert_eq!((lab.statuses(), lab.buffer(4)), (vec![(0, "success"), (1, "success")], b"abcd".to_vec()));
}

#[test]
fn a_response_beyond_a_read_shows_that_its_response_is_lost() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.start(1, RdmaRead, 4);
    let again = ["RDMA_READ_REQUEST 0 ack va=0 len=4", "RDMA_READ_REQUEST 1 ack va=0 len=4"];
    assert_eq!(lab.answer(read_only(1, b"late")), again);
}

#[test]
fn a_response_that_came_before_does_nothing() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 600);
    lab.answer(part(0));
    lab.answer(read_first(0, &[0xee; MTU]));
    assert_eq!(lab.buffer(256), remote(256));
    lab.answer(part(1));
    lab.answer(part(2));
    lab.answer(part(2));
    assert_read(&mut lab);
}

/// The status with which a READ of `length` bytes ends after these responses; `None` while it waits.
fn end(length: u32, answers: impl IntoIterator<Item = Req>) -> Option<&'static str> {
    let mut lab = requester();
    lab.start(0, RdmaRead, length);
    for answer in answers {
        lab.answer(answer);
    }
    let status = lab.statuses().first().map(|(_, status)| *status);
    assert_eq!(status.is_some_and(|status| status != "success"), lab.state() == QpState::Error);
    let behind = lab.memory(u64::from(length), 1024);
    assert_eq!(
        behind,
        crate::harness::pattern(8192)[length as usize..length as usize + 1024],
        "nothing behind is written"
    );
    status
}

#[test]
fn responses_have_to_come_in_the_order_of_a_message() {
    assert_eq!(end(512, [read_middle(0, &[1; MTU])]), Some("bad_resp_err"));
    assert_eq!(end(512, [read_last(0, &[1; MTU])]), Some("bad_resp_err"));
    assert_eq!(end(512, [read_first(0, &[1; MTU]), read_first(1, &[1; MTU])]), Some("bad_resp_err"));
    assert_eq!(end(512, [read_first(0, &[1; MTU]), read_only(1, &[1; MTU])]), Some("bad_resp_err"));
}

#[test]
fn responses_have_to_have_the_length_that_was_asked_for() {
    assert_eq!(end(8, [read_only(0, &[1; 12])]), Some("loc_len_err"));
    assert_eq!(end(8, [read_only(0, &[1; 4])]), Some("loc_len_err"));
    assert_eq!(end(8, [read_first(0, &[1; MTU])]), Some("loc_len_err"));
    assert_eq!(end(600, [read_first(0, &[1; MTU - 4])]), Some("loc_len_err"));
    assert_eq!(end(600, [read_only(0, &[1; MTU])]), Some("loc_len_err"));
    assert_eq!(end(512, [read_first(0, &[1; MTU]), read_middle(1, &[1; MTU])]), Some("loc_len_err"));
    assert_eq!(end(512, [read_first(0, &[1; MTU]), read_last(1, &[1; MTU - 4])]), Some("loc_len_err"));
    assert_eq!(end(0, [read_only(0, &[1; 4])]), Some("loc_len_err"));
}

#[test]
fn responses_have_to_be_of_the_kind_that_was_asked_for() {
    assert_eq!(end(8, [atomic_ack(0, 1)]), Some("bad_resp_err"));
    let mut lab = requester();
    lab.start(0, RdmaWrite, 4);
    lab.answer(read_response(Opcode::RC_RDMA_READ_RESPONSE_ONLY, 0, &[1; 4]));
    assert_eq!(lab.statuses(), [(0, "bad_resp_err")]);
}

#[test]
fn an_ack_within_a_read_is_no_answer_to_it() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    assert_eq!(lab.answer(ack(0, 1)), ["RDMA_READ_REQUEST 0 ack va=0 len=4"]);
    assert!(lab.completions().is_empty());
    let ack_instead_of_response = AckInsteadOfResponse::BadResponse;
    let mut lab = requester_with(|options| options.policy = Policy { ack_instead_of_response, ..Policy::PLAIN });
    lab.start(0, RdmaRead, 4);
    assert_eq!(lab.answer(ack(0, 1)), [""; 0]);
    assert_eq!(lab.statuses(), [(0, "bad_resp_err")]);
}

#[test]
fn data_for_memory_that_has_gone_ends_the_connection() {
    let mut lab = requester();
    lab.start(0, RdmaRead, 4);
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    lab.answer(read_only(0, b"abcd"));
    assert_eq!((lab.statuses(), lab.state()), (vec![(0, "loc_prot_err")], QpState::Error));
}

#[test]
fn a_read_that_begins_anew_is_no_step_forward_until_it_gets_further() {
    let mut lab = requester_with(|options| {
        options.policy = Policy { read_retry: ReadRetry::Whole, ..Policy::PLAIN };
        options.attributes.retry_count = Some(2);
    });
    lab.start(0, RdmaRead, 600);
    let mut requests = 1;
    lab.answer(part(0));
    while let Some(timeout) = lab.port.next_timeout() {
        requests += lab.until(timeout).len();
        if requests > 9 {
            break;
        }
        lab.answer(part(0));
    }
    assert_eq!((requests, lab.statuses()), (3, vec![(0, "retry_exc_err")]));
}

#[test]
fn without_a_timeout_every_ack_beyond_a_read_has_it_sent_again() {
    let mut lab = requester_with(|options| options.attributes.timeout = Some(0));
    lab.start(0, RdmaRead, 4);
    lab.start(1, RdmaWrite, 4);
    for _ in 0..2 {
        assert_eq!(lab.answer(ack(1, 2)).len(), 2);
    }
}

#[test]
fn an_ack_for_many_that_reaches_into_a_read_does_not_spoil_it() {
    let strict = AckInsteadOfResponse::BadResponse;
    let mut lab =
        requester_with(|options| options.policy = Policy { ack_instead_of_response: strict, ..Policy::PLAIN });
    lab.start(0, Send, 4);
    lab.start(1, RdmaRead, 4);
    assert_eq!(lab.answer(ack(1, 2)), ["RDMA_READ_REQUEST 1 ack va=0 len=4"]);
    assert_eq!((lab.state(), lab.statuses()), (QpState::Rts, vec![(0, "success")]));
}
