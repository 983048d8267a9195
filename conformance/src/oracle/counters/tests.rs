use rocespec_codec::notation::{self, Line};

use super::*;
use crate::ledger::Ledger;
use crate::oracle::tests::{OWN, PEER, ordinary};

/// Lines, `>` to the device and `<` from it.
fn tally(script: &str) -> Tally {
    let mut tally = Tally::default();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (way, text) = line.split_at(1);
        let scope = if way == ">" { ordinary(PEER, OWN) } else { ordinary(OWN, PEER) };
        let mut room = [0; 4096];
        let Ok(Line::Roce(packet)) = notation::parse(text.trim(), &scope, &mut room) else { panic!("{text}") };
        let mut frame = vec![0; rocespec_codec::encoded_len(&packet)];
        rocespec_codec::encode(&packet, &mut frame).unwrap();
        match way {
            ">" => tally.came(&frame),
            _ => tally.left(&frame),
        }
    }
    tally
}

/// What is said when these counters moved by so much.
fn wrong(tally: &Tally, moved: &[(&str, u64)]) -> Vec<String> {
    let before: Reading = moved.iter().map(|(name, _)| ((*name).to_owned(), 1000)).collect();
    let after: Reading = moved.iter().map(|(name, by)| ((*name).to_owned(), 1000 + by)).collect();
    compare(&before, &after, tally).into_iter().map(|breach| breach.expected).collect()
}

const EXCHANGE: &str = "
    > SEND_ONLY psn=0 ack
    < ACK psn=0 msn=1
    > SEND_ONLY psn=2 ack
    > SEND_ONLY psn=3 ack ip.ecn=ce
    < NAK psn=1 msn=1 code=psn_sequence_error
    < CNP
    > SEND_ONLY psn=1 ack icrc=bad
    > CNP
    < RNR_NAK psn=1 msn=1 timer=0.64ms
    > RNR_NAK psn=5 msn=0 timer=0.64ms";

#[test]
fn right_counters_are_right() {
    let tally = tally(EXCHANGE);
    let right = [
        ("sent_pkts", 4),
        ("rcvd_pkts", 5),
        ("out_of_seq_request", 2),
        ("out_of_sequence", 1),
        ("send_rnr_err", 1),
        ("rcvd_rnr_err", 1),
        ("np_cnp_sent", 1),
        ("np_ecn_marked_roce_packets", 1),
        ("rp_cnp_handled", 1),
        ("rx_icrc_encapsulated", 1),
        ("duplicate_request", 0),
        ("frames_received", 6),
        ("of_somebody_else", 77),
    ];
    assert_eq!(wrong(&tally, &right), [""; 0]);
    // What came may be dropped before it is counted.
    assert_eq!(wrong(&tally, &[("rcvd_pkts", 0), ("np_ecn_marked_roce_packets", 0), ("rp_cnp_handled", 0)]), [""; 0]);
}

#[test]
fn each_disagreement_is_told_with_both_numbers() {
    let tally = tally(EXCHANGE);
    for (name, by, expected) in [
        ("sent_pkts", 5, "counter sent_pkts up by 4, RoCE packets that it sent"),
        ("sent_pkts", 3, "counter sent_pkts up by 4, RoCE packets that it sent"),
        (
            "np_cnp_sent",
            2,
            "counter np_cnp_sent up by 0 to 1, CNPs that it sent, but for one with each of the NAKs for a PSN sequence error",
        ),
        ("cnp_sent", 0, "counter cnp_sent up by 1, CNPs that it sent"),
        (
            "tx_vport_rdma_unicast_packets",
            5,
            "counter tx_vport_rdma_unicast_packets up by 0 to 4, at most the RoCE packets to one station that it sent",
        ),
        ("rp_cnp_handled", 2, "counter rp_cnp_handled up by 0 to 1, at most the CNPs that came"),
        (
            "out_of_seq_request",
            0,
            "counter out_of_seq_request up by 1 to 4, the requests that came, at least those answered by NAKs for a PSN sequence error",
        ),
    ] {
        assert_eq!(wrong(&tally, &[(name, by)]), [expected], "{name} up by {by}");
    }
    let rule = Ledger::embedded().get(RULE).expect("the rule stands in the ledger");
    assert_eq!(rule.level, Level::Should);
}

#[test]
fn a_cnp_with_a_nak_may_be_counted_elsewhere_and_one_for_a_mark_not() {
    let with_nak = tally(EXCHANGE);
    assert_eq!(wrong(&with_nak, &[("np_cnp_sent", 0)]), [""; 0]);
    let marked = tally("> SEND_ONLY psn=0 ack ip.ecn=ce\n< ACK psn=0 msn=1\n< CNP");
    assert_eq!(wrong(&marked, &[("np_cnp_sent", 1)]), [""; 0]);
    assert_eq!(wrong(&marked, &[("np_cnp_sent", 0)]).len(), 1);
}

#[test]
fn what_cannot_be_decoded_may_have_been_a_packet() {
    let mut tally = tally("< ACK psn=0 msn=1");
    tally.left(&[0; 60]);
    assert_eq!(wrong(&tally, &[("sent_pkts", 1)]), [""; 0]);
    assert_eq!(wrong(&tally, &[("sent_pkts", 2)]), [""; 0]);
    assert_eq!(wrong(&tally, &[("sent_pkts", 3)]).len(), 1);
}

#[test]
fn a_counter_that_began_anew_or_was_not_there_says_nothing() {
    let reading = |count: u64| Reading::from([("sent_pkts".to_owned(), count)]);
    let tally = tally("< ACK psn=0 msn=1");
    assert_eq!(compare(&reading(10), &reading(1), &tally), []);
    assert_eq!(compare(&Reading::new(), &reading(9), &tally), []);
    assert_eq!(compare(&reading(10), &reading(12), &tally).len(), 1);
}

#[test]
fn names_are_there_once() {
    let mut names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KNOWN.len());
}
