//! FLUSH.

use rocespec_codec::Opcode;
use rocespec_model::{Access, Capabilities, QpState};

use crate::harness::{Options, Req, lab, lab_with, req};

fn flush(psn: u32) -> Req {
    req(Opcode::RC_FLUSH, psn).to(0, 64).flush(0, 1)
}

fn write(psn: u32) -> Req {
    req(Opcode::RC_RDMA_WRITE_ONLY, psn).to(0, 8).len(8)
}

#[test]
fn is_answered_by_an_empty_read_response_and_counts_as_a_message() {
    let mut lab = lab();
    let lines = lab.send_all([write(0), flush(1), write(2)]);
    assert_eq!(lines, ["ACK 0 msn=1", "ONLY 1 msn=2 0B", "ACK 2 msn=3"]);
    assert_eq!(lab.memory(0, 8), crate::harness::pattern(8));
}

#[test]
fn is_an_undefined_opcode_where_it_is_not_served() {
    let mut lab = lab_with(|options| options.capabilities = Capabilities { flush: false, atomic_write: true });
    assert_eq!(lab.send(flush(0)), ["NAK 0 msn=0 invalid_request"]);
    assert_eq!(lab.state(), QpState::Error);
}

#[test]
fn a_duplicate_is_answered_again() {
    let mut lab = lab();
    assert_eq!(lab.send_all([flush(0), write(1), flush(0)]), ["ONLY 0 msn=1 0B", "ACK 1 msn=2", "ONLY 0 msn=2 0B"]);
}

#[test]
fn a_duplicate_that_is_forgotten_is_dropped() {
    let mut lab = lab_with(|options| options.attributes.max_dest_rd_atomic = Some(1));
    lab.send_all([flush(0), flush(1)]);
    lab.assert_dropped(flush(0), "drop_duplicate");
    assert_eq!(lab.send(flush(1)), ["ONLY 1 msn=2 0B"]);
}

#[test]
fn the_ack_of_a_duplicate_in_front_of_it_stays_in_front_of_it() {
    let mut lab = lab();
    assert_eq!(lab.send_all([write(0), flush(1), write(0)])[2], "ACK 0 msn=2");
}

#[test]
fn waits_for_the_responses_of_reads_before_it() {
    let mut lab = lab();
    let read = req(Opcode::RC_RDMA_READ_REQUEST, 0).to(0, 600);
    let lines = lab.burst([read, flush(3), write(4)]);
    assert_eq!(lines[3..], ["ONLY 3 msn=2 0B", "ACK 4 msn=3"]);
}

#[test]
fn a_payload_makes_it_an_invalid_request() {
    assert_eq!(lab().send(flush(0).len(4)), ["NAK 0 msn=0 invalid_request"]);
}

#[test]
fn needs_the_region_to_grant_each_placement_that_it_asks_for() {
    let both = Access::FLUSH_GLOBAL | Access::FLUSH_PERSISTENT;
    let granted = |region: Access, placement| {
        let mut lab = lab_with(|options: &mut Options| {
            options.region_access = region;
            options.attributes.access = Some(both);
        });
        lab.send(flush(0).flush(0, placement)) == ["ONLY 0 msn=1 0B"]
    };
    assert!(granted(Access::FLUSH_GLOBAL, 1) && granted(Access::FLUSH_PERSISTENT, 2) && granted(both, 3));
    assert!(!granted(Access::FLUSH_GLOBAL, 2) && !granted(Access::FLUSH_PERSISTENT, 1));
    assert!(!granted(Access::FLUSH_GLOBAL, 3) && !granted(Access::FLUSH_PERSISTENT, 3));
    let mut lab = lab_with(|options| options.attributes.access = Some(both));
    assert_eq!(lab.send(flush(0).flush(0, 2)), ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn needs_the_queue_pair_to_grant_the_placement() {
    let mut lab = lab_with(|options| {
        options.region_access = Access::FLUSH_GLOBAL | Access::FLUSH_PERSISTENT;
        options.attributes.access = Some(Access::FLUSH_GLOBAL);
    });
    assert_eq!(lab.send(flush(0)), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab.send(flush(1).flush(0, 2)), ["NAK 1 msn=1 invalid_request"]);
}

#[test]
fn of_a_range_needs_the_region_to_hold_it() {
    assert_eq!(lab().send(flush(0).to(4096 - 64, 64)), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab().send(flush(0).to(4096 - 63, 64)), ["NAK 0 msn=0 remote_access_error"]);
    assert_eq!(lab().send(flush(0).to(-1, 1)), ["NAK 0 msn=0 remote_access_error"]);
    assert_eq!(lab().send(flush(0).to(0, 1 << 31)), ["NAK 0 msn=0 invalid_request"]);
}

#[test]
fn of_the_whole_region_does_not_look_at_address_and_length() {
    assert_eq!(lab().send(flush(0).to(0x9000, u32::MAX).flush(1, 1)), ["ONLY 0 msn=1 0B"]);
    assert_eq!(lab().send(flush(0).keyed(0, 0, 0xdead).flush(1, 1)), ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn without_placement_or_of_a_reserved_selectivity_is_an_invalid_request() {
    for (selectivity, placement) in [(0, 0), (0, 4), (2, 1), (3, 1)] {
        let lines = lab().send(flush(0).flush(selectivity, placement));
        assert_eq!(lines, ["NAK 0 msn=0 invalid_request"], "{selectivity} {placement}");
    }
    assert_eq!(lab().send(flush(0).flush(0xff << 2, 0xd)), ["ONLY 0 msn=1 0B"], "reserved bits are ignored");
}

#[test]
fn needs_resources_as_a_read_does() {
    let mut lab = lab_with(|options| options.attributes.max_dest_rd_atomic = Some(0));
    assert_eq!(lab.send(flush(0)), ["NAK 0 msn=0 invalid_request"]);
}

#[test]
fn may_not_come_in_the_middle_of_a_message() {
    let mut lab = lab();
    lab.send(req(Opcode::RC_SEND_FIRST, 0).len(crate::harness::MTU));
    assert_eq!(lab.send(flush(1)), ["NAK 1 msn=0 invalid_request"]);
}
