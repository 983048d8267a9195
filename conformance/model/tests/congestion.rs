//! The notification point and the reaction point, with frames.

mod harness;

use std::time::Duration;

use harness::QKEY;
use harness::flow::{Flow, PEER, Sent, bad_icrc, cnp, limited, mark, nothing, packet, read, write};
use rocespec_codec::{Ecn, Net, Opcode, PKey, Qpn, Roce};
use rocespec_model::{
    Access, CnpScope, Config, CongestionConfig, Destination, Endpoint, LinkSpeed, NotificationConfig, Policy,
    ReactionConfig, SendOperation, SendRequest, Time,
};

/// A rate that does not rise again while a test looks.
const CONSTANT: ReactionConfig =
    ReactionConfig { rate_timer: Duration::from_secs(1), byte_counter: 0, ..ReactionConfig::PAPER };

fn notifying(change: impl FnOnce(&mut NotificationConfig)) -> Flow {
    let mut notification = NotificationConfig::default();
    change(&mut notification);
    let congestion = CongestionConfig { notification: Some(notification), ..CongestionConfig::default() };
    Flow::idle(Config { congestion, ..Config::default() }, &[10, 10])
}

/// Two queue pairs that send as fast as a link of 10 Gb/s lets them.
fn reacting(reaction: ReactionConfig) -> Flow {
    let congestion = CongestionConfig { reaction: Some(reaction), ..CongestionConfig::default() };
    Flow::new(Config { congestion, link_speed: Some(LinkSpeed::G10), ..Config::default() }, &[10, 10])
}

/// Opcodes of what comes back within 10 us.
fn answers(flow: &mut Flow, frame: &[u8]) -> Vec<Opcode> {
    flow.receive(frame);
    flow.run(10).iter().map(|sent| sent.look(|packet| packet.bth.opcode)).collect()
}

#[test]
fn a_marked_packet_is_taken_and_answered_by_a_cnp() {
    let mut flow = notifying(|_| {});
    flow.receive(&write(&flow, 0, mark, nothing));
    let sent = flow.run(10);
    assert_eq!(sent.len(), 2);
    sent[0].look(|cnp| {
        let bth = cnp.bth;
        assert_eq!(bth.opcode, Opcode::CNP);
        assert_eq!((bth.psn.get(), bth.pkey, bth.dest_qp), (0, PKey::DEFAULT, Qpn::new(PEER)));
        assert_eq!((bth.se, bth.migreq, bth.ack_req, bth.fecn, bth.becn), (false, false, false, false, true));
        assert_eq!(cnp.payload, [0; 16]);
        assert_eq!(cnp.net.traffic_class(), 48 << 2 | Ecn::Ect0 as u8);
        assert_eq!(cnp.net.dst_gid(), "::ffff:10.0.0.2".parse::<std::net::Ipv6Addr>().unwrap());
        assert!(rocespec_codec::icrc::verify(cnp));
    });
    assert_eq!(sent[0].frame.len(), 74);
    sent[1].look(|ack| assert_eq!(ack.bth.opcode, Opcode::RC_ACKNOWLEDGE));
    assert_eq!((flow.counter("ecn_marked"), flow.counter("cnp_sent")), (1, 1));
}

#[test]
fn an_endpoint_that_is_no_notification_point_only_counts_marks() {
    let mut flow = Flow::idle(Config::default(), &[10]);
    let frame = write(&flow, 0, mark, nothing);
    assert_eq!(answers(&mut flow, &frame), [Opcode::RC_ACKNOWLEDGE]);
    assert_eq!(flow.counter("ecn_marked"), 1);
}

#[test]
fn only_congestion_experienced_is_a_mark() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let mut flow = notifying(|_| {});
        let set = |packet: &mut Roce<'_>| {
            let Net::V4(ip) = &mut packet.net else { return };
            ip.tos = ecn as u8;
        };
        let frame = write(&flow, 0, set, nothing);
        assert_eq!(answers(&mut flow, &frame), [Opcode::RC_ACKNOWLEDGE], "{ecn:?}");
    }
}

