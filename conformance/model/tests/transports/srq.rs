//! Shared receive queues.

use rocespec_codec::Opcode;
use rocespec_model::{
    Access, CreditPolicy, EventKind, QpHandle, QpInit, QpKind, QpState, SrqHandle, SrqInit, VerbError,
};

use crate::harness::{Lab, MTU, lab_with, req, to};

fn shared(kind: QpKind) -> Lab {
    lab_with(|options| (options.kind, options.shared) = (kind, true))
}

fn srq(lab: &Lab) -> SrqHandle {
    lab.srq.unwrap()
}

/// A second queue pair that takes from the same queue, as if it were the lab's.
fn another(lab: &mut Lab) -> QpHandle {
    let init = QpInit { srq: lab.srq, ..QpInit::new(lab.options.kind) };
    let first = lab.qp;
    (lab.qp, lab.qpn) = lab.port.create_qp_with(&init).unwrap();
    lab.connect();
    first
}

fn ids(lab: &mut Lab, qp: QpHandle) -> Vec<u64> {
    lab.port.poll(qp, 99).iter().map(|done| done.wr_id).collect()
}

#[test]
fn queue_pairs_take_receives_in_the_order_of_messages() {
    let mut lab = shared(QpKind::Rc);
    let first = another(&mut lab);
    let second = (lab.qp, lab.qpn);
    let first_qpn = rocespec_codec::Qpn::new(second.1.get() - 1);
    let to_first = |psn| req(Opcode::RC_SEND_ONLY, psn).len(8).bth(|bth| bth.dest_qp = first_qpn);
    assert_eq!(lab.send(to_first(0)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(to_first(1)), ["ACK 1 msn=2"]);
    assert_eq!((ids(&mut lab, first), ids(&mut lab, second.0)), (vec![0, 2], vec![1]));
}

#[test]
fn a_message_keeps_the_receive_that_it_began_with() {
    let mut lab = shared(QpKind::Rc);
    let first = another(&mut lab);
    let second = lab.qp;
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    let other = rocespec_codec::Qpn::new(lab.qpn.get() - 1);
    lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8).bth(|bth| bth.dest_qp = other));
    lab.send(req(Opcode::RC_SEND_LAST, 1).len(8));
    assert_eq!((ids(&mut lab, first), ids(&mut lab, second)), (vec![1], vec![0]));
}

#[test]
fn an_empty_shared_queue_is_not_ready() {
    let mut lab = lab_with(|options| (options.shared, options.receives) = (true, 0));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["RNR_NAK 0 msn=0 timer=14"]);
    lab.post(5);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["ACK 0 msn=1"]);
    assert_eq!(lab.statuses(), [(5, "success")]);
}

#[test]
fn immediate_data_takes_a_shared_receive() {
    let mut lab = shared(QpKind::Uc);
    lab.send(req(Opcode::UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0).to(0, 0).immediate(1));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn a_shared_queue_promises_no_credits() {
    let mut lab = lab_with(|options| (options.shared, options.policy.credits) = (true, CreditPolicy::Given));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["ACK 0 msn=1"]);
}

#[test]
fn the_limit_is_told_once() {
    let mut lab = shared(QpKind::Rc);
    let srq = srq(&lab);
    lab.port.modify_srq(srq, 3).unwrap();
    lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8));
    assert_eq!(lab.events, []);
    lab.send(req(Opcode::RC_SEND_ONLY, 1).len(8));
    let told: Vec<_> = lab.events.iter().map(|event| (event.kind, event.qp, event.srq)).collect();
    assert_eq!(told, [(EventKind::SrqLimitReached, None, Some(srq))]);
    lab.send(req(Opcode::RC_SEND_ONLY, 2).len(8));
    assert_eq!(lab.events.len(), 1);
}

