use rocespec_codec::notation::{self, Line, Scope};
use rocespec_codec::{Roce, field};
use rocespec_reports::examination::Spread;

use super::*;

/// PSN that `psn=0` stands for: the wrap is never far.
const START: u32 = 0xff_fffe;

/// What the lines of a packet notation come to: `>` from end 0, `<` from end 1. Between two of them lie 10 us, or as
/// many as a line `wait` says. The MTU is 256.
fn play(script: &str) -> ([Sent; 2], Vec<Point>) {
    let mut counts = Counts::new();
    let (mut now, mut pause, mut number) = (0, 10, 0);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(wait) = line.strip_prefix("wait ") {
            pause = wait.parse().unwrap();
            continue;
        }
        now += std::mem::replace(&mut pause, 10) * 1_000;
        number += 1;
        let (way, text) = line.split_at(1);
        packet(text.trim(), |packet| {
            let seen = Seen::bare(number, now, packet);
            counts.note(usize::from(way == "<"), &seen, Some(256));
        });
    }
    counts.finish()
}

fn packet(text: &str, look: impl FnOnce(&Roce<'_>)) {
    let mut scope = Scope::default();
    scope.base.bth.psn = Psn::new(START);
    let mut room = [0; 4096];
    let (is_uc, text) = text.strip_prefix("uc ").map_or((false, text), |text| (true, text));
    let Ok(Line::Roce(mut packet)) = notation::parse(text, &scope, &mut room) else { panic!("{text}") };
    if is_uc {
        packet.bth.opcode.0 |= 0x20;
        field::complete(&mut packet, |_| false);
    }
    look(&packet);
}

/// So many microseconds, that often.
fn each(us: u64, count: u64) -> Spread {
    let ns = us * 1_000;
    Spread { count, least_ns: ns, most_ns: ns, sum_ns: ns * count }
}

#[test]
fn an_ordinary_exchange_is_messages_bytes_and_acks() {
    let ([client, server], points) = play(
        "
        > SEND_FIRST psn=0 256B
        > SEND_MIDDLE psn=1 256B
        > SEND_LAST psn=2 ack 100B
        < ACK psn=2 msn=1
        > RDMA_WRITE_ONLY psn=3 va=0x1000 rkey=1 len=8 8B ack
        < ACK psn=3 msn=2
        > RDMA_READ_REQUEST psn=4 va=0x1000 rkey=1 len=600
        < RDMA_READ_RESPONSE_FIRST psn=4 msn=3 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=5 256B
        < RDMA_READ_RESPONSE_LAST psn=6 msn=3 88B
        > FETCH_ADD psn=7 va=0x1000 rkey=1 add=1
        < ATOMIC_ACKNOWLEDGE psn=7 msn=4",
    );
    let messages = [("FETCH_ADD", 1), ("RDMA_READ", 1), ("RDMA_WRITE", 1), ("SEND", 1)];
    assert_eq!(client.messages, messages.map(|(kind, count)| (kind.to_owned(), count)).into());
    assert_eq!((client.packets, client.payload_bytes, client.new_bytes), (6, 620, 620));
    assert_eq!((client.data_ns, client.goodput()), (40_000, Some(124_000_000)));
    assert_eq!((client.retransmissions, client.timeouts, client.gaps, client.most_reads), (0, 0, 0, 1));
    assert_eq!((server.acks, server.repeated_acks, server.acked_packets), (2, 0, 4));
    assert_eq!((server.payload_bytes, server.new_bytes, server.repeated_responses), (600, 600, 0));
    assert_eq!(server.response_latency, each(10, 4));
    let marks: Vec<Mark> = points.iter().map(|point| point.mark).collect();
    let (request, response) = (Mark::Request, Mark::Response);
    assert_eq!(marks[..7], [request, request, request, Mark::Ack, request, Mark::Ack, request]);
    assert_eq!(marks[7..], [response, response, response, request, response]);
    assert_eq!((points[6].psn, points[6].psns, points[6].frame, points[6].from), (2, 3, 7, 0));
}

#[test]
fn a_loss_before_the_capture_is_a_gap_a_nak_and_one_run_of_retransmissions() {
    let ([client, server], points) = play(
        "
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=2 64B
        > SEND_ONLY psn=3 64B
        < NAK psn=1 msn=1 code=psn_sequence_error
        wait 7
        > SEND_ONLY psn=1 64B
        > SEND_ONLY psn=2 64B
        > SEND_ONLY psn=3 ack 64B
        < ACK psn=3 msn=4",
    );
    assert_eq!((client.gaps, client.retransmissions, client.timeouts, client.late), (1, 3, 0, 0));
    assert_eq!((client.payload_bytes, client.new_bytes), (384, 256));
    assert_eq!(client.messages["SEND"], 4);
    assert_eq!((server.naks["psn_sequence_error"], server.acks, server.acked_packets), (1, 1, 3));
    assert_eq!((server.nak_latency, client.nak_reaction), (each(20, 1), each(7, 1)));
    assert_eq!(points.iter().filter(|point| point.mark == Mark::Retransmission).count(), 3);
}

#[test]
fn a_loss_behind_the_capture_leaves_no_gap() {
    let ([client, server], _) = play(
        "
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=1 64B
        > SEND_ONLY psn=2 64B
        < NAK psn=1 msn=1 code=psn_sequence_error
        > SEND_ONLY psn=1 64B
        > SEND_ONLY psn=2 ack 64B
        < ACK psn=2 msn=3",
    );
    assert_eq!((client.gaps, client.retransmissions, client.timeouts, client.new_bytes), (0, 2, 0, 192));
    assert_eq!((server.nak_latency.count, client.nak_reaction), (0, each(10, 1)));
}

#[test]
fn who_begins_again_unasked_ran_into_a_timeout() {
    let ([client, _], _) = play(
        "
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=1 ack 64B
        wait 67000
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=1 ack 64B
        wait 67000
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=1 ack 64B
        < ACK psn=1 msn=2
        > SEND_ONLY psn=2 ack 64B",
    );
    assert_eq!((client.retransmissions, client.timeouts, client.new_bytes), (4, 2, 192));
    assert_eq!(client.duplicates, 0);
}

#[test]
fn what_was_acknowledged_and_comes_again_is_a_duplicate() {
    let ([client, server], _) = play(
        "
        > SEND_ONLY psn=0 ack 64B
        < ACK psn=0 msn=1
        wait 67000
        > SEND_ONLY psn=0 ack 64B
        < ACK psn=0 msn=1",
    );
    assert_eq!((client.retransmissions, client.timeouts, client.duplicates), (1, 1, 1));
    assert_eq!((server.acks, server.repeated_acks, server.acked_packets), (2, 1, 1));
}

#[test]
fn an_rnr_nak_is_a_reason_and_its_wait_is_counted() {
    let ([client, server], _) = play(
        "
        > SEND_ONLY psn=0 ack 64B
        < RNR_NAK psn=0 msn=0 timer=0.64ms
        wait 700
        > SEND_ONLY psn=0 ack 64B
        < ACK psn=0 msn=1",
    );
    assert_eq!((client.retransmissions, client.timeouts, client.nak_reaction.count), (1, 0, 0));
    assert_eq!((server.rnr_naks, server.rnr_waits), (1, each(640, 1)));
}

#[test]
fn packets_that_were_overtaken_are_late_and_not_sent_again() {
    let overtaken = "
        > SEND_ONLY psn=0 64B
        > SEND_ONLY psn=3 64B
        > SEND_ONLY psn=1 64B
        > SEND_ONLY psn=2 64B\n";
    let ([client, _], _) = play(&format!("{overtaken}> SEND_ONLY psn=4 ack 64B"));
    assert_eq!((client.late, client.retransmissions, client.timeouts, client.new_bytes), (2, 0, 0, 320));
    // Who goes on with what was sent before did not overtake himself.
    let ([client, _], _) = play(&format!("{overtaken}> SEND_ONLY psn=3 64B\n> SEND_ONLY psn=4 ack 64B"));
    assert_eq!((client.late, client.retransmissions, client.timeouts, client.new_bytes), (0, 3, 1, 320));
}

#[test]
fn a_read_is_asked_again_for_the_responses_that_are_missing() {
    let ([client, server], _) = play(
        "
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=1024
        > SEND_ONLY psn=4 ack 8B
        < RDMA_READ_RESPONSE_FIRST psn=0 msn=1 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=2 256B
        < RDMA_READ_RESPONSE_LAST psn=3 msn=1 256B
        > RDMA_READ_REQUEST psn=1 va=0x1100 rkey=1 len=768
        < RDMA_READ_RESPONSE_FIRST psn=1 msn=1 256B
        < RDMA_READ_RESPONSE_MIDDLE psn=2 256B
        < RDMA_READ_RESPONSE_LAST psn=3 msn=1 256B
        < ACK psn=4 msn=2",
    );
    assert_eq!((client.retransmissions, client.timeouts), (1, 0));
    assert_eq!((server.payload_bytes, server.new_bytes, server.repeated_responses), (1536, 1024, 2));
    assert_eq!(server.acked_packets, 1);
}

#[test]
fn an_ack_beyond_a_read_asks_for_it_again() {
    let ([client, _], _) = play(
        "
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=8
        > SEND_ONLY psn=1 ack 8B
        < ACK psn=1 msn=2
        > RDMA_READ_REQUEST psn=0 va=0x1000 rkey=1 len=8",
    );
    assert_eq!((client.retransmissions, client.timeouts), (1, 0));
}

#[test]
fn the_most_reads_are_those_that_were_open_at_once() {
    let read = |psn: u32| format!("> RDMA_READ_REQUEST psn={psn} va=0x1000 rkey=1 len=8\n");
    let three = format!("{}{}{}", read(0), read(1), read(2));
    let answer = "< RDMA_READ_RESPONSE_ONLY psn=0 msn=1 8B\n";
    assert_eq!(play(&format!("{three}{answer}{}", read(3))).0[0].most_reads, 3);
    // Nobody knows what becomes of them when only one direction is there.
    assert_eq!(play(&three).0[0].most_reads, 0);
}

#[test]
fn jumps_and_beginnings_in_the_middle_are_not_counted_as_packets() {
    let ([client, server], _) = play(
        "
        < ACK psn=-3 msn=9
        > SEND_ONLY psn=0 ack 8B
        < ACK psn=0 msn=10
        > SEND_ONLY psn=0x300000 ack 8B
        < ACK psn=0x300000 msn=11
        > SEND_ONLY psn=-0x400000 ack 8B
        < ACK psn=-0x400000 msn=11
        < ACK psn=0x123456 msn=11",
    );
    assert_eq!((client.gaps, client.retransmissions, client.timeouts), (0, 0, 0));
    assert_eq!((server.acked_packets, server.repeated_acks), (3, 0));
}

#[test]
fn an_ack_for_what_nobody_sent_covers_nothing() {
    let ([_, server], _) = play(
        "
        > SEND_ONLY psn=0 ack 8B
        < ACK psn=500 msn=1
        < ACK psn=0 msn=1",
    );
    assert_eq!((server.acks, server.acked_packets, server.response_latency), (2, 1, each(20, 1)));
}

#[test]
fn datagrams_have_no_order_and_uc_sends_nothing_again() {
    let ([client, _], _) = play("> UD_SEND_ONLY psn=7 8B\n> UD_SEND_ONLY psn=90 8B\n> UD_SEND_ONLY psn=8 8B");
    assert_eq!((client.gaps, client.retransmissions, client.messages["SEND"], client.new_bytes), (0, 0, 3, 24));
    let ([client, _], _) = play("> uc SEND_ONLY psn=0 8B\n> uc SEND_ONLY psn=2 8B\nwait 900\n> uc SEND_ONLY psn=1 8B");
    assert_eq!((client.gaps, client.late, client.retransmissions, client.new_bytes), (1, 1, 0, 24));
}

#[test]
fn congestion_classes_and_ports_stand_beside_those_of_notifications() {
    let ([client, server], points) = play(
        "
        > SEND_ONLY psn=0 8B ip.ecn=ce ip.dscp=26 vlan.id=5 vlan.pcp=3 udp.sport=50000
        > SEND_ONLY psn=1 8B ip.ecn=ect0 ip.dscp=26 vlan.id=5 vlan.pcp=3 udp.sport=50001
        > SEND_ONLY psn=2 8B ip.ecn=not-ect ip.dscp=0
        < CNP ip.dscp=48 ip.ecn=ect0 udp.sport=0
        wait 50
        < CNP ip.dscp=48 ip.ecn=ect0 udp.sport=0",
    );
    assert_eq!((client.ce_marks, client.ecn_capable), (1, 2));
    assert_eq!((client.dscp, client.pcp), ([(0, 1), (26, 2)].into(), [(3, 2)].into()));
    assert_eq!(client.source_ports[..2], [50_000, 50_001]);
    assert_eq!((server.cnps, server.cnp_spacing), (2, each(50, 1)));
    assert_eq!((server.cnp_dscp, server.dscp.len(), server.source_ports.len()), ([(48, 2)].into(), 0, 0));
    assert_eq!(points.iter().filter(|point| point.mark == Mark::Cnp && point.from == 1).count(), 2);
}

#[test]
fn every_order_of_every_kind_of_packet_is_counted_without_harm() {
    let mut random = oorandom::Rand32::new(7);
    for _ in 0..200 {
        let mut counts = Counts::new();
        for number in 1..200 {
            let text = format!("OP_{:#04x} psn=@{:#x} ack 8B", random.rand_range(0..256), {
                // Near each other, near half of the numbers, or anywhere.
                let base = [0, 0x7f_fff8, 0x80_0000, random.rand_u32()][random.rand_range(0..4) as usize];
                base.wrapping_add(random.rand_range(0..40)) & 0xff_ffff
            });
            packet(&text, |packet| {
                let mut packet = packet.clone();
                packet.ext.reth.len = random.rand_u32();
                packet.ext.aeth.syndrome.0 = random.rand_u32() as u8;
                let time_ns = u64::from(random.rand_u32());
                let seen = Seen::bare(number, time_ns, &packet);
                let mtu = [None, Some(0), Some(256), Some(4096)][random.rand_range(0..4) as usize];
                counts.note(random.rand_range(0..2) as usize, &seen, mtu);
            });
        }
        let (sent, points) = counts.finish();
        assert_eq!(sent[0].packets + sent[1].packets, 199);
        assert!(sent.iter().all(|sent| sent.gaps < 200 && sent.acked_packets < 200 << 22));
        assert!(points.windows(2).all(|pair| pair[0].frame <= pair[1].frame));
    }
}
