//! Every frame of `fixtures/vectors/icrc.json`, through every door.

mod common;

use common::{encoded, packet, roce, vectors};
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{field, icrc};

#[test]
fn there_are_35_vectors_and_all_of_them_decode() {
    assert_eq!(vectors().len(), 35);
    for vector in vectors() {
        roce(&vector.frame);
    }
}

#[test]
fn their_icrc_is_the_right_one() {
    for vector in vectors() {
        let packet = roce(&vector.frame);
        assert_eq!(packet.icrc.to_le_bytes(), vector.icrc, "{}", vector.name);
        assert_eq!(icrc::compute(&packet).to_le_bytes(), vector.icrc, "{}", vector.name);
        assert!(icrc::verify(&packet), "{}", vector.name);
    }
}

#[test]
fn a_changed_bit_shows_exactly_where_the_icrc_covers_it() {
    for vector in vectors() {
        let packet = roce(&vector.frame);
        let start = packet.eth.len();
        let end = packet.packet_len() - 4;
        for at in start..end {
            let mut frame = vector.frame.clone();
            frame[at] ^= 0x01;
            let Ok(rocespec_codec::Frame::Roce(changed)) = rocespec_codec::decode(&frame) else { continue };
            if changed.ext != packet.ext || changed.bth.opcode != packet.bth.opcode {
                continue;
            }
            let covered = !is_masked(&packet, at - start);
            assert_eq!(!icrc::verify(&changed), covered, "{} byte {at}", vector.name);
        }
    }
}

/// True when the lowest bit of the byte, counted from the network header, is not covered.
fn is_masked(packet: &rocespec_codec::Roce<'_>, at: usize) -> bool {
    let net = packet.net.len();
    let bth = net + packet.udp.map_or(0, |_| 8);
    let of_net: &[usize] = match packet.net {
        rocespec_codec::Net::V4(_) => &[1, 8, 10, 11],
        _ => &[0, 1, 2, 3, 7],
    };
    of_net.contains(&at) || (packet.udp.is_some() && (at == net + 6 || at == net + 7)) || at == bth + 4
}

#[test]
fn they_encode_to_the_same_bytes() {
    for vector in vectors() {
        assert_eq!(encoded(&roce(&vector.frame)), vector.frame, "{}", vector.name);
    }
}

#[test]
fn their_lines_stand_for_the_same_packets() {
    for vector in vectors() {
        let seen = roce(&vector.frame);
        let scope = Scope::default();
        let line = print(&seen, &scope).to_string();
        let mut buffer = [0; 2048];
        assert_eq!(packet(&line, &scope, &mut buffer), seen, "{}: {line}", vector.name);
    }
}

#[test]
fn completing_a_packet_repairs_what_follows_from_the_rest() {
    for vector in vectors() {
        let right = roce(&vector.frame);
        let mut broken = right.clone();
        let kept = ["len", "trailer"];
        for field in field::FIELDS {
            if matches!(field.ordinary, field::Ordinary::Derived(_)) && !kept.contains(&field.name) {
                (field.set)(&mut broken, field::Value::Uint(0));
            }
        }
        field::complete(&mut broken, |field| kept.contains(&field.name));
        assert_eq!(broken, right, "{}", vector.name);
    }
}
