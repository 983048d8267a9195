use rocespec_codec::Opcode;
use rocespec_model::{BehindRnr, Policy};

use crate::harness::{Lab, MTU, Options, Req, lab_with, req};

fn empty() -> Lab {
    lab_with(|options| options.receives = 0)
}

fn send(psn: u32) -> Req {
    req(Opcode::RC_SEND_ONLY, psn).len(4)
}

#[test]
fn a_send_without_a_receive_gets_an_rnr_nak_with_the_timer_asked_for() {
    let mut lab = empty();
    assert_eq!(lab.send(send(0)), ["RNR_NAK 0 msn=0 timer=14"]);
    assert_eq!(lab.counter("rnr_nak_sent"), 1);
}

#[test]
fn the_same_psn_is_taken_once_a_receive_is_there() {
    let mut lab = empty();
    lab.send(send(0));
    lab.post(0);
    assert_eq!(lab.send(send(0)), ["ACK 0 msn=1"]);
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_retry_that_comes_too_early_gets_another_rnr_nak() {
    let mut lab = empty();
    assert_eq!(lab.send_all([send(0), send(0)]), ["RNR_NAK 0 msn=0 timer=14", "RNR_NAK 0 msn=0 timer=14"]);
}

#[test]
fn packets_behind_an_rnr_nak_are_dropped() {
    let mut lab = empty();
    lab.send(send(0));
    lab.post(0);
    assert_eq!(lab.send_all([send(1), send(2)]), [""; 0]);
    assert_eq!(lab.send(send(0)), ["ACK 0 msn=1"]);
    assert_eq!(lab.completions().len(), 1);
}

#[test]
fn the_policy_may_send_one_sequence_nak_behind_an_rnr_nak() {
    let mut lab = Lab::new(Options {
        receives: 0,
        policy: Policy { behind_rnr: BehindRnr::SequenceNak, ..Policy::PLAIN },
        ..Options::default()
    });
    let answers = lab.send_all([send(0), send(1), send(2)]);
    assert_eq!(answers, ["RNR_NAK 0 msn=0 timer=14", "NAK 0 msn=0 psn_sequence_error"]);
}

#[test]
fn a_message_takes_its_receive_with_its_first_packet() {
    let mut lab = empty();
    assert_eq!(lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU)), ["RNR_NAK 0 msn=0 timer=14"]);
    lab.post(0);
    let message = [req(Opcode::RC_SEND_FIRST, 0).len(MTU), req(Opcode::RC_SEND_LAST, 1).len(4)];
    assert_eq!(lab.send_all(message), ["ACK 0 msn=0", "ACK 1 msn=1"]);
}

#[test]
fn a_write_with_immediate_needs_its_receive_when_the_immediate_comes() {
    let mut lab = empty();
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 260).len(MTU)), ["ACK 0 msn=0"]);
    let last = req(Opcode::RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 1).payload(&[9; 4]).immediate(5);
    assert_eq!(lab.send(last.clone()), ["RNR_NAK 1 msn=0 timer=14"]);
    assert_eq!(lab.memory(256, 4), [0; 4]);
    lab.post(0);
    assert_eq!(lab.send(last), ["ACK 1 msn=1"]);
    assert_eq!(lab.memory(256, 4), [9; 4]);
    let completion = lab.completions()[0];
    assert_eq!((completion.kind.name(), completion.immediate), ("recv_rdma_with_imm", Some(5)));
    assert_eq!(completion.byte_len, 260);
}

#[test]
fn requests_that_take_no_receive_do_not_need_one() {
    let mut lab = empty();
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 4).len(4)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(req(Opcode::RC_RDMA_READ_REQUEST, 1).to(0, 4)), ["ONLY 1 msn=2 4B"]);
}
