use std::time::Duration;

use rocespec_codec::notation::{self, Line, Scope};
use rocespec_codec::{Opcode, Psn, Roce, Transport};
use rocespec_model::Time;

use super::*;
use crate::ledger::Ledger;

const START: u32 = 0xff_fffe;

fn config(transport: Transport) -> StreamConfig {
    StreamConfig {
        transport,
        mtu: Some(256),
        sends_from: Some(Psn::new(START)),
        expects_from: Some(Psn::new(START)),
        is_whole: true,
        max_rd_atomic: Some(2),
        go_back_n: true,
        ack_timeout: Some(TIMEOUT),
    }
}

const TIMEOUT: Duration = Duration::from_millis(67);

/// Plays lines in the packet notation, `>` to the device and `<` from it, and gives the rules that are broken. Between
/// two lines lies the ACK timeout, or as many milliseconds as a line `wait` says.
fn play(script: &str) -> Vec<&'static str> {
    play_with(config(Transport::Rc), script)
}

fn play_with(config: StreamConfig, script: &str) -> Vec<&'static str> {
    let mut stream = Stream::new(config, Duration::ZERO);
    let mut rules = Vec::new();
    let (mut now, mut pause) = (Time::ZERO, TIMEOUT);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(wait) = line.strip_prefix("wait ") {
            pause = Duration::from_millis(wait.parse().unwrap());
            continue;
        }
        now = now + std::mem::replace(&mut pause, TIMEOUT);
        let (way, text) = line.split_at(1);
        packet(text.trim(), config.transport, |packet| match way {
            ">" => stream.received(now, packet, true),
            _ => rules.extend(stream.sent(now, packet, packet.icrc).iter().map(|breach| breach.rule)),
        });
    }
    for rule in &rules {
        assert!(Ledger::embedded().get(rule).is_some(), "{rule} stands in the ledger");
    }
    rules
}

