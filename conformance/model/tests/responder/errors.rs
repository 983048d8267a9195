use rocespec_codec::Opcode;
use rocespec_model::{EventKind, QpAttributes, QpState};

use crate::harness::{MTU, lab, req};

#[test]
fn after_a_fatal_nak_nothing_is_answered() {
    let mut lab = lab();
    assert_eq!(lab.send(req(Opcode::RC_SEND_LAST, 0).len(4)), ["NAK 0 msn=0 invalid_request"]);
    let after = [req(Opcode::RC_SEND_ONLY, 0), req(Opcode::RC_SEND_ONLY, 1), req(Opcode::RC_SEND_ONLY, 5)];
    assert_eq!(lab.send_all(after), [""; 0]);
    assert_eq!(lab.counter("drop_qp_state"), 3);
    assert_eq!(lab.events[0].kind, EventKind::QpRequestError);
}

#[test]
fn after_a_fatal_nak_posted_receives_are_flushed_and_new_ones_at_once() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_LAST, 0).len(4));
    assert_eq!(lab.statuses(), [0, 1, 2, 3].map(|wr_id| (wr_id, "wr_flush_err")));
    lab.post(9);
    assert_eq!(lab.statuses(), [(9, "wr_flush_err")]);
}

#[test]
fn the_receive_of_an_unfinished_message_is_flushed_first() {
    let mut lab = lab();
    lab.send_all([req(Opcode::RC_SEND_FIRST, 0).len(MTU), req(Opcode::RC_SEND_ONLY, 1)]);
    assert_eq!(lab.statuses(), [0, 1, 2, 3].map(|wr_id| (wr_id, "wr_flush_err")));
}

#[test]
fn what_came_before_the_error_is_still_answered() {
    let mut lab = lab();
    let answers = lab.burst([
        req(Opcode::RC_RDMA_READ_REQUEST, 0).to(0, 2 * MTU as u32),
        req(Opcode::RC_RDMA_WRITE_ONLY, 2).keyed(0, 4, 1).len(4),
        req(Opcode::RC_SEND_ONLY, 3),
    ]);
    assert_eq!(answers, ["FIRST 0 msn=1 256B", "LAST 1 msn=1 256B", "NAK 2 msn=1 remote_access_error"]);
}

#[test]
fn a_receive_buffer_that_cannot_be_written_is_a_remote_operational_error() {
    let mut lab = crate::harness::lab_with(|options| options.receives = 0);
    lab.port.post_receive(lab.qp, 7, lab.inbox.handle, (1 << 16) - 2, 64).unwrap();
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(4)), ["NAK 0 msn=0 remote_operational_error"]);
    assert_eq!(lab.statuses(), [(7, "loc_prot_err")]);
}

#[test]
fn a_queue_pair_moved_to_error_is_silent() {
    let mut lab = lab();
    lab.modify(QpAttributes { state: Some(QpState::Error), ..QpAttributes::default() });
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), [""; 0]);
    assert_eq!(lab.statuses().len(), 4);
}

#[test]
fn a_queue_pair_can_be_reset_and_connected_again() {
    let mut lab = lab();
    lab.send_all([req(Opcode::RC_SEND_ONLY, 0), req(Opcode::RC_SEND_LAST, 1).len(4)]);
    lab.modify(QpAttributes { state: Some(QpState::Reset), ..QpAttributes::default() });
    assert!(lab.completions().is_empty());
    lab.connect();
    lab.post(0);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 0 msn=1"]);
}
