use rocespec_codec::{Opcode, RKey};
use rocespec_model::{Access, AsyncEvent, EventKind, Policy, QpState};

use crate::harness::{Lab, MTU, Req, lab, lab_with, req};

const SIZE: i64 = 4096;

fn write(offset: i64, len: usize) -> Req {
    req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(offset, len as u32).len(len)
}

fn read(offset: i64, len: u32) -> Req {
    req(Opcode::RC_RDMA_READ_REQUEST, 0).to(offset, len)
}

#[track_caller]
fn assert_denied(lab: &mut Lab, request: Req) {
    let psn = request.bth.psn.get();
    assert_eq!(lab.send(request), [format!("NAK {psn} msn={psn} remote_access_error")]);
    assert_eq!(lab.state(), QpState::Error);
    assert_eq!(lab.events, [AsyncEvent { kind: EventKind::QpAccessError, qp: Some(lab.qp), srq: None }]);
}

#[test]
fn an_unknown_key_is_an_access_error() {
    assert_denied(&mut lab(), req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(0, 4, 0xdead_beef).len(4));
    assert_denied(&mut lab(), req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(0, 4, 0xdead_beef));
}

#[test]
fn the_key_of_deregistered_memory_is_an_access_error() {
    let mut lab = lab();
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_denied(&mut lab, write(0, 4));
}

#[test]
fn the_last_byte_of_a_region_may_be_used_and_the_next_not() {
    assert_eq!(lab().send(write(SIZE - 4, 4)), ["ACK 0 msn=1"]);
    assert_denied(&mut lab(), write(SIZE - 4, 5));
    assert_denied(&mut lab(), write(SIZE, 1));
    assert_denied(&mut lab(), write(-1, 4));
    assert_denied(&mut lab(), read(SIZE - 8, 9));
}

#[test]
fn a_range_that_wraps_is_an_access_error() {
    let mut lab = lab();
    let near_the_end = -(lab.mr.va as i64) - 0x400;
    assert_denied(&mut lab, read(near_the_end, 0x400));
}

#[test]
fn the_whole_message_is_checked_when_it_begins() {
    let mut lab = lab();
    assert_denied(&mut lab, req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(SIZE - 256, 300).len(MTU));
    assert_eq!(lab.memory(SIZE as u64 - 256, 256), [0; 256]);
}

#[test]
fn a_region_gives_only_the_rights_it_was_registered_with() {
    let with = |access| lab_with(|options| options.region_access = access);
    assert_denied(&mut with(Access::REMOTE_READ | Access::REMOTE_ATOMIC), write(0, 4));
    assert_denied(&mut with(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC), read(0, 4));
    assert_denied(&mut with(Access::REMOTE_WRITE), req(Opcode::RC_FETCH_ADD, 0).atomic(0, 1, 0));
    assert_eq!(with(Access::REMOTE_WRITE).send(write(0, 4)), ["ACK 0 msn=1"]);
}

#[test]
fn what_the_queue_pair_does_not_allow_is_an_invalid_request() {
    let with = |access| lab_with(|options| options.attributes.access = Some(access));
    let invalid = ["NAK 0 msn=0 invalid_request"];
    assert_eq!(with(Access::REMOTE_READ).send(write(0, 4)), invalid);
    assert_eq!(with(Access::REMOTE_WRITE).send(read(0, 4)), invalid);
    assert_eq!(with(Access::REMOTE_WRITE).send(req(Opcode::RC_FETCH_ADD, 0).atomic(0, 1, 0)), invalid);
    assert_eq!(with(Access::NONE).send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 0 msn=1"]);
}

#[test]
fn the_policy_may_call_it_an_access_error() {
    let mut lab = lab_with(|options| {
        options.attributes.access = Some(Access::NONE);
        options.policy = Policy { qp_rights_as_access_error: true, ..Policy::PLAIN };
    });
    assert_denied(&mut lab, write(0, 4));
}

#[test]
fn a_write_of_nothing_needs_no_key() {
    let nothing = req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(-99_999, 0, 0xdead);
    assert_eq!(lab().send(nothing), ["ACK 0 msn=1"]);
}

#[test]
fn a_read_of_nothing_needs_no_key_and_takes_one_psn() {
    let mut lab = lab();
    let nothing = req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(-99_999, 0, 0xdead);
    assert_eq!(lab.send(nothing), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 1)), ["ACK 1 msn=2"]);
}

#[test]
fn a_key_that_goes_away_in_the_middle_of_a_write_stops_it() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 300).len(MTU));
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_LAST, 1).len(44)), ["NAK 1 msn=0 remote_access_error"]);
}

#[test]
fn an_invalidated_key_no_longer_works() {
    let mut lab = lab_with(|options| options.policy.invalidates_plain_regions = true);
    let rkey = lab.mr.rkey;
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY_WITH_INVALIDATE, 0).invalidate(rkey).len(4)), ["ACK 0 msn=1"]);
    assert_eq!(lab.completions()[0].invalidated, Some(rkey));
    assert_denied(&mut lab, req(Opcode::RC_RDMA_WRITE_ONLY, 1).to(0, 4).len(4));
}

#[test]
fn a_key_that_cannot_be_invalidated_ends_the_connection_without_an_answer() {
    let own_key = lab().mr.rkey;
    for (allowed, rkey) in [(false, own_key), (true, RKey::new(0xdead))] {
        let mut lab = lab_with(|options| options.policy.invalidates_plain_regions = allowed);
        let answer = lab.send(req(Opcode::RC_SEND_ONLY_WITH_INVALIDATE, 0).invalidate(rkey).len(4));
        assert_eq!(answer, [""; 0]);
        assert_eq!(lab.state(), QpState::Error);
        assert_eq!(lab.statuses()[0], (0, "rem_inv_req_err"));
    }
}

#[test]
fn an_atomic_that_is_misaligned_and_outside_is_an_invalid_request() {
    assert_eq!(lab().send(req(Opcode::RC_FETCH_ADD, 0).atomic(4092, 1, 0)), ["NAK 0 msn=0 invalid_request"]);
}
