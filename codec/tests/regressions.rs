//! What once went wrong.

mod common;

use common::packet;
use rocespec_codec::field::{Field, Value};
use rocespec_codec::notation::{Region, Scope, parse_pattern};
use rocespec_codec::{Net, RKey, decode, decode_lax, icrc};

#[test]
fn the_icrc_of_longer_options_than_a_header_can_say() {
    let options = [1; 400];
    let mut buffer = [0; 64];
    let mut packet = packet("RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE 4B", &Scope::default(), &mut buffer);
    let Net::V4(ip) = &mut packet.net else { panic!("not IPv4") };
    ip.options = &options;
    let before = icrc::compute(&packet);
    packet.ext.immdt.0 ^= 1;
    assert_ne!(icrc::compute(&packet), before);
}

#[test]
fn a_field_that_the_opcode_does_not_have_is_not_set() {
    let mut buffer = [0; 64];
    let mut swap = packet("COMPARE_SWAP", &Scope::default(), &mut buffer);
    let before = swap.clone();
    assert_eq!((Field::named("add").unwrap().set)(&mut swap, Value::Uint(1)), None);
    assert_eq!(swap, before);
}

#[test]
fn an_expectation_needs_no_room_for_the_names_of_its_regions() {
    let regions = [Region { name: "mr", va: 0x1000, len: 8, rkey: RKey::new(1) }];
    let scope = Scope { regions: &regions, ..Scope::default() };
    let pattern = parse_pattern("RDMA_READ_REQUEST va=mr", &scope, &mut []).unwrap();
    let mut buffer = [0; 64];
    let packet = packet("RDMA_READ_REQUEST va=mr+4", &scope, &mut buffer);
    assert_eq!(pattern.mismatch(&packet).unwrap().to_string(), "expected va=0x1000, saw va=0x1004");
}

/// Found by the fuzz target `lax`: the version was named first.
#[test]
fn a_frame_that_ends_in_a_header_of_another_version_has_one_first_error() {
    for (ethertype, version, longest) in [(0x0800u16, 0x60, 40), (0x86dd, 0x40, 60)] {
        for len in 0..longest {
            let mut frame = vec![0; 12];
            frame.extend(ethertype.to_be_bytes());
            frame.resize(14 + len, version);
            let error = decode(&frame).unwrap_err();
            assert_eq!(decode_lax(&frame, frame.len()).problems.first(), Some(&error), "{len} bytes");
        }
    }
}