#[test]
fn packets_that_are_dropped_on_the_way_in_get_no_cnp() {
    let wrong: [fn(&mut Roce<'_>); 3] = [
        |packet| packet.bth.dest_qp = Qpn::new(0x999),
        |packet| packet.bth.pkey = PKey::new(0x9234),
        |packet| packet.bth.tver = 1,
    ];
    for change in wrong {
        let mut flow = notifying(|_| {});
        let marked = |packet: &mut Roce<'_>| {
            mark(packet);
            change(packet);
        };
        let frame = write(&flow, 0, marked, nothing);
        assert_eq!(answers(&mut flow, &frame), []);
    }
    let mut flow = notifying(|_| {});
    let frame = write(&flow, 0, mark, bad_icrc);
    assert_eq!(answers(&mut flow, &frame), []);
    assert_eq!((flow.counter("ecn_marked"), flow.counter("drop_icrc")), (0, 1));
}

#[test]
fn a_packet_out_of_sequence_is_valid_and_gets_a_cnp() {
    let mut flow = notifying(|_| {});
    let frame = write(&flow, 5, mark, nothing);
    assert_eq!(answers(&mut flow, &frame), [Opcode::CNP, Opcode::RC_ACKNOWLEDGE]);
}

#[test]
fn a_marked_cnp_gets_no_cnp() {
    let mut flow = notifying(|_| {});
    assert_eq!(answers(&mut flow, &cnp(0, mark, nothing)), []);
}

#[test]
fn a_cnp_carries_the_partition_key_of_the_marked_packet() {
    let mut flow = notifying(|_| {});
    let both = |packet: &mut Roce<'_>| {
        mark(packet);
        limited(packet);
    };
    flow.receive(&write(&flow, 0, both, nothing));
    flow.run(10)[0].look(|cnp| assert_eq!(cnp.bth.pkey, PKey::new(0x7fff)));
}

#[test]
fn a_cnp_has_no_migration_bit_whatever_the_policy_says() {
    let mut flow = notifying(|_| {});
    let policy = Policy { sends_migrated: true, ..Policy::default() };
    flow.port = Endpoint::new(Config { policy, ..flow.port.config().clone() });
    flow.qps.clear();
    flow.region = flow.port.register_memory(4096, Access::REMOTE_WRITE).unwrap();
    flow.connect(PEER, 10);
    flow.receive(&write(&flow, 0, mark, nothing));
    let migreq = |sent: &Sent| sent.look(|packet| packet.bth.migreq);
    assert_eq!(flow.run(10).iter().map(migreq).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn the_lower_layers_of_a_cnp_are_configurable() {
    let mut flow = notifying(|config| (config.cnp.dscp, config.cnp.ecn, config.cnp.priority) = (26, Ecn::NotEct, 5));
    let tagged = |packet: &mut Roce<'_>| {
        mark(packet);
        packet.eth.tags.push(rocespec_codec::Tag { tpid: 0x8100, tci: 3 << 13 | 42 });
    };
    flow.receive(&write(&flow, 0, tagged, nothing));
    flow.run(10)[0].look(|cnp| {
        assert_eq!((cnp.net.traffic_class(), cnp.eth.tags[0].tci), (26 << 2, 5 << 13 | 42));
    });
}

#[test]
fn cnps_keep_their_distance() {
    let mut flow = notifying(|config| config.interval = Duration::from_micros(50));
    let mut times = Vec::new();
    for psn in 0..200 {
        let frame = write(&flow, psn, mark, nothing);
        flow.receive(&frame);
        let cnps = flow.run(1).into_iter().filter(|sent| sent.look(|packet| packet.bth.opcode) == Opcode::CNP);
        times.extend(cnps.map(|sent| sent.time));
    }
    assert_eq!(times.len(), 4);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_micros(50)), "{times:?}");
    assert_eq!((flow.counter("ecn_marked"), flow.counter("cnp_sent")), (200, 4));
}

#[test]
fn the_scope_says_which_queue_pairs_share_the_distance() {
    let cnps = |scope, interval| {
        let mut flow = notifying(|config| (config.scope, config.interval) = (scope, interval));
        for qp in [0, 1, 0, 1] {
            flow.receive(&packet(qp, Opcode::RC_RDMA_WRITE_ONLY, &[], mark, nothing));
        }
        flow.run(10);
        flow.counter("cnp_sent")
    };
    let long = Duration::from_secs(1);
    assert_eq!(cnps(CnpScope::PerQp, long), 2);
    assert_eq!(cnps(CnpScope::PerIpPair, long), 1);
    assert_eq!(cnps(CnpScope::PerPort, long), 1);
    assert_eq!(cnps(CnpScope::PerQp, Duration::ZERO), 4);
}

