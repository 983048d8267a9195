use rocespec_codec::Opcode;

use crate::harness::{Req, lab, lab_with, req};

fn compare_swap(psn: u32, compare: u64, swap: u64) -> Req {
    req(Opcode::RC_COMPARE_SWAP, psn).atomic(8, swap, compare)
}

#[test]
fn compare_and_swap_swaps_when_equal_and_returns_what_was_there() {
    let mut lab = lab();
    lab.set_memory(8, &7u64.to_le_bytes());
    assert_eq!(lab.send(compare_swap(0, 6, 1)), ["ATOMIC 0 msn=1 0x7"]);
    assert_eq!(lab.memory(8, 8), 7u64.to_le_bytes());
    assert_eq!(lab.send(compare_swap(1, 7, 1)), ["ATOMIC 1 msn=2 0x7"]);
    assert_eq!(lab.memory(8, 8), 1u64.to_le_bytes());
}

#[test]
fn fetch_and_add_adds_modulo_2_to_the_64() {
    let mut lab = lab();
    lab.set_memory(8, &u64::MAX.to_le_bytes());
    let add = req(Opcode::RC_FETCH_ADD, 0).atomic(8, 3, 0);
    assert_eq!(lab.send(add), ["ATOMIC 0 msn=1 0xffffffffffffffff"]);
    assert_eq!(lab.memory(8, 8), 2u64.to_le_bytes());
}

#[test]
fn an_address_that_is_no_multiple_of_8_is_invalid() {
    let mut lab = lab();
    assert_eq!(lab.send(req(Opcode::RC_FETCH_ADD, 0).atomic(4, 1, 0)), ["NAK 0 msn=0 invalid_request"]);
    assert_eq!(lab.memory(0, 16), [0; 16]);
}

#[test]
fn an_address_outside_the_region_is_an_access_error() {
    assert_eq!(lab().send(req(Opcode::RC_FETCH_ADD, 0).atomic(4096, 1, 0)), ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn a_queue_pair_that_granted_no_atomics_refuses_them() {
    let mut lab = lab_with(|options| options.attributes.max_dest_rd_atomic = Some(0));
    assert_eq!(lab.send(compare_swap(0, 0, 1)), ["NAK 0 msn=0 invalid_request"]);
}

#[test]
fn the_response_does_not_depend_on_the_ack_bit() {
    assert_eq!(lab().send(compare_swap(0, 0, 1).no_ack()), ["ATOMIC 0 msn=1 0x0"]);
}
