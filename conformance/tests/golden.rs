//! Packets in normal form, their alignment, and what differs.

use rocespec::golden::{Difference, Exchange, Governed, Packet, Pair, Subject, align, packets};
use rocespec_codec::Psn;
use rocespec_codec::notation::{self, Line, Scope};
use rocespec_model::Time;

/// A packet on a connection that starts at this PSN.
fn from(start: u32, line: &str) -> Packet {
    let mut scope = Scope::default();
    scope.base.bth.psn = Psn::new(start);
    let mut buffer = [0; 4096];
    let Ok(Line::Roce(packet)) = notation::parse(line, &scope, &mut buffer) else { panic!("{line}") };
    Packet::of(&packet, &scope, Time::ZERO)
}

fn list(lines: &[&str]) -> Vec<Packet> {
    lines.iter().map(|line| from(0, line)).collect()
}

fn differences(sent: &[&str], expected: &[&str], seen: &[&str]) -> Vec<Difference> {
    let place = Exchange { sent: list(sent), ..Exchange::default() };
    let mut differences = Vec::new();
    packets(&place, &list(expected), &list(seen), &mut differences);
    differences
}

#[test]
fn numbers_of_a_connection_fall_away() {
    assert!(from(0, "ACK psn=1 msn=2").agrees(&from(0xff_ffff, "ACK psn=1 msn=2")));
    assert!(from(0, "ACK psn=1 msn=2").agrees(&from(0, "ACK psn=1 msn=2 ip.id=0x77")));
    for other in [
        "ACK psn=2 msn=2",
        "ACK psn=1 msn=3",
        "NAK psn=1 msn=2 code=invalid_request",
        "ACK psn=1 msn=2 icrc=bad",
        "ACK psn=1 msn=2 ip.ttl=1",
    ] {
        assert!(!from(0, "ACK psn=1 msn=2").agrees(&from(0, other)), "{other}");
    }
}

#[test]
fn a_packet_finds_its_partner_behind_one_that_is_missing() {
    let left = list(&["ACK psn=0 msn=1", "ACK psn=1 msn=2", "NAK psn=2 msn=2 code=invalid_request"]);
    let right = list(&["ACK psn=1 msn=2", "NAK psn=2 msn=2 code=remote_access_error"]);
    assert_eq!(align(&left, &right), [Pair::Left(0), Pair::Both(1, 0), Pair::Both(2, 1)]);
    assert_eq!(align(&right, &left), [Pair::Right(0), Pair::Both(0, 1), Pair::Both(1, 2)]);
    assert_eq!(align(&left, &[]), [Pair::Left(0), Pair::Left(1), Pair::Left(2)]);
}

#[test]
fn strangers_are_not_paired() {
    let (left, right) = (list(&["ACK psn=5 msn=1"]), list(&["RDMA_READ_RESPONSE_MIDDLE psn=9 64B"]));
    assert_eq!(align(&left, &right).len(), 2);
}

#[test]
fn every_packet_stands_once_in_an_alignment() {
    // Long lists without a common packet, and lists that agree in the middle only.
    let numbered = |psns: std::ops::Range<i32>| -> Vec<Packet> {
        psns.map(|psn| from(0, &format!("SEND_ONLY psn={psn}"))).collect()
    };
    for (left, right) in
        [(numbered(0..40), numbered(20..70)), (numbered(0..1), numbered(5..50)), (numbered(3..9), numbered(3..9))]
    {
        let (mut l, mut r) = (0, 0);
        for pair in align(&left, &right) {
            match pair {
                Pair::Both(one, other) => {
                    assert_eq!((one, other), (l, r));
                    (l, r) = (l + 1, r + 1);
                }
                Pair::Left(one) => {
                    assert_eq!(one, l);
                    l += 1;
                }
                Pair::Right(other) => {
                    assert_eq!(other, r);
                    r += 1;
                }
            }
        }
        assert_eq!((l, r), (left.len(), right.len()));
    }
}

#[test]
fn each_field_that_differs_is_one_difference() {
    let found = differences(&["SEND_ONLY psn=0 ack"], &["ACK psn=0 msn=1"], &["ACK psn=0 msn=2 icrc=bad"]);
    let words: Vec<&str> = found.iter().map(|difference| difference.subject.word()).collect();
    assert_eq!(words, ["msn", "icrc"]);
    assert_eq!(found[0].governed, Governed::Rule("rc.responder.msn".to_owned()));
    assert_eq!(found[1].subject, Subject::Field { name: "icrc", expected: "right".to_owned(), seen: "bad".to_owned() });
}

#[test]
fn one_acknowledgement_stands_for_those_before_it_and_for_no_other() {
    let sent = ["SEND_ONLY psn=0 ack", "SEND_ONLY psn=1 ack"];
    let both = ["ACK psn=0 msn=1", "ACK psn=1 msn=2"];
    let is_free =
        |found: &[Difference]| found.iter().all(|difference| matches!(difference.governed, Governed::Free(_)));
    let fewer = differences(&sent, &both, &both[1..]);
    assert!(fewer.len() == 1 && is_free(&fewer));
    let less = differences(&sent, &both, &both[..1]);
    assert!(less.len() == 1 && !is_free(&less), "the last packet is not acknowledged: {less:?}");
    let unasked = differences(&["SEND_ONLY psn=0"], &[], &both[..1]);
    assert!(unasked.len() == 1 && is_free(&unasked));
    let invented = differences(&["SEND_ONLY psn=0"], &[], &both[1..]);
    assert!(invented.len() == 1 && !is_free(&invented));
}
