//! ATOMIC WRITE.

use rocespec_codec::Opcode;
use rocespec_model::{Access, Capabilities, QpState};

use crate::harness::{Req, lab, lab_with, req};

const DATA: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn atomic_write(psn: u32, offset: i64) -> Req {
    req(Opcode::RC_ATOMIC_WRITE, psn).to(offset, 8).payload(&DATA)
}

#[test]
fn puts_eight_bytes_in_place_and_is_answered_by_an_empty_read_response() {
    let mut lab = lab();
    assert_eq!(lab.send(atomic_write(0, 8)), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab.memory(0, 24), [[0; 8], DATA, [0; 8]].concat());
}

#[test]
fn is_an_undefined_opcode_where_it_is_not_served() {
    let mut lab = lab_with(|options| options.capabilities = Capabilities { flush: true, atomic_write: false });
    assert_eq!(lab.send(atomic_write(0, 0)), ["NAK 0 msn=0 invalid_request"]);
    assert_eq!((lab.memory(0, 8), lab.state()), (vec![0; 8], QpState::Error));
}

#[test]
fn a_duplicate_is_answered_and_not_executed() {
    let mut lab = lab();
    lab.send(atomic_write(0, 0));
    assert_eq!(lab.send(atomic_write(0, 0).payload(&[9; 8])), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab.memory(0, 8), DATA);
}

#[test]
fn an_address_that_is_no_multiple_of_eight_is_an_invalid_request() {
    for offset in 1..8 {
        let mut lab = lab();
        assert_eq!(lab.send(atomic_write(0, offset)), ["NAK 0 msn=0 invalid_request"]);
        assert_eq!(lab.memory(0, 16), [0; 16]);
    }
}

#[test]
fn eight_bytes_are_what_header_and_payload_have_to_say() {
    for (len, payload) in [(8, 4), (8, 12), (8, 0), (4, 8), (16, 8), (0, 8)] {
        let mut lab = lab();
        let lines = lab.send(req(Opcode::RC_ATOMIC_WRITE, 0).to(0, len).len(payload));
        assert_eq!(lines, ["NAK 0 msn=0 invalid_request"], "{len} {payload}");
        assert_eq!(lab.memory(0, 16), [0; 16]);
    }
}

#[test]
fn outside_the_region_it_is_an_access_error() {
    assert_eq!(lab().send(atomic_write(0, 4088)), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab().send(atomic_write(0, 4096)), ["NAK 0 msn=0 remote_access_error"]);
    assert_eq!(lab().send(atomic_write(0, -8)), ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn needs_the_right_to_write_of_region_and_queue_pair() {
    let mut lab = lab_with(|options| options.region_access = Access::REMOTE_READ | Access::REMOTE_ATOMIC);
    assert_eq!(lab.send(atomic_write(0, 0)), ["NAK 0 msn=0 remote_access_error"]);
    let mut lab = lab_with(|options| options.attributes.access = Some(Access::REMOTE_READ));
    assert_eq!(lab.send(atomic_write(0, 0)), ["NAK 0 msn=0 invalid_request"]);
}
