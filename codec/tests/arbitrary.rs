//! What the feature `arbitrary` promises to fuzzers of other parsers.
#![cfg(feature = "arbitrary")]

mod common;

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use common::{encoded, roce, vectors};
use proptest::collection::vec;
use proptest::prelude::*;
use rocespec_codec::arbitrary::{
    FAULTS, Fault, NearlyWellFormed, Network, WellFormed, mutate, ordinary, payload_lengths,
};
use rocespec_codec::field::{FIELDS, Ordinary};
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{Frame, Opcode, Roce, decode, icrc};

/// Everything in it is as its sender should have made it.
fn assert_right(bytes: &[u8]) {
    let packet = roce(bytes);
    let line = print(&packet, &Scope::default()).to_string();
    assert!(icrc::verify(&packet), "{line}");
    let info = packet.bth.opcode.info().unwrap();
    let len = packet.payload.len();
    assert!([256, 512, 1024, 2048, 4096].iter().any(|mtu| info.payload.allows(len, *mtu)), "{line}");
    for field in FIELDS {
        let Some(value) = (field.get)(&packet) else { continue };
        if let Ordinary::Derived(right) = field.ordinary
            && field.name != "len"
        {
            assert_eq!(value, right(&packet), "{field:?} of {line}");
        }
    }
    assert!(!["tver=", "resv", "syndrome="].iter().any(|word| line.contains(word)), "{line}");
}

fn every_ordinary(mut look: impl FnMut(&Roce<'_>)) {
    let bytes: Vec<u8> = (0..=255).collect();
    for &opcode in Opcode::DEFINED {
        for network in Network::ALL {
            for &len in payload_lengths(opcode) {
                look(&ordinary(opcode, network, &bytes[..len]));
            }
        }
    }
}

#[test]
fn ordinary_packets_are_right_in_everything() {
    every_ordinary(|packet| assert_right(&encoded(packet)));
}

#[test]
fn every_fault_has_a_packet_that_can_have_it_and_changes_it() {
    let mut seen = BTreeSet::new();
    every_ordinary(|packet| {
        for fault in FAULTS {
            if let Some(wrong) = fault.apply(packet) {
                seen.insert(fault.name);
                assert_ne!(wrong, encoded(packet), "{}", fault.name);
            }
        }
    });
    let mut tagged = ordinary(Opcode::RC_SEND_ONLY, Network::V4, &[]);
    tagged.eth.tags.push(rocespec_codec::Tag { tpid: 0x8100, tci: 5 });
    seen.extend(Fault::named("tag-unknown").and_then(|fault| fault.apply(&tagged)).map(|_| "tag-unknown"));
    let missing: Vec<_> = FAULTS.iter().map(|fault| fault.name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_fault_leaves_the_rest_right() {
    let bytes = [7; 14];
    for network in Network::ALL {
        let packet = ordinary(Opcode::RC_RDMA_WRITE_ONLY, network, &bytes);
        // Another length of the packet puts all behind it in another place.
        for fault in FAULTS.iter().filter(|fault| !fault.name.starts_with("ip-length")) {
            let Some(wrong) = fault.apply(&packet) else { continue };
            let Ok(Frame::Roce(seen)) = decode(&wrong) else { continue };
            // The length of the message is a claim that nothing depends on.
            let is_off = |field: &&rocespec_codec::field::Field| match field.ordinary {
                Ordinary::Derived(right) if field.name != "len" => (field.get)(&seen) != Some(right(&seen)),
                _ => false,
            };
            let off = FIELDS.iter().filter(|field| (field.get)(&seen).is_some()).filter(is_off).count();
            // The pad is told twice: by its count and by its bytes.
            assert!(off <= 1 + usize::from(fault.name.starts_with("pad")), "{} {network:?}: {off}", fault.name);
        }
    }
}

#[test]
fn names_of_faults_are_their_own() {
    let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), FAULTS.len());
    assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
    assert!(FAULTS.last().unwrap().apply(&ordinary(Opcode::RC_ACKNOWLEDGE, Network::V1, &[])).is_some());
}

/// One frame after many mutations, each judged.
fn mutated(start: &[u8], seeds: std::ops::Range<u32>, mut look: impl FnMut(&[u8])) {
    let mut data = vec![0; 2048];
    data[..start.len()].copy_from_slice(start);
    let mut size = start.len();
    for seed in seeds {
        size = mutate(&mut data, size, 2048, seed);
        look(&data[..size]);
    }
}

#[test]
fn three_mutants_of_four_have_the_right_icrc() {
    let (mut all, mut right) = (0, 0);
    for vector in vectors() {
        mutated(&vector.frame, 0..400, |frame| {
            all += 1;
            right += usize::from(matches!(decode(frame), Ok(Frame::Roce(packet)) if icrc::verify(&packet)));
        });
    }
    assert!(right * 100 > all * 60 && right * 100 < all * 90, "{right} of {all}");
}

#[test]
fn mutants_reach_every_opcode_over_every_network() {
    let (mut opcodes, mut networks) = (BTreeSet::new(), BTreeSet::new());
    mutated(&vectors()[0].frame, 0..6000, |frame| {
        if let Ok(Frame::Roce(packet)) = decode(frame) {
            opcodes.insert(packet.bth.opcode);
            networks.insert((packet.eth.ethertype, packet.eth.tags.len()));
        }
    });
    let missing: Vec<_> = Opcode::DEFINED.iter().filter(|opcode| !opcodes.contains(opcode)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(networks.len(), 9);
}

proptest! {
    #[test]
    fn well_formed_packets_are_right_in_everything(choices in vec(any::<u8>(), 0..600)) {
        if let Ok(packet) = WellFormed::arbitrary(&mut Unstructured::new(&choices)) {
            assert_right(packet.bytes());
            prop_assert_eq!(&encoded(&packet.packet()), packet.bytes());
        }
    }

    #[test]
    fn nearly_well_formed_packets_have_something_wrong(choices in vec(any::<u8>(), 0..600)) {
        if let Ok(packet) = NearlyWellFormed::arbitrary(&mut Unstructured::new(&choices)) {
            prop_assert!(Fault::named(packet.fault().name).is_some());
            prop_assert!(packet.bytes().len() < 5000);
        }
    }

    #[test]
    fn any_bytes_can_be_mutated_within_any_size(
        mut data in vec(any::<u8>(), 0..200),
        size in 0..220usize,
        max in 0..220usize,
        seed in any::<u32>(),
    ) {
        let (mut again, before) = (data.clone(), data.clone());
        let len = mutate(&mut data, size, max, seed);
        prop_assert!(len <= max && len <= data.len());
        prop_assert_eq!(mutate(&mut again, size, max, seed), len);
        prop_assert_eq!(&again, &data);
        prop_assert_eq!(&data[len..], &before[len..], "bytes behind the frame are left alone");
    }
}