#[test]
fn read_responses_that_are_marked_slow_down_the_responder() {
    let mut asker = notifying(|_| {});
    let response = |packet: &mut Roce<'_>| mark(packet);
    let frame = packet(0, Opcode::RC_RDMA_READ_RESPONSE_ONLY, &[], response, nothing);
    assert_eq!(answers(&mut asker, &frame), [Opcode::CNP]);
}

#[test]
fn packets_say_that_they_can_be_marked_when_configured() {
    let traffic_class = |ecn_capable, dscp_and_ecn: u8| {
        let congestion = CongestionConfig { ecn_capable, ..CongestionConfig::default() };
        let mut flow = Flow::new(Config { congestion, ..Config::default() }, &[dscp_and_ecn]);
        flow.run(1)[0].look(|packet| packet.net.traffic_class())
    };
    assert_eq!((traffic_class(false, 26), traffic_class(true, 26)), (26 << 2, 26 << 2 | Ecn::Ect0 as u8));
}

#[test]
fn a_cnp_slows_down_the_queue_pair_that_it_names_and_no_other() {
    let mut flow = reacting(CONSTANT);
    let [one, other] = flow.shares(1000)[..] else { panic!() };
    assert!(one.abs_diff(other) <= 1, "they share the link: {one} {other}");
    // Four cuts leave it a sixteenth, and the other one takes what is free.
    for _ in 0..4 {
        flow.cnp(0);
    }
    let [slow, fast] = flow.shares(1000)[..] else { panic!() };
    let (whole, burst) = (one + other, 6);
    assert!(slow.abs_diff(whole / 16) <= burst, "{slow} of {whole}");
    assert!((slow + fast).abs_diff(whole) <= 1, "{fast} of {whole}");
}

#[test]
fn the_rate_is_kept_to_the_bit() {
    let mut flow = reacting(CONSTANT);
    flow.cnp(0);
    flow.cnp(0);
    let bytes: usize = flow.run(1000).iter().filter(|sent| sent.qp() == 0).map(|sent| sent.frame.len()).sum();
    let quarter = 10_000_000_000 / 4 / 8 / 1000;
    let slack = 4096 + 128 + 1100;
    assert!(bytes.abs_diff(quarter) <= slack, "{bytes} bytes in a millisecond at {quarter}");
}

#[test]
fn without_further_cnps_it_comes_back_to_full_speed() {
    let mut flow = reacting(ReactionConfig::PAPER);
    let before = flow.shares(1000)[0];
    for _ in 0..5 {
        flow.cnp(0);
    }
    let slices: Vec<usize> = (0..8).map(|_| flow.shares(1000)[0]).collect();
    assert!(slices[0] < before * 3 / 4, "{slices:?} {before}");
    assert!(slices.windows(2).all(|pair| pair[0] <= pair[1] + 2), "{slices:?}");
    let later = (0..60).map(|_| flow.shares(1000)[0]).next_back().unwrap();
    assert!(later.abs_diff(before) <= 2, "{later} {before}");
}

#[test]
fn read_responses_are_held_back_and_acknowledgements_are_not() {
    let congestion = CongestionConfig { reaction: Some(ReactionConfig::PAPER), ..CongestionConfig::default() };
    let mut flow = Flow::idle(Config { congestion, link_speed: Some(LinkSpeed::G10), ..Config::default() }, &[10]);
    for _ in 0..40 {
        flow.cnp(0);
    }
    let frame = write(&flow, 0, nothing, nothing);
    flow.receive(&frame);
    let frame = read(&flow, 0, 1, 16 * 1024);
    flow.receive(&frame);
    let sent = flow.run(2);
    assert_eq!(sent[0].look(|packet| packet.bth.opcode), Opcode::RC_ACKNOWLEDGE);
    assert_eq!(sent[0].time, Time::from_nanos(1000), "an ACK waits for no rate");
    let responses = flow.run(40).len() + sent.len() - 1;
    assert!((1..12).contains(&responses), "{responses} of 16 at 1 Mb/s");
    flow.run(100_000);
    assert_eq!(flow.counter("frames_sent"), 17);
}

