//! The UC responder.

use rocespec_codec::{Opcode, RKey};
use rocespec_model::{Access, Interruption, QpKind, QpState};

use crate::harness::{Lab, MTU, Options, Req, lab_with, pattern, req};

fn uc() -> Lab {
    lab_with(|options| options.kind = QpKind::Uc)
}

fn uc_with(change: impl FnOnce(&mut Options)) -> Lab {
    lab_with(|options| {
        options.kind = QpKind::Uc;
        change(options);
    })
}

fn only(psn: u32) -> Req {
    req(Opcode::UC_SEND_ONLY, psn).len(8)
}

fn first(psn: u32) -> Req {
    req(Opcode::UC_SEND_FIRST, psn).len(MTU)
}

fn middle(psn: u32) -> Req {
    req(Opcode::UC_SEND_MIDDLE, psn).len(MTU)
}

fn last(psn: u32) -> Req {
    req(Opcode::UC_SEND_LAST, psn).len(4)
}

fn write(psn: u32, offset: i64) -> Req {
    req(Opcode::UC_RDMA_WRITE_ONLY, psn).to(offset, 8).len(8)
}

/// Sends and gives the receives that completed, with the bytes that they got.
fn received(lab: &mut Lab, requests: impl IntoIterator<Item = Req>) -> Vec<(u64, u32)> {
    for request in requests {
        assert_eq!(lab.send(request), [""; 0], "UC never answers");
    }
    let done = lab.completions();
    assert!(done.iter().all(|completion| completion.status.name() == "success"));
    done.iter().map(|completion| (completion.wr_id, completion.byte_len)).collect()
}

#[test]
fn messages_are_delivered_and_nothing_is_answered() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [only(0), first(1), middle(2), last(3)]), [(0, 8), (1, 516)]);
    assert_eq!(lab.received(1, 256), pattern(MTU));
}

#[test]
fn psns_wrap() {
    let mut lab = uc_with(|options| options.start_psn = 0xff_ffff);
    assert_eq!(received(&mut lab, [first(0), last(1)]), [(0, 260)]);
}

#[test]
fn writes_are_executed_and_immediate_data_takes_a_receive() {
    let mut lab = uc();
    let with_immediate = req(Opcode::UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 1).to(64, 4).len(4).immediate(7);
    assert_eq!(received(&mut lab, [write(0, 0), with_immediate]), [(0, 4)]);
    assert_eq!(lab.memory(0, 8), pattern(8));
    assert_eq!(lab.memory(64, 4), pattern(4));
}

#[test]
fn a_loss_within_a_message_loses_the_message_and_keeps_its_receive() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [first(0), last(2), only(3)]), [(0, 8)]);
}

#[test]
fn the_rest_of_a_broken_message_is_passed_over() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [first(0), middle(2), middle(3), last(4), first(5), last(6)]), [(0, 260)]);
}

#[test]
fn a_loss_between_messages_moves_the_expected_psn() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [only(0), only(5), only(6), first(0x40_0000)]), [(0, 8), (1, 8), (2, 8)]);
    assert_eq!(received(&mut lab, [last(0x40_0001)]), [(3, 260)]);
}

#[test]
fn a_lost_first_packet_loses_its_message() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [middle(1), last(2), only(3)]), [(0, 8)]);
}

#[test]
fn a_psn_from_before_is_a_gap_like_any_other() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [only(0), only(1), only(0), last(1), only(9)]), [(0, 8), (1, 8), (2, 8), (3, 8)]);
}

#[test]
fn a_message_that_begins_within_another_one_is_taken_or_lost() {
    let mut lab = uc();
    assert_eq!(received(&mut lab, [first(0), only(1), only(2)]), [(0, 8), (1, 8)]);
    let mut lab = uc_with(|options| options.policy.uc_interruption = Interruption::Lost);
    assert_eq!(received(&mut lab, [first(0), only(1), only(2)]), [(0, 8)]);
    let mut lab = uc_with(|options| options.policy.uc_interruption = Interruption::Lost);
    assert_eq!(received(&mut lab, [first(0), first(1), last(2), only(3)]), [(0, 8)]);
}

#[test]
fn operations_do_not_change_within_a_message() {
    let mut lab = uc();
    let write_last = req(Opcode::UC_RDMA_WRITE_LAST, 1).len(4);
    assert_eq!(received(&mut lab, [first(0), write_last, last(2), only(3)]), [(0, 8)]);
}

