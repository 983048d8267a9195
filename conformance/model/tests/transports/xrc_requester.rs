//! XRC initiators.

use rocespec_codec::{Opcode, Qpn};
use rocespec_model::{QpKind, SendOperation, SendRequest, VerbError};

use crate::harness::requester::{T, requester_with, response, unlimited};
use crate::harness::{Lab, look, pattern, req};
use crate::sent::shape;

const SRQN: Qpn = Qpn::new(0x321);

fn initiator() -> Lab {
    requester_with(|options| options.kind = QpKind::XrcInitiator)
}

fn post(lab: &mut Lab, operation: SendOperation, length: u32) -> Vec<Vec<u8>> {
    let request = SendRequest { srqn: SRQN, ..lab.work(1, operation, length) };
    lab.frames.clear();
    lab.submit(request);
    lab.frames.clone()
}

#[test]
fn every_request_names_the_queue() {
    for (operation, length, expected) in [
        (SendOperation::Send, 600, &["XRC_SEND_FIRST 0 256B", "XRC_SEND_MIDDLE 1 256B", "XRC_SEND_LAST 2 88B"][..]),
        (SendOperation::RdmaWrite, 8, &["XRC_RDMA_WRITE_ONLY 0 8B"]),
        (SendOperation::RdmaRead, 600, &["XRC_RDMA_READ_REQUEST 0 0B"]),
        (SendOperation::FetchAdd, 8, &["XRC_FETCH_ADD 0 0B"]),
        (SendOperation::SendWithInvalidate, 8, &["XRC_SEND_ONLY_WITH_INVALIDATE 0 8B"]),
    ] {
        let mut lab = initiator();
        let frames = post(&mut lab, operation, length);
        assert_eq!(shape(&lab, &frames), expected);
        for frame in &frames {
            look(frame, |packet| assert_eq!(packet.ext.xrceth.srqn, SRQN));
        }
    }
}

#[test]
fn an_acknowledgement_completes_the_request() {
    let mut lab = initiator();
    post(&mut lab, SendOperation::Send, 8);
    assert_eq!(lab.statuses(), []);
    lab.send(response(Opcode::XRC_ACKNOWLEDGE, 0, 1, unlimited()));
    assert_eq!(lab.statuses(), [(1, "success")]);
}

#[test]
fn a_read_takes_responses_of_xrc() {
    let mut lab = initiator();
    post(&mut lab, SendOperation::RdmaRead, 300);
    lab.send(response(Opcode::XRC_RDMA_READ_RESPONSE_FIRST, 0, 1, unlimited()).payload(&[9; 256]));
    lab.send(response(Opcode::XRC_RDMA_READ_RESPONSE_LAST, 1, 1, unlimited()).payload(&[8; 44]));
    assert_eq!(lab.statuses(), [(1, "success")]);
    assert_eq!(lab.memory(255, 2), [9, 8]);
}

#[test]
fn what_is_lost_is_sent_again_with_the_queue_named() {
    let mut lab = initiator();
    let first = post(&mut lab, SendOperation::Send, 8);
    lab.frames.clear();
    lab.now = lab.now + T;
    lab.leaving();
    assert_eq!(shape(&lab, &lab.frames), ["XRC_SEND_ONLY 0 8B"]);
    look(&lab.frames[0], |packet| assert_eq!(packet.ext.xrceth.srqn, SRQN));
    assert_eq!(look(&first[0], |packet| packet.payload.to_vec()), pattern(8));
}

#[test]
fn requests_are_not_for_an_initiator() {
    let mut lab = initiator();
    lab.send(req(Opcode::XRC_SEND_ONLY, 0).len(8));
    assert_eq!(lab.counter("drop_unexpected_request"), 1);
    assert_eq!(lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 0, 8), Err(VerbError::Unsupported));
}
