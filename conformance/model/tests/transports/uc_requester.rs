//! The UC requester.

use rocespec_codec::{Net, Psn};
use rocespec_model::{Completion, QpKind, QpState, SendOperation, SendRequest, VerbError};

use crate::harness::{Lab, MTU, TESTER_QPN, lab_with, look, pattern, req, to};
use crate::sent::{post, request, shape};

fn uc() -> Lab {
    let mut lab = lab_with(|options| (options.kind, options.start_psn) = (QpKind::Uc, 0xff_fffe));
    lab.go();
    lab
}

fn ends(completions: &[Completion]) -> Vec<(&'static str, &'static str)> {
    completions.iter().map(|done| (done.kind.name(), done.status.name())).collect()
}

#[test]
fn a_message_is_cut_at_the_path_mtu() {
    let mtu = MTU as u32;
    for (length, expected) in [
        (0, &["UC_SEND_ONLY 0 0B"][..]),
        (1, &["UC_SEND_ONLY 0 1B"]),
        (mtu, &["UC_SEND_ONLY 0 256B"]),
        (mtu + 1, &["UC_SEND_FIRST 0 256B", "UC_SEND_LAST 1 1B"]),
        (2 * mtu, &["UC_SEND_FIRST 0 256B", "UC_SEND_LAST 1 256B"]),
        (3 * mtu - 1, &["UC_SEND_FIRST 0 256B", "UC_SEND_MIDDLE 1 256B", "UC_SEND_LAST 2 255B"]),
    ] {
        let mut lab = uc();
        let frames = post(&mut lab, request(SendOperation::Send, length));
        assert_eq!(shape(&lab, &frames), expected);
        let data: Vec<u8> = frames.iter().flat_map(|frame| look(frame, |packet| packet.payload.to_vec())).collect();
        assert_eq!(data, pattern(length as usize));
    }
}

#[test]
fn writes_say_where_and_how_long() {
    let mut lab = uc();
    let to_there = SendRequest {
        remote_va: 0x1234,
        rkey: rocespec_codec::RKey::new(5),
        immediate: 0xabcd,
        ..request(SendOperation::RdmaWriteWithImmediate, 300)
    };
    let frames = post(&mut lab, to_there);
    assert_eq!(shape(&lab, &frames), ["UC_RDMA_WRITE_FIRST 0 256B", "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE 1 44B"]);
    look(&frames[0], |packet| {
        let reth = packet.ext.reth;
        assert_eq!((reth.va, reth.rkey.get(), reth.len), (0x1234, 5, 300));
    });
    look(&frames[1], |packet| assert_eq!(packet.ext.immdt.0, 0xabcd));
}

#[test]
fn a_request_completes_when_it_has_left_and_nothing_is_waited_for() {
    let mut lab = uc();
    let frames = post(&mut lab, request(SendOperation::RdmaWrite, 600));
    assert_eq!(ends(&lab.completions()), [("rdma_write", "success")]);
    assert_eq!(lab.port.next_timeout(), None);
    for frame in &frames {
        look(frame, |packet| {
            assert!(!packet.bth.ack_req && packet.bth.dest_qp == TESTER_QPN);
            assert!(matches!(packet.net, Net::V4(_)));
        });
    }
    lab.now = lab.now + std::time::Duration::from_secs(1000);
    assert_eq!(lab.collect(), [""; 0]);
}

#[test]
fn psns_go_on_from_message_to_message() {
    let mut lab = uc();
    for psn in 0..4 {
        let frames = post(&mut lab, request(SendOperation::Send, 0));
        look(&frames[0], |packet| assert_eq!(packet.bth.psn, Psn::new(0xff_fffe).plus(psn)));
    }
}

#[test]
fn a_long_message_needs_no_window() {
    let mut lab = uc();
    let long = SendRequest { mr: lab.inbox.handle, ..request(SendOperation::Send, 1 << 16) };
    lab.port.post_send(lab.qp, &long).unwrap();
    assert_eq!(lab.collect().len(), 256);
    assert_eq!(ends(&lab.completions()), [("send", "success")]);
}

#[test]
fn what_asked_for_no_completion_gets_none() {
    let mut lab = uc();
    let mut quiet = request(SendOperation::Send, 8);
    quiet.flags.signaled = false;
    post(&mut lab, quiet);
    assert_eq!(ends(&lab.completions()), []);
}

#[test]
fn uc_has_sends_and_writes_alone() {
    let mut lab = uc();
    for operation in [
        SendOperation::RdmaRead,
        SendOperation::CompareSwap,
        SendOperation::FetchAdd,
        SendOperation::SendWithInvalidate,
        SendOperation::AtomicWrite,
        SendOperation::Flush,
    ] {
        let request = SendRequest { mr: lab.mr.handle, ..request(operation, 8) };
        assert_eq!(lab.port.post_send(lab.qp, &request), Err(VerbError::Unsupported));
    }
}

#[test]
fn a_request_that_cannot_be_sent_stops_the_send_queue_alone() {
    let mut lab = uc();
    let beyond = SendRequest { wr_id: 1, mr: lab.mr.handle, offset: 4096, ..request(SendOperation::Send, 8) };
    let behind = SendRequest { wr_id: 2, mr: lab.mr.handle, ..request(SendOperation::Send, 8) };
    lab.port.post_send(lab.qp, &beyond).unwrap();
    lab.port.post_send(lab.qp, &behind).unwrap();
    assert_eq!(lab.collect(), [""; 0]);
    assert_eq!(lab.state(), QpState::Sqe);
    lab.port.post_send(lab.qp, &SendRequest { wr_id: 3, ..behind }).unwrap();
    assert_eq!(lab.statuses(), [(1, "loc_prot_err"), (2, "wr_flush_err"), (3, "wr_flush_err")]);

    lab.send(req(rocespec_codec::Opcode::UC_SEND_ONLY, 0).len(8));
    assert_eq!(lab.statuses(), [(0, "success")], "receives go on");

    lab.modify(to(QpState::Rts));
    let frames = post(&mut lab, request(SendOperation::Send, 8));
    assert_eq!(shape(&lab, &frames), ["UC_SEND_ONLY 0 8B"]);
    assert_eq!(lab.statuses(), [(1, "success")]);
}

#[test]
fn two_endpoints_understand_each_other() {
    let mut lab = uc();
    let mut peer = lab_with(|options| (options.kind, options.start_psn) = (QpKind::Uc, 0xff_fffe));
    let frames = post(&mut lab, request(SendOperation::Send, 1000));
    for frame in frames {
        let mut frame = frame;
        look(&frame.clone(), |packet| {
            let mut packet = packet.clone();
            packet.eth.dst = crate::harness::DUT_MAC;
            packet.bth.dest_qp = peer.qpn;
            let Net::V4(ip) = &mut packet.net else { return };
            (ip.src, ip.dst) = (ip.dst, ip.src);
            rocespec_codec::field::complete(&mut packet, |_| false);
            frame = vec![0; rocespec_codec::encoded_len(&packet)];
            rocespec_codec::encode(&packet, &mut frame).unwrap();
        });
        peer.send_frame(&frame);
    }
    assert_eq!(peer.statuses(), [(0, "success")]);
    assert_eq!(peer.received(0, 1000), pattern(1000));
}
