//! Each mistake that gives a wrong ICRC is found out. The wrong values are made from bytes, by the `crc` crate.

mod common;

use common::{encoded, packet, roce, vectors};
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};
use proptest::prelude::*;
use rocespec_codec::icrc::{Verdict, explain};
use rocespec_codec::notation::Scope;
use rocespec_codec::{Net, Roce, icrc};

const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Eight ones and the bytes that the ICRC covers, masked; and where the BTH begins in them.
fn input(packet: &Roce<'_>) -> (Vec<u8>, usize) {
    let frame = encoded(packet);
    let explanation = explain(packet);
    let mut bytes = frame.clone();
    for mask in explanation.masked.iter() {
        for bit in mask.bits.clone() {
            bytes[bit / 8] |= 0x80 >> (bit % 8);
        }
    }
    let bth = 8 + packet.net.len() + packet.udp.map_or(0, |_| 8);
    ([&[0xff; 8], &bytes[explanation.covered]].concat(), bth)
}

fn with(packet: &Roce<'_>, icrc: u32) -> Verdict {
    let explanation = explain(&Roce { icrc, ..packet.clone() });
    assert_eq!((explanation.found, explanation.expected), (icrc, icrc::compute(packet)));
    explanation.verdict
}

#[test]
fn the_masks_are_those_that_the_right_icrc_has() {
    for vector in vectors() {
        let packet = roce(&vector.frame);
        let explanation = explain(&packet);
        assert_eq!(explanation.verdict, Verdict::Right, "{}", vector.name);
        assert_eq!(input(&packet).0, vector.crc_input, "{}", vector.name);
        assert_eq!(vector.frame[explanation.offset..explanation.offset + 4], vector.icrc);
    }
}

#[test]
fn mistakes_with_the_value() {
    for vector in vectors() {
        let packet = roce(&vector.frame);
        let right = icrc::compute(&packet);
        assert_eq!(with(&packet, right.swap_bytes()), Verdict::Swapped);
        assert_eq!(with(&packet, !right), Verdict::Complemented);
        for value in [0, u32::MAX, 0xdead_beef, 0xefbe_adde, 0xcafe_babe] {
            assert_eq!(with(&packet, value), Verdict::Placeholder);
        }
        assert_eq!(with(&packet, right ^ 1), Verdict::Wrong);
    }
}

#[test]
fn mistakes_with_what_is_covered() {
    for vector in vectors() {
        let packet = roce(&vector.frame);
        let (bytes, bth) = input(&packet);
        let name = &vector.name;
        assert_eq!(with(&packet, CRC32C.checksum(&bytes)), Verdict::Crc32c, "{name}");
        assert_eq!(with(&packet, CRC32.checksum(&bytes[8..])), Verdict::WithoutOnes, "{name}");
        assert_eq!(with(&packet, CRC32.checksum(&bytes[bth..])), Verdict::FromBth, "{name}");
        if !packet.pad.is_empty() {
            let without = CRC32.checksum(&bytes[..bytes.len() - packet.pad.len()]);
            assert_eq!(with(&packet, without), Verdict::WithoutPad, "{name}");
            assert_eq!(with(&packet, without.swap_bytes()), Verdict::WithoutPad, "{name}");
            // Payload, ICRC, pad.
            let mut frame = vector.frame.clone();
            let at = explain(&packet).offset - packet.pad.len();
            frame[at..at + 4].copy_from_slice(&without.to_le_bytes());
            frame[at + 4..at + 4 + packet.pad.len()].fill(0);
            assert_eq!(explain(&roce(&frame)).verdict, Verdict::BeforePad, "{name}");
        }
    }
}

#[test]
fn mistakes_with_the_masks() {
    for line in ["SEND_ONLY 64B ip.ecn=ect0", "SEND_ONLY v6 64B ip.flow=0x12345 ip.dscp=1", "CNP v1 ip.dscp=26"] {
        let mut buffer = [0; 128];
        let packet = packet(line, &Scope::default(), &mut buffer);
        let frame = encoded(&packet);
        let (bytes, _) = input(&packet);
        let masks = explain(&packet).masked;
        let start = packet.eth.len();
        for set in 1u32..1 << masks.len() {
            let mut bytes = bytes.clone();
            let unmasked: Vec<_> = masks.iter().zip(0..).filter(|(_, at)| set >> at & 1 == 1).collect();
            for (mask, _) in &unmasked {
                for bit in mask.bits.clone() {
                    let (at, bit) = (bit / 8, 0x80 >> (bit % 8));
                    let of = at - start + 8;
                    bytes[of] = bytes[of] & !bit | frame[at] & bit;
                }
            }
            let Verdict::Unmasked(found) = with(&packet, CRC32.checksum(&bytes)) else {
                // All masked fields at once are zero in this one, or none of them differs.
                panic!("{line} {set:#b}: {:?}", with(&packet, CRC32.checksum(&bytes)));
            };
            assert!(found.iter().eq(unmasked.iter().map(|(mask, _)| *mask)), "{line} {set:#b}: {found}");
        }
        let mut zeroes = bytes.clone();
        for mask in masks.iter() {
            mask.bits.clone().for_each(|bit| zeroes[bit / 8 - start + 8] &= !(0x80 >> (bit % 8)));
        }
        assert_eq!(with(&packet, CRC32.checksum(&zeroes)), Verdict::ZeroMasked);
    }
}

