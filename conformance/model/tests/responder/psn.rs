use rocespec_codec::Opcode;

use crate::harness::{Req, lab, lab_with, req};

fn send(psn: u32) -> Req {
    req(Opcode::RC_SEND_ONLY, psn).len(8)
}

#[test]
fn a_gap_is_answered_by_one_nak_that_names_what_is_missing() {
    let mut lab = lab();
    assert_eq!(lab.send_all([send(0), send(2), send(3), send(9)]), ["ACK 0 msn=1", "NAK 1 msn=1 psn_sequence_error"]);
    assert_eq!(lab.completions().len(), 1);
}

#[test]
fn after_the_missing_packet_a_second_gap_gets_its_own_nak() {
    let mut lab = lab();
    let answers = lab.send_all([send(1), send(0), send(2)]);
    assert_eq!(answers, ["NAK 0 msn=0 psn_sequence_error", "ACK 0 msn=1", "NAK 1 msn=1 psn_sequence_error"]);
}

#[test]
fn psns_continue_at_zero_after_the_largest() {
    let mut lab = lab_with(|options| options.start_psn = 0xff_fffe);
    assert_eq!(lab.send_all([send(0), send(1), send(2)]), ["ACK 0 msn=1", "ACK 1 msn=2", "ACK 2 msn=3"]);
    assert_eq!(lab.send(send(1)), ["ACK 2 msn=3"]);
}

#[test]
fn a_gap_across_the_wrap_is_a_gap() {
    let mut lab = lab_with(|options| options.start_psn = 0xff_fffe);
    assert_eq!(lab.send(send(5)), ["NAK 0 msn=0 psn_sequence_error"]);
}

#[test]
fn half_the_numbers_lie_behind_and_half_ahead() {
    let mut at_edge = lab();
    assert_eq!(at_edge.send(send(0x7f_ffff)), ["NAK 0 msn=0 psn_sequence_error"]);
    let mut beyond = lab();
    assert_eq!(beyond.send(send(0x80_0000)), ["ACK 16777215 msn=0"]);
}

#[test]
fn a_duplicate_between_a_gap_and_its_repair_changes_nothing() {
    let mut lab = lab();
    let answers = lab.send_all([send(0), send(2), send(0), send(3), send(1)]);
    assert_eq!(answers, ["ACK 0 msn=1", "NAK 1 msn=1 psn_sequence_error", "ACK 0 msn=1", "ACK 1 msn=2"]);
}