#[test]
fn a_queue_pair_in_error_leaves_the_receives_to_the_others() {
    let mut lab = shared(QpKind::Rc);
    another(&mut lab);
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(MTU));
    lab.modify(to(QpState::Error));
    lab.collect();
    assert_eq!(lab.statuses(), [(0, "wr_flush_err")], "the one that it had taken");
    assert_eq!(lab.events.iter().map(|event| event.kind.name()).collect::<Vec<_>>(), ["qp_last_wqe_reached"]);
    another(&mut lab);
    lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8));
    assert_eq!(lab.statuses(), [(1, "success")]);
}

#[test]
fn a_broken_uc_message_completes_its_shared_receive_in_error() {
    let mut lab = shared(QpKind::Uc);
    for request in [
        req(Opcode::UC_SEND_FIRST, 0).len(MTU),
        req(Opcode::UC_SEND_LAST, 2).len(8),
        req(Opcode::UC_SEND_ONLY, 3).len(8),
    ] {
        assert_eq!(lab.send(request), [""; 0]);
    }
    assert_eq!(lab.statuses(), [(0, "rem_inv_req_err"), (1, "success")]);
}

#[test]
fn datagrams_take_shared_receives() {
    let mut lab = shared(QpKind::Ud);
    lab.send(crate::ud::datagram(0));
    lab.send(crate::ud::datagram(0).len(1000));
    lab.send(crate::ud::datagram(0));
    assert_eq!(lab.statuses(), [(0, "success"), (1, "success")]);
}

#[test]
fn who_shares_receives_has_none_of_its_own() {
    let mut lab = shared(QpKind::Rc);
    let refused = lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 0, 8);
    assert_eq!(refused, Err(VerbError::Unsupported));
}

#[test]
fn a_shared_queue_has_bounds_and_stays_while_it_is_used() {
    let mut lab = shared(QpKind::Rc);
    let pd = lab.port.create_pd();
    let (small, number) = lab.port.create_srq(&SrqInit { max_wr: 1, pd, xrc_domain: None }).unwrap();
    assert_ne!(number, rocespec_codec::Qpn::new(srq(&lab).0));
    let mr = lab.port.register_memory_in(pd, 8, Access::LOCAL_WRITE).unwrap().handle;
    lab.port.post_srq_receive(small, 0, mr, 0, 8).unwrap();
    assert_eq!(lab.port.post_srq_receive(small, 1, mr, 0, 8), Err(VerbError::QueueFull));
    assert_eq!(lab.port.modify_srq(small, 2), Err(VerbError::OutOfRange("limit")));
    let big = SrqInit { max_wr: 16385, ..SrqInit::default() };
    assert_eq!(lab.port.create_srq(&big).err(), Some(VerbError::OutOfRange("max_wr")));

    let used = srq(&lab);
    assert_eq!(lab.port.destroy_srq(used), Err(VerbError::InUse));
    lab.port.destroy_qp(lab.qp).unwrap();
    assert_eq!(lab.port.destroy_srq(used), Ok(()));
    assert_eq!(lab.port.destroy_srq(used), Err(VerbError::NoSuchObject));
    assert_eq!(lab.port.modify_srq(used, 0), Err(VerbError::NoSuchObject));
    assert_eq!(lab.port.post_srq_receive(used, 0, lab.inbox.handle, 0, 8), Err(VerbError::NoSuchObject));
    assert!(lab.port.poll_srq(used, 1).is_empty());
}

#[test]
fn buffers_belong_to_the_domain_of_the_shared_queue() {
    let mut lab = shared(QpKind::Rc);
    let pd = lab.port.create_pd();
    let region = lab.port.register_memory_in(pd, 64, Access::LOCAL_WRITE).unwrap();
    let (own, _) = lab.port.create_srq(&SrqInit { pd, ..SrqInit::default() }).unwrap();
    lab.port.post_srq_receive(own, 8, region.handle, 0, 64).unwrap();
    lab.srq = Some(own);
    another(&mut lab);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["ACK 0 msn=1"]);
    assert_eq!(lab.port.read_memory(region.handle, 1, 1).unwrap(), [7]);
}