#[test]
fn a_cnp_counts_whatever_its_psn_and_its_reserved_bytes_are() {
    let odd_psn: fn(&mut Roce<'_>) = |packet| packet.bth.psn = rocespec_codec::Psn::new(0x77_7777);
    for frame in [cnp(0, odd_psn, nothing), packet(0, Opcode::CNP, &[0xff; 16], nothing, nothing)] {
        let mut flow = reacting(ReactionConfig::PAPER);
        (0..4).for_each(|_| flow.receive(&frame));
        let [slow, fast] = flow.shares(50)[..] else { panic!() };
        assert!(slow * 4 < fast, "{slow} {fast}");
    }
}

#[test]
fn a_cnp_that_is_not_valid_slows_nobody_down() {
    let stranger: fn(&mut Roce<'_>) = |packet| packet.bth.dest_qp = Qpn::new(0x999);
    for frame in [cnp(0, nothing, bad_icrc), cnp(0, stranger, nothing)] {
        let mut flow = reacting(ReactionConfig::PAPER);
        (0..4).for_each(|_| flow.receive(&frame));
        let [one, other] = flow.shares(50)[..] else { panic!() };
        assert!(one.abs_diff(other) <= 1, "{one} {other}");
        assert_eq!(flow.counter("cnp_received"), 0);
    }
}

#[test]
fn a_cnp_moves_no_sequence_number_and_gets_no_answer() {
    let mut flow = Flow::idle(Config::default(), &[10]);
    assert_eq!(answers(&mut flow, &cnp(0, nothing, nothing)), []);
    let frame = write(&flow, 0, nothing, nothing);
    assert_eq!(answers(&mut flow, &frame), [Opcode::RC_ACKNOWLEDGE]);
    assert_eq!(flow.counter("cnp_received"), 1);
}

#[test]
fn the_cnp_for_a_datagram_goes_to_the_queue_pair_that_sent_it() {
    let mut flow = notifying(|_| {});
    flow.connect_unreliable();
    let from = |packet: &mut Roce<'_>| {
        mark(packet);
        (packet.ext.deth.qkey, packet.ext.deth.src_qp) = (QKEY, Qpn::new(0x4711));
    };
    flow.receive(&packet(3, Opcode::UD_SEND_ONLY, &[], from, nothing));
    let sent = flow.run(10);
    assert_eq!(sent.len(), 1);
    sent[0].look(|cnp| assert_eq!((cnp.bth.opcode, cnp.bth.dest_qp), (Opcode::CNP, Qpn::new(0x4711))));
}

#[test]
fn unreliable_connections_and_datagrams_slow_down_too() {
    let congestion = CongestionConfig { reaction: Some(CONSTANT), ..CongestionConfig::default() };
    let config = Config { congestion, link_speed: Some(LinkSpeed::G10), ..Config::default() };
    for qp in [0, 1] {
        let mut flow = Flow::idle(config.clone(), &[]);
        flow.connect_unreliable();
        let gid = "::ffff:10.0.0.2".parse().unwrap();
        for wr_id in 0..60 {
            let mut send = SendRequest::new(wr_id, SendOperation::Send);
            (send.mr, send.length) = (flow.region.handle, 1024);
            send.destination = Some(Destination::new(gid, Qpn::new(PEER), QKEY));
            flow.port.post_send(flow.qps[qp], &send).unwrap();
        }
        let whole = flow.count(10);
        (0..3).for_each(|_| flow.cnp(qp));
        flow.run(10);
        let slow = flow.count(40);
        assert!(whole > 10 && (4..=7).contains(&slow), "{whole} in 10 us, {slow} in 40 at an eighth");
    }
}

#[test]
fn the_same_calls_give_the_same_frames() {
    let run = || {
        let mut flow = reacting(ReactionConfig::CONNECTX);
        let mut sent = flow.run(100);
        for qp in [0, 1, 1, 0] {
            flow.cnp(qp);
            sent.extend(flow.run(37));
        }
        sent
    };
    assert_eq!(run(), run());
}

#[test]
fn cnps_while_it_is_too_fast_keep_it_near_the_rate() {
    // Marks come back as CNPs as long as the sender is faster than 1 Gb/s.
    let mut flow = reacting(ReactionConfig::PAPER);
    let mut last = 0;
    for _ in 0..200 {
        last = flow.shares(50)[0];
        if last * 1100 * 8 > 50_000 {
            flow.cnp(0);
        }
    }
    let bits_per_second = last * 1100 * 8 * 20_000;
    assert!((200_000_000..4_000_000_000).contains(&bits_per_second), "{bits_per_second}");
}
