//! XRC targets.

use rocespec_codec::{Opcode, Qpn, XrcEth};
use rocespec_model::{
    Capacity, ForeignSrq, QpInit, QpKind, QpState, SendOperation, SendRequest, SrqHandle, SrqInit, VerbError,
};

use crate::harness::{Lab, MTU, Options, Req, lab_with, look, pattern, req};

fn target() -> Lab {
    target_with(|_| {})
}

fn target_with(change: impl FnOnce(&mut Options)) -> Lab {
    lab_with(|options| {
        options.kind = QpKind::XrcTarget;
        change(options);
    })
}

/// A request that names the lab's own queue.
fn named(opcode: Opcode, psn: u32, lab: &Lab) -> Req {
    to_srq(opcode, psn, lab.srq.unwrap())
}

fn to_srq(opcode: Opcode, psn: u32, srq: SrqHandle) -> Req {
    let mut request = req(opcode, psn);
    request.ext.xrceth = XrcEth { srqn: Qpn::new(srq.0), ..XrcEth::default() };
    request
}

fn done(lab: &mut Lab, srq: SrqHandle) -> Vec<(u64, &'static str, u32)> {
    let all = lab.port.poll_srq(srq, 99);
    all.iter().map(|done| (done.wr_id, done.status.name(), done.byte_len)).collect()
}

/// A second queue of the lab's domain, with one receive.
fn second(lab: &mut Lab, xrc_domain: bool) -> SrqHandle {
    let domain = lab.port.create_xrc_domain();
    let own = rocespec_model::XrcDomainHandle(domain.0 - 1);
    let xrc_domain = Some(if xrc_domain { own } else { domain });
    let (srq, _) = lab.port.create_srq(&SrqInit { xrc_domain, ..SrqInit::default() }).unwrap();
    lab.port.post_srq_receive(srq, 77, lab.inbox.handle, 32768, 1024).unwrap();
    srq
}

