use rocespec_codec::Opcode;
use rocespec_model::QpState;

use crate::harness::{MTU, Req, lab, pattern, req};

#[test]
fn a_message_of_several_packets_arrives_in_one_receive() {
    let mut lab = lab();
    let data = pattern(2 * MTU + 9);
    let answers = lab.send_all([
        req(Opcode::RC_SEND_FIRST, 0).payload(&data[..MTU]),
        req(Opcode::RC_SEND_MIDDLE, 1).payload(&data[MTU..2 * MTU]),
        req(Opcode::RC_SEND_LAST, 2).payload(&data[2 * MTU..]),
    ]);
    assert_eq!(answers, ["ACK 0 msn=0", "ACK 1 msn=0", "ACK 2 msn=1"]);
    assert_eq!(lab.received(0, data.len() as u64), data);
    let [completion] = lab.completions()[..] else { panic!("one completion") };
    assert_eq!((completion.byte_len as usize, completion.kind.name()), (data.len(), "recv"));
}

#[test]
fn a_write_of_several_packets_lands_where_it_was_sent() {
    let mut lab = lab();
    let data = pattern(2 * MTU + 9);
    lab.send_all([
        req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(100, data.len() as u32).payload(&data[..MTU]),
        req(Opcode::RC_RDMA_WRITE_MIDDLE, 1).payload(&data[MTU..2 * MTU]),
        req(Opcode::RC_RDMA_WRITE_LAST, 2).payload(&data[2 * MTU..]),
    ]);
    assert_eq!(lab.memory(100, data.len() as u64), data);
    assert_eq!((lab.memory(99, 1), lab.memory(100 + data.len() as u64, 1)), (vec![0], vec![0]));
    assert!(lab.completions().is_empty());
}

#[test]
fn a_write_without_immediate_takes_no_receive() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 4).len(4));
    assert!(lab.completions().is_empty());
    lab.send(req(Opcode::RC_SEND_ONLY, 1));
    assert_eq!(lab.statuses(), [(0, "success")]);
}

#[test]
fn immediate_data_arrives_unchanged() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_ONLY_WITH_IMMEDIATE, 0).immediate(0xcafe_babe).len(4));
    lab.send(req(Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 1).to(0, 4).immediate(0x0102_0304).len(4));
    let immediates: Vec<_> = lab.completions().iter().map(|completion| completion.immediate).collect();
    assert_eq!(immediates, [Some(0xcafe_babe), Some(0x0102_0304)]);
}

#[test]
fn the_solicited_bit_is_passed_on_where_it_may_stand() {
    let mut lab = lab();
    lab.send_all([
        req(Opcode::RC_SEND_ONLY, 0).bth(|bth| bth.se = true),
        req(Opcode::RC_SEND_FIRST, 1).len(MTU).bth(|bth| bth.se = true),
        req(Opcode::RC_SEND_LAST, 2).len(4),
    ]);
    let solicited: Vec<_> = lab.completions().iter().map(|completion| completion.solicited).collect();
    assert_eq!(solicited, [true, false]);
}

#[test]
fn receives_are_taken_in_the_order_in_which_they_were_posted() {
    let mut lab = lab();
    lab.send_all((0..3).map(|psn| req(Opcode::RC_SEND_ONLY, psn).len(psn as usize)));
    let taken: Vec<_> = lab.completions().iter().map(|completion| (completion.wr_id, completion.byte_len)).collect();
    assert_eq!(taken, [(0, 0), (1, 1), (2, 2)]);
}

#[track_caller]
fn assert_out_of_order(before: &[Req], request: Req) {
    let mut lab = lab();
    lab.send_all(before.iter().cloned());
    let psn = request.bth.psn.get();
    assert_eq!(lab.send(request), [format!("NAK {psn} msn=0 invalid_request")]);
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn a_message_is_not_begun_inside_another() {
    let first = req(Opcode::RC_SEND_FIRST, 0).len(MTU);
    assert_out_of_order(std::slice::from_ref(&first), req(Opcode::RC_SEND_ONLY, 1));
    assert_out_of_order(std::slice::from_ref(&first), req(Opcode::RC_SEND_FIRST, 1).len(MTU));
    assert_out_of_order(std::slice::from_ref(&first), req(Opcode::RC_RDMA_READ_REQUEST, 1).to(0, 4));
    assert_out_of_order(&[first], req(Opcode::RC_FETCH_ADD, 1).atomic(0, 1, 0));
}

#[test]
fn a_message_that_never_began_is_not_continued() {
    assert_out_of_order(&[], req(Opcode::RC_SEND_LAST, 0).len(4));
    assert_out_of_order(&[], req(Opcode::RC_SEND_MIDDLE, 0).len(MTU));
    assert_out_of_order(&[], req(Opcode::RC_RDMA_WRITE_LAST, 0).len(4));
}

#[test]
fn a_message_does_not_change_what_it_is() {
    let first = req(Opcode::RC_SEND_FIRST, 0).len(MTU);
    assert_out_of_order(&[first], req(Opcode::RC_RDMA_WRITE_MIDDLE, 1).len(MTU));
    let first = req(Opcode::RC_RDMA_WRITE_FIRST, 0).to(0, 300).len(MTU);
    assert_out_of_order(&[first], req(Opcode::RC_SEND_LAST, 1).len(44));
}

#[test]
fn undefined_opcodes_are_invalid_requests() {
    // FLUSH and ATOMIC WRITE among them: this responder does not have them.
    for opcode in [0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f] {
        assert_out_of_order(&[], req(Opcode(opcode), 0).len(8));
    }
}