fn packet(text: &str, transport: Transport, look: impl FnOnce(&Roce<'_>)) {
    let mut scope = Scope::default();
    scope.base.bth.psn = Psn::new(START);
    let mut room = [0; 4096];
    let Ok(Line::Roce(mut packet)) = notation::parse(text, &scope, &mut room) else { panic!("{text}") };
    if transport == Transport::Uc {
        packet.bth.opcode = Opcode(packet.bth.opcode.0 | 0x20);
        rocespec_codec::field::complete(&mut packet, |_| false);
    }
    look(&packet);
}

const NONE: [&str; 0] = [];

#[test]
fn an_ordinary_exchange_breaks_nothing() {
    let exchange = "
        < SEND_FIRST psn=0 256B
        < SEND_LAST psn=1 ack 100B
        > ACK psn=1 msn=1
        < RDMA_READ_REQUEST psn=2 va=0x1000 rkey=1 len=600
        > RDMA_READ_RESPONSE_FIRST psn=2 msn=2 256B
        > SEND_ONLY psn=0 ack 64B
        < ACK psn=0 msn=1
        > RDMA_READ_RESPONSE_MIDDLE psn=3 256B
        > RDMA_READ_RESPONSE_LAST psn=4 msn=2 88B
        > RDMA_READ_REQUEST psn=1 va=0x1000 rkey=1 len=300
        > SEND_ONLY psn=3 ack 64B
        < RDMA_READ_RESPONSE_FIRST psn=1 msn=2 256B
        < RDMA_READ_RESPONSE_LAST psn=2 msn=2 44B
        < ACK psn=3 msn=3
        < FETCH_ADD psn=5 va=0x1000 rkey=1 add=1
        > ATOMIC_ACKNOWLEDGE psn=5 msn=3";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn retransmissions_and_duplicates_are_legal() {
    let exchange = "
        < RDMA_WRITE_FIRST psn=0 va=0x1000 rkey=1 len=300 256B
        < RDMA_WRITE_LAST psn=1 44B
        < SEND_ONLY psn=2 ack 64B
        > NAK psn=0 msn=0 code=psn_sequence_error
        < RDMA_WRITE_FIRST psn=0 va=0x1000 rkey=1 len=300 256B
        < RDMA_WRITE_LAST psn=1 ack 44B
        < RDMA_WRITE_LAST psn=1 44B
        < RDMA_READ_REQUEST psn=3 va=0x1000 rkey=1 len=600
        < RDMA_READ_REQUEST psn=4 va=0x1100 rkey=1 len=344
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=1 ack 64B
        < ACK psn=1 msn=2
        > SEND_ONLY psn=0 64B
        < ACK psn=1 msn=2
        > SEND_ONLY psn=3 64B
        < NAK psn=2 msn=2 code=psn_sequence_error
        > SEND_ONLY psn=2 ack 64B
        < RNR_NAK psn=2 msn=2 timer=0.01ms
        > SEND_ONLY psn=3 64B
        < NAK psn=2 msn=2 code=psn_sequence_error
        > SEND_ONLY psn=2 ack 64B
        < ACK psn=2 msn=3";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn what_the_device_dropped_for_its_own_reasons_is_no_fault() {
    // The READ was for another partition: SENDs take its PSNs instead, and a new READ overlaps nothing.
    let exchange = "
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=1200 pkey=0x1234
        > SEND_ONLY psn=0 ack 4B
        < ACK psn=0 msn=1
        > SEND_ONLY psn=1
        > SEND_ONLY psn=2
        > SEND_ONLY psn=3
        > RDMA_READ_REQUEST psn=4 va=0x1000 rkey=1 len=600
        < RDMA_READ_RESPONSE_FIRST psn=4 msn=5 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=5 256B
        < RDMA_READ_RESPONSE_LAST psn=6 msn=5 88B
        > SEND_ONLY psn=7 ack
        < ACK psn=7 msn=6";
    assert_eq!(play(exchange), NONE);
    // Another READ takes its place.
    let exchange = "
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=64 pkey=0x1234
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=300
        < RDMA_READ_RESPONSE_FIRST psn=0 msn=1 256B
        < RDMA_READ_RESPONSE_LAST psn=1 msn=1 44B
        > SEND_ONLY psn=2 ack
        < ACK psn=2 msn=2";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn new_requests_take_the_next_psn() {
    assert_eq!(play("< SEND_ONLY psn=1 64B"), ["rc.requester.psn-order"]);
    let read = "< RDMA_READ_REQUEST psn=0 rkey=1 va=0 len=257\n";
    assert_eq!(play(&format!("{read}< SEND_ONLY psn=2")), NONE);
    assert_eq!(play(&format!("{read}< SEND_ONLY psn=1")), ["rc.requester.read-psns"]);
    assert_eq!(play(&format!("{read}< SEND_ONLY psn=3")), ["rc.requester.psn-order"]);
    assert_eq!(play_with(config(Transport::Uc), "< SEND_ONLY psn=0\n< SEND_ONLY psn=0"), ["uc.requester.psn-order"]);
}

#[test]
fn a_packet_that_is_sent_again_is_the_same() {
    let first = "< RDMA_WRITE_ONLY psn=0 va=0x1000 rkey=1 len=8 8B=11\n< RDMA_READ_REQUEST psn=1 va=0 rkey=1 len=600\n";
    let again = |line: &str| play(&format!("{first}< {line}"));
    let broken = ["rc.requester.retransmission-unchanged"];
    assert_eq!(again("RDMA_WRITE_ONLY psn=0 va=0x1000 rkey=1 len=8 ack 8B=11"), NONE);
    assert_eq!(again("RDMA_WRITE_ONLY psn=0 va=0x1000 rkey=1 len=8 8B=12"), broken);
    assert_eq!(again("RDMA_WRITE_ONLY psn=0 va=0x1008 rkey=1 len=8 8B=11"), broken);
    assert_eq!(again("SEND_ONLY psn=0 8B=11"), broken);
    assert_eq!(again("RDMA_READ_REQUEST psn=2 va=0x100 rkey=1 len=344"), NONE);
    assert_eq!(again("RDMA_READ_REQUEST psn=2 va=0 rkey=1 len=600"), broken);
    assert_eq!(again("RDMA_READ_REQUEST psn=3 va=0x100 rkey=1 len=88"), broken);
}

#[test]
fn messages_are_first_middles_last_of_the_right_lengths() {
    assert_eq!(play("< SEND_MIDDLE psn=0 256B"), ["rc.requester.segmentation"]);
    assert_eq!(play("< SEND_FIRST psn=0 256B\n< SEND_ONLY psn=1"), ["rc.requester.segmentation"]);
    assert_eq!(play("< SEND_FIRST psn=0 256B\n< RDMA_WRITE_LAST psn=1 1B"), ["rc.requester.segmentation"]);
    assert_eq!(play("< SEND_FIRST psn=0 100B"), ["rc.requester.segmentation"]);
    assert_eq!(play("< SEND_ONLY psn=0 257B"), ["rc.requester.segmentation"]);
    let write = "< RDMA_WRITE_FIRST psn=0 va=0 rkey=1 len=300 256B\n";
    assert_eq!(play(&format!("{write}< RDMA_WRITE_LAST psn=1 45B")), ["rc.requester.write-length"]);
    assert_eq!(play(&format!("{write}< RDMA_WRITE_MIDDLE psn=1 256B")), ["rc.requester.write-length"]);
    assert_eq!(play("< RDMA_WRITE_FIRST psn=0 va=0 rkey=1 len=256 256B"), ["rc.requester.write-length"]);
    assert_eq!(play("< RDMA_WRITE_ONLY psn=0 va=0 rkey=1 len=5 4B"), ["rc.requester.write-length"]);
}

#[test]
fn no_more_reads_are_outstanding_than_agreed() {
    let reads = "< RDMA_READ_REQUEST psn=0 va=0 rkey=1 len=8\n< FETCH_ADD psn=1 va=0 rkey=1\n";
    let third = "< RDMA_READ_REQUEST psn=2 va=0 rkey=1 len=8\n";
    assert_eq!(play(&format!("{reads}{third}")), ["rc.requester.rd-atomic"]);
    assert_eq!(play(&format!("{reads}> RDMA_READ_RESPONSE_ONLY psn=0 msn=1 8B\n{third}")), NONE);
}

#[test]
fn outstanding_psns_stay_below_half_of_all() {
    let huge = |psn: u32| format!("< RDMA_READ_REQUEST psn={psn} va=0 rkey=1 len={}\n", 256u32 << 22);
    let two = format!("{}{}", huge(0), huge(1 << 22));
    assert_eq!(play(&two), ["rc.requester.psn-span"]);
    assert_eq!(play(&huge(0)), NONE);
}

#[test]
fn responses_answer_what_was_received() {
    assert_eq!(play("< ACK psn=0 msn=0"), ["rc.responder.unexpected-response"]);
    let sent = "> SEND_ONLY psn=0 ack\n> SEND_ONLY psn=1 ack\n";
    assert_eq!(play(&format!("{sent}< ACK psn=2 msn=2")), ["rc.responder.unexpected-response"]);
    assert_eq!(play(&format!("{sent}< NAK psn=2 msn=2 code=psn_sequence_error")), NONE);
    assert_eq!(play(&format!("{sent}< NAK psn=3 msn=2 code=psn_sequence_error")), ["rc.responder.unexpected-response"]);
    // What lies behind a gap was dropped.
    assert_eq!(play("> SEND_ONLY psn=1 ack\n< ACK psn=1 msn=0"), ["rc.responder.unexpected-response"]);
    assert_eq!(play(&format!("{sent}< ACK psn=@0x7fffff msn=2")), ["rc.responder.unexpected-response"]);
}

#[test]
fn the_msn_counts_messages_and_never_steps_back() {
    let sent = "> SEND_FIRST psn=0 256B\n> SEND_LAST psn=1 ack 4B\n";
    assert_eq!(play(&format!("{sent}< ACK psn=1 msn=2")), ["rc.responder.msn"]);
    assert_eq!(play(&format!("{sent}< ACK psn=1 msn=1\n< ACK psn=1 msn=0")), ["rc.responder.msn"]);
    assert_eq!(play(&format!("{sent}< ACK psn=1 msn=1\n< ACK psn=1 msn=1")), NONE);
}

#[test]
fn one_nak_per_gap_and_nothing_after_a_fatal_one() {
    let gap = "> SEND_ONLY psn=1\n< NAK psn=0 msn=0 code=psn_sequence_error\n> SEND_ONLY psn=2\n";
    let nak = "< NAK psn=0 msn=0 code=psn_sequence_error";
    assert_eq!(play(&format!("{gap}{nak}")), ["rc.responder.one-nak-per-gap"]);
    let keeps = StreamConfig { go_back_n: false, ..config(Transport::Rc) };
    assert_eq!(play_with(keeps, &format!("{gap}{nak}")), NONE, "selective repeat");
    assert_eq!(play(&format!("{gap}> SEND_ONLY psn=0\n> SEND_ONLY psn=2\n{nak}")), NONE);
    let fatal = "> SEND_ONLY psn=0\n< NAK psn=0 msn=0 code=invalid_request\n";
    assert_eq!(play(&format!("{fatal}> SEND_ONLY psn=0 ack\n< ACK psn=0 msn=1")), ["rc.responder.error-silence"]);
}

#[test]
fn responses_with_data_fit_their_requests() {
    let read = "> RDMA_READ_REQUEST psn=0 va=0 rkey=1 len=600\n> SEND_ONLY psn=3 ack\n> FETCH_ADD psn=4 va=0 rkey=1\n";
    let segmentation = ["rc.responder.read-segmentation"];
    let answer = |line: &str| play(&format!("{read}< {line}"));
    assert_eq!(answer("RDMA_READ_RESPONSE_FIRST psn=0 msn=1 256B"), NONE);
    assert_eq!(answer("RDMA_READ_RESPONSE_FIRST psn=0 msn=1 128B"), segmentation);
    assert_eq!(answer("RDMA_READ_RESPONSE_ONLY psn=0 msn=1 256B"), segmentation);
    assert_eq!(answer("RDMA_READ_RESPONSE_MIDDLE psn=2 88B"), segmentation);
    assert_eq!(answer("RDMA_READ_RESPONSE_ONLY psn=3 msn=1 4B"), ["rc.responder.unexpected-response"]);
    assert_eq!(answer("RDMA_READ_RESPONSE_ONLY psn=4 msn=1 8B"), segmentation);
    assert_eq!(answer("ATOMIC_ACKNOWLEDGE psn=1 msn=1"), ["rc.responder.atomic-ack"]);
    assert_eq!(answer("ACK psn=3 msn=2"), ["rc.responder.response-order"]);
}

#[test]
fn unreliable_services_answer_nothing() {
    for (transport, rule) in [(Transport::Uc, "uc.responder.silent"), (Transport::Ud, "ud.responder.silent")] {
        let mut stream = Stream::new(config(transport), Duration::ZERO);
        packet("ACK psn=0", Transport::Rc, |packet| {
            assert_eq!(stream.sent(Time::ZERO, packet, packet.icrc)[0].rule, rule);
        });
    }
    let mut stream = Stream::new(config(Transport::Ud), Duration::ZERO);
    packet("UD_SEND_ONLY psn=9 300B", Transport::Ud, |packet| {
        assert_eq!(stream.sent(Time::ZERO, packet, packet.icrc)[0].rule, "ud.requester.length");
    });
}

#[test]
fn a_read_and_the_retry_of_its_rest_end_with_one_response() {
    let exchange = "
        > RDMA_READ_REQUEST psn=0 len=1024
        < RDMA_READ_RESPONSE_FIRST psn=0 msn=1 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=1 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=2 256B
        > RDMA_READ_REQUEST psn=1 va=0x100 len=768
        > SEND_ONLY psn=4 ack 8B
        < RDMA_READ_RESPONSE_LAST psn=3 msn=1 256B
        < RDMA_READ_RESPONSE_FIRST psn=1 msn=1 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=2 256B
        < RDMA_READ_RESPONSE_LAST psn=3 msn=1 256B
        < ACK psn=4 msn=2";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn a_duplicate_from_half_of_the_numbers_ago_may_be_acknowledged_with_its_own_psn() {
    let exchange = "
        > SEND_ONLY psn=0 ack 8B
        < ACK psn=0 msn=1
        > SEND_ONLY psn=-0x7ffff0 ack 8B
        < ACK psn=-0x7ffff0 msn=1";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn an_unknown_opcode_may_be_refused() {
    assert_eq!(play("> OP_0x15 psn=0 ack 8B\n< NAK psn=0 msn=0 code=invalid_request"), NONE);
    assert_eq!(play("< NAK psn=0 msn=0 code=invalid_request"), ["rc.responder.unexpected-response"]);
}

#[test]
fn nothing_is_sent_again_before_the_timeout_or_a_reason() {
    let again = |between: &str| play(&format!("< SEND_ONLY psn=0 ack 8B\n{between}\n< SEND_ONLY psn=0 ack 8B"));
    assert_eq!(again("wait 66"), ["rc.requester.ack-timeout"]);
    assert_eq!(again("wait 67"), NONE);
    assert_eq!(again("wait 1\n> NAK psn=0 msn=0 code=psn_sequence_error\nwait 1"), NONE);
    assert_eq!(again("wait 1\n> RNR_NAK psn=0 msn=0 timer=0.64ms\nwait 1"), NONE);
    // The timer of the oldest packet runs, and all go again.
    let exchange = "
        < SEND_ONLY psn=0 ack 8B
        wait 60
        < SEND_ONLY psn=1 ack 8B
        wait 7
        < SEND_ONLY psn=0 ack 8B
        wait 0
        < SEND_ONLY psn=1 ack 8B";
    assert_eq!(play(exchange), NONE);
}

#[test]
fn a_request_that_was_put_off_waits() {
    let wait = |nak: &str, wait: u32| {
        play(&format!("< SEND_ONLY psn=0 ack 8B\n> {nak}\nwait {wait}\n< SEND_ONLY psn=0 ack 8B"))
    };
    let early = ["rc.requester.rnr-wait"];
    assert_eq!(wait("RNR_NAK psn=0 msn=0 timer=491.52ms", 70), early);
    assert_eq!(wait("RNR_NAK psn=0 msn=0 timer=491.52ms", 492), NONE);
    assert_eq!(wait("RNR_NAK psn=1 msn=0 timer=491.52ms", 70), NONE, "it stands for nothing that was sent");
    // Said twice it is one wait.
    let twice = "
        < SEND_ONLY psn=0 ack 8B
        > RNR_NAK psn=0 msn=0 timer=122.88ms
        > RNR_NAK psn=0 msn=0 timer=122.88ms
        < SEND_ONLY psn=0 ack 8B";
    assert_eq!(play(twice), NONE);
}