#[test]
fn the_request_says_which_queue_it_is_for() {
    let mut lab = target();
    let (own, second) = (lab.srq.unwrap(), second(&mut lab, true));
    assert_eq!(lab.send(to_srq(Opcode::XRC_SEND_ONLY, 0, second).len(8)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(named(Opcode::XRC_SEND_ONLY, 1, &lab).len(8)), ["ACK 1 msn=2"]);
    assert_eq!((done(&mut lab, second), done(&mut lab, own)), (vec![(77, "success", 8)], vec![(0, "success", 8)]));
    assert!(lab.completions().is_empty(), "nothing completes on the target");
    assert_eq!(lab.port.read_memory(lab.inbox.handle, 32768, 8).unwrap(), pattern(8));
}

#[test]
fn responses_are_those_of_xrc_and_carry_no_xrceth() {
    let mut lab = target();
    lab.set_memory(0, &pattern(600));
    let read = named(Opcode::XRC_RDMA_READ_REQUEST, 1, &lab).to(0, 600);
    assert_eq!(lab.send(named(Opcode::XRC_SEND_ONLY, 0, &lab).len(8)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(read), ["FIRST 1 msn=2 256B", "MIDDLE 2 256B", "LAST 3 msn=2 88B"]);
    let add = named(Opcode::XRC_FETCH_ADD, 4, &lab).atomic(1024, 5, 0);
    assert_eq!(lab.send(add), ["ATOMIC 4 msn=3 0x0"]);
    let opcodes: Vec<_> = lab.frames.iter().map(|frame| look(frame, |packet| packet.bth.opcode.0)).collect();
    assert_eq!(opcodes, [0xb1, 0xad, 0xae, 0xaf, 0xb2]);
    assert_eq!(crate::harness::read_data(&lab.frames[1..4]), pattern(600));
}

#[test]
fn messages_of_several_packets_name_the_queue_in_each() {
    let mut lab = target();
    let own = lab.srq.unwrap();
    lab.send(named(Opcode::XRC_SEND_FIRST, 0, &lab).len(MTU));
    lab.send(named(Opcode::XRC_SEND_MIDDLE, 1, &lab).len(MTU));
    assert_eq!(lab.send(named(Opcode::XRC_SEND_LAST, 2, &lab).len(4)), ["ACK 2 msn=1"]);
    assert_eq!(done(&mut lab, own), [(0, "success", 516)]);
    lab.send(named(Opcode::XRC_RDMA_WRITE_FIRST, 3, &lab).to(0, 260).len(MTU));
    let last = named(Opcode::XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 4, &lab).len(4).immediate(9);
    assert_eq!(lab.send(last), ["ACK 4 msn=2"]);
    assert_eq!(lab.port.poll_srq(own, 1)[0].immediate, Some(9));
}

#[test]
fn a_queue_of_another_domain_is_refused() {
    for (policy, answer, state) in [
        (ForeignSrq::Nak, vec!["NAK 0 msn=0 invalid_request"], QpState::Error),
        (ForeignSrq::Dropped, vec![], QpState::Rtr),
    ] {
        let mut lab = target_with(|options| options.policy.foreign_srq = policy);
        let foreign = second(&mut lab, false);
        assert_eq!(lab.send(to_srq(Opcode::XRC_SEND_ONLY, 0, foreign).len(8)), answer);
        assert_eq!(lab.state(), state);
        assert_eq!(done(&mut lab, foreign), []);
    }
}

#[test]
fn a_queue_that_is_not_there_or_not_for_xrc_is_refused() {
    let mut lab = target_with(|options| options.policy.foreign_srq = ForeignSrq::Dropped);
    let (plain, _) = lab.port.create_srq(&SrqInit::default()).unwrap();
    lab.port.post_srq_receive(plain, 0, lab.inbox.handle, 0, 64).unwrap();
    for srq in [plain, SrqHandle(0), SrqHandle(0xff_ffff)] {
        assert_eq!(lab.send(to_srq(Opcode::XRC_SEND_ONLY, 0, srq).len(8)), [""; 0]);
    }
    assert_eq!(lab.counter("drop_foreign_srq"), 3);
    assert_eq!(lab.send(named(Opcode::XRC_SEND_ONLY, 0, &lab).len(8)), ["ACK 0 msn=1"], "nothing has changed");
}

#[test]
fn what_takes_no_receive_needs_no_queue() {
    let mut lab = target();
    let write = to_srq(Opcode::XRC_RDMA_WRITE_ONLY, 0, SrqHandle(0)).to(0, 8).len(8);
    assert_eq!(lab.send(write), ["ACK 0 msn=1"]);
}

#[test]
fn an_empty_queue_is_not_ready() {
    let mut lab = target_with(|options| options.receives = 0);
    assert_eq!(lab.send(named(Opcode::XRC_SEND_ONLY, 0, &lab).len(8)), ["RNR_NAK 0 msn=0 timer=14"]);
    lab.post(3);
    assert_eq!(lab.send(named(Opcode::XRC_SEND_ONLY, 0, &lab).len(8)), ["ACK 0 msn=1"]);
}

#[test]
fn gaps_and_duplicates_are_answered_as_on_rc() {
    let mut lab = target();
    let own = lab.srq.unwrap();
    let only = |psn, lab: &Lab| named(Opcode::XRC_SEND_ONLY, psn, lab).len(8);
    assert_eq!(lab.send(only(0, &lab)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(only(2, &lab)), ["NAK 1 msn=1 psn_sequence_error"]);
    assert_eq!(lab.send(only(0, &lab)), ["ACK 0 msn=1"]);
    assert_eq!(done(&mut lab, own).len(), 1);
}

#[test]
fn an_error_of_the_target_flushes_what_it_had_taken_alone() {
    let mut lab = target();
    let own = lab.srq.unwrap();
    lab.send(named(Opcode::XRC_SEND_FIRST, 0, &lab).len(MTU));
    let bad = named(Opcode::XRC_SEND_ONLY, 1, &lab).len(8);
    assert_eq!(lab.send(bad), ["NAK 1 msn=0 invalid_request"]);
    assert_eq!(done(&mut lab, own), [(0, "wr_flush_err", 0)]);
}

#[test]
fn opcodes_of_rc_are_none_of_xrc() {
    let mut lab = target();
    lab.assert_dropped(req(Opcode::RC_SEND_ONLY, 0).len(8), "drop_transport_class");
    lab.assert_dropped(req(Opcode::XRC_ACKNOWLEDGE, 0), "drop_unexpected_response");
    let mut rc = crate::harness::lab();
    rc.assert_dropped(to_srq(Opcode::XRC_SEND_ONLY, 0, SrqHandle(1)).len(8), "drop_transport_class");
}

#[test]
fn a_target_posts_nothing_and_needs_a_domain() {
    let mut lab = target();
    let send = SendRequest::new(1, SendOperation::Send);
    assert_eq!(lab.port.post_send(lab.qp, &send), Err(VerbError::WrongState(QpState::Rtr)));
    assert_eq!(lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 0, 8), Err(VerbError::Unsupported));
    let alone = lab.port.create_qp(QpKind::XrcTarget, Capacity::default());
    assert_eq!(alone, Err(VerbError::MissingAttribute("xrc_domain")));
    let with_srq = QpInit { srq: lab.srq, ..QpInit::new(QpKind::XrcInitiator) };
    assert_eq!(lab.port.create_qp_with(&with_srq), Err(VerbError::UnexpectedAttribute("srq")));
    let rc_with_xrc = QpInit { srq: lab.srq, ..QpInit::new(QpKind::Rc) };
    assert_eq!(lab.port.create_qp_with(&rc_with_xrc), Err(VerbError::OutOfRange("srq")));
}