#[test]
fn without_a_receive_a_message_is_lost_as_a_whole() {
    let mut lab = uc_with(|options| options.receives = 0);
    assert_eq!(received(&mut lab, [only(0), first(1)]), []);
    assert_eq!(lab.counter("drop_not_ready"), 2);
    lab.post(7);
    assert_eq!(received(&mut lab, [last(2), only(3)]), [(7, 8)]);
}

#[test]
fn immediate_data_without_a_receive_is_lost() {
    let mut lab = uc_with(|options| options.receives = 0);
    let with_immediate = req(Opcode::UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0).to(0, 4).len(4).immediate(7);
    assert_eq!(received(&mut lab, [with_immediate]), []);
    assert_eq!(lab.memory(0, 4), [0; 4]);
}

#[test]
fn a_write_without_right_costs_its_message_alone() {
    let wrong = [
        req(Opcode::UC_RDMA_WRITE_ONLY, 0).keyed(0, 8, 0xdead).len(8),
        write(0, 4092),
        write(0, -1),
        req(Opcode::UC_RDMA_WRITE_FIRST, 0).to(3840, 512).len(MTU),
    ];
    for request in wrong {
        let mut lab = uc();
        assert_eq!(received(&mut lab, [request, req(Opcode::UC_RDMA_WRITE_LAST, 1).len(MTU), only(2)]), [(0, 8)]);
        assert_eq!(lab.memory(0, 4096), [0; 4096]);
        assert_eq!(lab.state(), QpState::Rtr);
    }
}

#[test]
fn flags_of_region_and_queue_pair_are_kept() {
    for change in [
        |options: &mut Options| options.region_access = Access::REMOTE_READ,
        |options: &mut Options| options.attributes.access = Some(Access::REMOTE_READ),
    ] {
        let mut lab = uc_with(change);
        assert_eq!(received(&mut lab, [write(0, 0), only(1)]), [(0, 8)]);
        assert_eq!(lab.memory(0, 8), [0; 8]);
    }
}

#[test]
fn wrong_lengths_cost_their_message_alone() {
    let wrong = [
        req(Opcode::UC_SEND_FIRST, 0).len(MTU - 4),
        req(Opcode::UC_SEND_ONLY, 0).len(MTU + 4),
        req(Opcode::UC_RDMA_WRITE_ONLY, 0).to(0, 16).len(12),
    ];
    for request in wrong {
        let mut lab = uc();
        assert_eq!(received(&mut lab, [request, last(1), only(2)]), [(0, 8)]);
    }
    let mut lab = uc();
    assert_eq!(received(&mut lab, [first(0), req(Opcode::UC_SEND_LAST, 1), only(2)]), [(0, 8)]);
}

#[test]
fn a_message_that_is_longer_than_its_receive_is_lost_and_the_receive_kept() {
    let mut lab = uc_with(|options| options.receive_len = 300);
    assert_eq!(received(&mut lab, [first(0), middle(1), last(2), only(3)]), [(0, 8)]);
}

#[test]
fn what_uc_does_not_have_is_dropped() {
    let mut lab = uc();
    let read = req(Opcode(0x2c), 0);
    assert_eq!(received(&mut lab, [read, only(1)]), [(0, 8)]);
    assert_eq!(received(&mut lab, [req(Opcode::RC_SEND_ONLY, 2).len(8)]), []);
    assert_eq!(lab.counter("drop_transport_class"), 1);
}

#[test]
fn a_buffer_that_cannot_be_written_stops_the_queue_pair() {
    let mut lab = uc_with(|options| options.receives = 0);
    lab.port.post_receive(lab.qp, 0, lab.mr.handle, 1 << 20, 64).unwrap();
    lab.port.post_receive(lab.qp, 1, lab.inbox.handle, 0, 64).unwrap();
    assert_eq!(lab.send(only(0)), [""; 0]);
    assert_eq!(lab.statuses(), [(0, "loc_prot_err"), (1, "wr_flush_err")]);
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn a_message_that_has_begun_is_flushed_with_the_queue_pair() {
    let mut lab = uc();
    lab.send(first(0));
    lab.modify(crate::harness::to(QpState::Error));
    let statuses = lab.statuses();
    assert_eq!(statuses.len(), 4);
    assert!(statuses.iter().all(|(_, status)| *status == "wr_flush_err"));
}

#[test]
fn keys_of_no_bytes_are_not_looked_at() {
    let mut lab = uc();
    let nothing = req(Opcode::UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0).keyed(0, 0, 0xdead);
    assert_eq!(received(&mut lab, [nothing]), [(0, 0)]);
    assert_ne!(lab.mr.rkey, RKey::new(0xdead));
}
