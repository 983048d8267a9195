//! Random packets out and back in: as bytes, and as lines.

mod common;

use common::spec::{Spec, spec};
use common::{encoded, packet, roce};
use proptest::prelude::*;
use rocespec_codec::field::complete;
use rocespec_codec::notation::{Region, Scope, parse_pattern, print};
use rocespec_codec::{Psn, RKey, build, encode, encoded_len, icrc};

proptest! {
    #[test]
    fn bytes_stand_for_the_packet_that_was_encoded(spec in spec()) {
        let packet = spec.decodable();
        let bytes = encoded(&packet);
        prop_assert_eq!(&roce(&bytes), &packet);
        prop_assert_eq!(bytes.len(), encoded_len(&packet));
        let mut short = vec![0; bytes.len() - 1];
        prop_assert!(encode(&packet, &mut short).is_err());
    }

    #[test]
    fn a_line_stands_for_the_packet_that_was_printed(spec in spec()) {
        comes_back(&spec, &Scope::default())?;
    }

    #[test]
    fn a_line_stands_for_the_packet_in_any_scope(spec in spec(), base in spec_base(), places in regions()) {
        let names = ["mr", "other", "mr", "not a name", "_3"];
        let regions: Vec<Region<'_>> =
            names.iter().zip(places).map(|(name, (va, len, rkey))| Region { name, va, len, rkey: RKey::new(rkey) }).collect();
        comes_back(&spec, &Scope { base: base.base(), regions: &regions })?;
    }

    #[test]
    fn a_printed_packet_is_expected_to_be_itself(spec in spec(), base in spec_base()) {
        let scope = Scope { base: base.base(), regions: &[] };
        let packet = spec.packet();
        for line in [print(&packet, &scope).to_string(), print(&packet, &scope).elided().to_string()] {
            let mut buffer = vec![0; 4096];
            let pattern = parse_pattern(&line, &scope, &mut buffer).map_err(|error| TestCaseError::fail(format!("{line}: {error}")))?;
            prop_assert!(pattern.same_kind(&packet));
            let wrong: Vec<String> = pattern.wrong_fields(&packet).map(|wrong| wrong.to_string()).collect();
            prop_assert!(wrong.is_empty(), "{}: {:?}", line, wrong);
        }
    }

    #[test]
    fn the_icrc_over_the_bytes_is_that_of_the_packet(spec in spec()) {
        let bytes = encoded(&spec.decodable());
        let packet = roce(&bytes);
        prop_assert_eq!(icrc::compute_in(&bytes, &packet), icrc::compute(&packet));
        prop_assert_eq!(icrc::verify_in(&bytes, &packet), icrc::verify(&packet));
        // Not its frame: no right answer, but an answer.
        for len in 0..bytes.len().min(70) {
            icrc::compute_in(&bytes[..len], &packet);
        }
    }

    #[test]
    fn to_build_is_to_complete_and_to_encode(spec in spec()) {
        let mut built = spec.packet();
        let mut completed = built.clone();
        complete(&mut completed, |_| false);
        let bytes = encoded(&completed);
        let mut buffer = vec![0; bytes.len()];
        prop_assert_eq!(build(&mut built, &mut buffer).unwrap(), &bytes[..]);
        prop_assert_eq!(built, completed);
    }

    #[test]
    fn sequence_numbers_keep_their_distance(start: u32, count in 0..0x80_0000u32) {
        let start = Psn::new(start);
        prop_assert_eq!(start.plus(count).since(start), count as i32);
        prop_assert_eq!(start.minus(count).since(start), -(count as i32));
        prop_assert_eq!(start.plus(count).minus(count), start);
        prop_assert!(start.plus(count).is_within(start, count + 1));
        prop_assert!(!start.plus(count).is_within(start, count));
    }

    #[test]
    fn what_routers_may_change_is_outside_of_the_icrc(spec in spec(), tos: u8, ttl: u8, byte: u8, checksum: u16) {
        use rocespec_codec::Net;
        let mut packet = spec.decodable();
        let before = icrc::compute(&packet);
        match &mut packet.net {
            Net::V4(ip) => (ip.tos, ip.ttl, ip.checksum) = (tos, ttl, checksum),
            Net::V6(ip) | Net::Grh(ip) => (ip.traffic_class, ip.hop_limit, ip.flow_label) = (tos, ttl, checksum.into()),
        }
        if let Some(udp) = &mut packet.udp {
            udp.checksum = checksum;
        }
        (packet.bth.fecn, packet.bth.becn, packet.bth.resv6) = (byte & 0x80 != 0, byte & 0x40 != 0, byte & 0x3f);
        prop_assert_eq!(icrc::compute(&packet), before);
    }
}

fn spec_base() -> impl Strategy<Value = Spec> {
    spec()
}

/// Addresses and keys that random packets are likely to hit, with some that they are not.
fn regions() -> impl Strategy<Value = [(u64, u64, u32); 5]> {
    let va = prop_oneof![0..0x40u64, Just(u64::MAX), Just(u64::MAX - 0x20), any::<u64>()];
    let len = prop_oneof![0..0x100u64, Just(u64::MAX), any::<u64>()];
    let rkey = prop_oneof![0..0x40u32, Just(u32::MAX), Just(u32::MAX - 1), any::<u32>()];
    let place = (va, len, rkey);
    [place.clone(), place.clone(), place.clone(), place.clone(), place]
}

fn comes_back(spec: &Spec, scope: &Scope<'_>) -> Result<(), TestCaseError> {
    let seen = spec.packet();
    for line in [print(&seen, scope).to_string(), print(&seen, scope).absolute().to_string()] {
        let mut buffer = vec![0; encoded_len(&seen)];
        prop_assert_eq!(&packet(&line, scope, &mut buffer), &seen, "{}", line);
    }
    Ok(())
}