#[test]
fn people_are_told_in_a_sentence() {
    let said = |line: &str| {
        let mut buffer = [0; 64];
        explain(&packet(line, &Scope::default(), &mut buffer)).to_string()
    };
    assert_eq!(said("SEND_ONLY 13B"), "the ICRC 6c0c69e9 at byte 70 is right");
    assert_eq!(
        said("SEND_ONLY 13B icrc=swapped"),
        "the ICRC e9690c6c at byte 70 should be 6c0c69e9: its bytes are in the opposite order; the low byte comes first"
    );
    assert_eq!(
        said("SEND_ONLY 13B icrc=0xdeadbeef"),
        "the ICRC efbeadde at byte 70 should be 6c0c69e9: it is a placeholder that nobody filled in"
    );
    let mut buffer = [0; 64];
    let mut packet = packet("SEND_ONLY v6 13B", &Scope::default(), &mut buffer);
    let (bytes, _) = input(&packet);
    let mut bytes = bytes;
    bytes[8 + 7] = 64;
    packet.icrc = CRC32.checksum(&bytes);
    assert!(explain(&packet).to_string().ends_with("it covers what is to be taken as ones: ip.ttl"), "{packet:?}");
}

/// The packet from another address, with an ICRC made as that of `packet`.
fn moved<'p>(packet: &Roce<'p>) -> Roce<'p> {
    let mut moved = packet.clone();
    match &mut moved.net {
        Net::V4(ip) => {
            ip.src = [198, 18, 0, 1].into();
            ip.checksum = ip.right_checksum();
        }
        Net::V6(ip) | Net::Grh(ip) => ip.src = "2001:db8::1".parse().unwrap(),
    }
    moved.icrc = icrc::made_alike(packet, &moved);
    moved
}

#[test]
fn a_mistake_is_made_again_in_a_changed_packet() {
    for line in ["SEND_ONLY 13B ip.ecn=ect0", "SEND_ONLY v6 14B ip.flow=0x12345 ip.dscp=1", "CNP v1 ip.dscp=26"] {
        let mut buffer = [0; 128];
        let packet = packet(line, &Scope::default(), &mut buffer);
        let frame = encoded(&packet);
        let (bytes, bth) = input(&packet);
        let start = packet.eth.len();
        let (mut ttl, mut zeroes, mut checksum) = (bytes.clone(), bytes.clone(), bytes.clone());
        for mask in explain(&packet).masked.iter() {
            for bit in mask.bits.clone() {
                let (at, bit) = (bit / 8 - start + 8, 0x80 >> (bit % 8));
                zeroes[at] &= !bit;
                let real = bytes[at] & !bit | frame[at + start - 8] & bit;
                match mask.field {
                    "ip.ttl" => ttl[at] = real,
                    "ip.checksum" => checksum[at] = real,
                    _ => {}
                }
            }
        }
        let right = icrc::compute(&packet);
        let mut values = vec![
            right,
            right.swap_bytes(),
            !right,
            0xdead_beef,
            right ^ 0x10,
            CRC32C.checksum(&bytes),
            CRC32.checksum(&bytes[8..]),
            CRC32.checksum(&bytes[bth..]),
            CRC32.checksum(&ttl),
            CRC32.checksum(&checksum),
            CRC32.checksum(&zeroes),
        ];
        values.push(CRC32.checksum(&bytes[..bytes.len() - packet.pad.len()]));
        for value in values {
            let before = Roce { icrc: value, ..packet.clone() };
            let after = moved(&before);
            assert_eq!(explain(&after).verdict, explain(&before).verdict, "{line} {value:#x}");
        }
        let by = packet.icrc ^ moved(&packet).icrc;
        let damaged = Roce { icrc: right ^ 0x1000, ..packet.clone() };
        assert_eq!(moved(&damaged).icrc, right ^ 0x1000 ^ by, "off by the same bits");
    }
}

proptest! {
    #[test]
    fn any_packet_is_explained(spec in common::spec::spec()) {
        let packet = spec.packet();
        let explanation = explain(&packet);
        prop_assert_eq!(explanation.verdict.is_right(), icrc::verify(&packet));
        prop_assert!(!explanation.to_string().is_empty());
        prop_assert!(!explanation.verdict.name().is_empty());
    }
}
