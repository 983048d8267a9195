use rocespec_codec::Opcode;
use rocespec_model::{DuplicateAck, Policy};

use crate::harness::{MTU, Req, lab, lab_with, pattern, read_data, req};

fn read(psn: u32, offset: i64, len: u32) -> Req {
    req(Opcode::RC_RDMA_READ_REQUEST, psn).to(offset, len)
}

fn add(psn: u32, value: u64) -> Req {
    req(Opcode::RC_FETCH_ADD, psn).atomic(0, value, 0)
}

#[test]
fn a_duplicate_send_is_acknowledged_and_not_delivered() {
    let mut lab = lab();
    let send = req(Opcode::RC_SEND_ONLY, 0).len(8);
    assert_eq!(lab.send_all([send.clone(), send]), ["ACK 0 msn=1", "ACK 0 msn=1"]);
    assert_eq!(lab.completions().len(), 1);
}

#[test]
fn a_duplicate_write_is_acknowledged_and_not_written() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 4).payload(&[1; 4]));
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 4).payload(&[2; 4])), ["ACK 0 msn=1"]);
    assert_eq!(lab.memory(0, 4), [1; 4]);
}

#[test]
fn a_duplicate_is_acknowledged_up_to_the_last_packet() {
    let mut lab = lab();
    lab.send_all((0..3).map(|psn| req(Opcode::RC_SEND_ONLY, psn)));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 2 msn=3"]);
}

#[test]
fn a_duplicate_in_front_of_a_read_does_not_acknowledge_the_read() {
    let mut lab = lab();
    lab.send_all([req(Opcode::RC_SEND_ONLY, 0), req(Opcode::RC_SEND_ONLY, 1), read(2, 0, 8)]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 1 msn=3"]);
}

#[test]
fn the_policy_may_acknowledge_the_duplicate_itself() {
    let policy = Policy { duplicate_ack: DuplicateAck::Own, ack_unasked_duplicates: false, ..Policy::PLAIN };
    let mut lab = lab_with(|options| options.policy = policy);
    lab.send_all((0..3).map(|psn| req(Opcode::RC_SEND_ONLY, psn)));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0)), ["ACK 0 msn=3"]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).no_ack()), [""; 0]);
}

#[test]
fn a_packet_with_a_psn_of_a_read_response_is_a_duplicate() {
    let mut lab = lab();
    lab.send(read(0, 0, 3 * MTU as u32));
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 2)), ["ACK 2 msn=1"]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 3)), ["ACK 3 msn=2"]);
}

#[test]
fn a_duplicate_read_reads_what_is_there_now() {
    let mut lab = lab();
    lab.send(read(0, 0, 4));
    lab.set_memory(0, b"newer");
    lab.frames.clear();
    assert_eq!(lab.send(read(0, 0, 4)), ["ONLY 0 msn=1 4B"]);
    assert_eq!(read_data(&lab.frames), b"newe");
}

#[test]
fn the_tail_of_a_read_may_be_asked_for_again() {
    let mut lab = lab();
    let data = pattern(4 * MTU);
    lab.set_memory(0, &data);
    lab.send(read(0, 0, 4 * MTU as u32));
    lab.frames.clear();
    assert_eq!(lab.send(read(2, 2 * MTU as i64, 2 * MTU as u32)), ["FIRST 2 msn=1 256B", "LAST 3 msn=1 256B"]);
    assert_eq!(read_data(&lab.frames), data[2 * MTU..]);
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 4)), ["ACK 4 msn=2"]);
}

#[test]
fn a_duplicate_read_beyond_the_original_is_dropped() {
    let mut lab = lab();
    lab.send_all([read(0, 256, 512), read(2, 0, 8)]);
    lab.assert_dropped(read(0, 256, 513), "drop_duplicate");
    lab.assert_dropped(read(0, 255, 512), "drop_duplicate");
    lab.assert_dropped(read(1, 256, 256), "drop_duplicate");
    lab.assert_dropped(req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(256, 512, 0xdead), "drop_duplicate");
    let beyond_2_64 = -(lab.mr.va as i64) - 0x400;
    lab.assert_dropped(read(0, beyond_2_64, 0x400), "drop_duplicate");
}

#[test]
fn a_duplicate_read_that_was_forgotten_is_dropped() {
    let mut lab = lab();
    lab.send_all((0..5).map(|psn| read(psn, 0, 8)));
    lab.assert_dropped(read(0, 0, 8), "drop_duplicate");
    assert_eq!(lab.send(read(1, 0, 8)), ["ONLY 1 msn=5 8B"]);
}

#[test]
fn a_duplicate_read_of_nothing_is_answered() {
    let mut lab = lab();
    let nothing = req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(-77, 0, 0xdead_beef);
    assert_eq!(lab.send_all([nothing.clone(), nothing]), ["ONLY 0 msn=1 0B", "ONLY 0 msn=1 0B"]);
}

#[test]
fn a_duplicate_atomic_gives_the_same_result_and_is_not_executed() {
    let mut lab = lab();
    assert_eq!(lab.send_all([add(0, 5), add(1, 5)]), ["ATOMIC 0 msn=1 0x0", "ATOMIC 1 msn=2 0x5"]);
    assert_eq!(lab.send_all([add(0, 5), add(1, 5)]), ["ATOMIC 0 msn=2 0x0", "ATOMIC 1 msn=2 0x5"]);
    assert_eq!(lab.memory(0, 8), 10u64.to_le_bytes());
}

#[test]
fn a_duplicate_atomic_that_was_forgotten_is_dropped() {
    let mut lab = lab();
    lab.send_all((0..5).map(|psn| add(psn, 1)));
    lab.assert_dropped(add(0, 1), "drop_duplicate");
    assert_eq!(lab.memory(0, 8), 5u64.to_le_bytes());
}

#[test]
fn an_undefined_opcode_with_an_old_psn_is_dropped() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_ONLY, 0));
    lab.completions();
    lab.assert_dropped(req(Opcode(0x1f), 0), "drop_duplicate");
}

#[test]
fn nothing_of_a_duplicate_is_checked_as_if_it_were_new() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_ONLY, 0));
    assert_eq!(lab.send(req(Opcode::RC_SEND_LAST, 0).len(7)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(0, 99, 1)), ["ACK 0 msn=1"]);
}
