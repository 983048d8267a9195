use std::time::Duration;

use rocespec_codec::notation::{self, Head, Line, Scope};
use rocespec_codec::{Ecn, Frame, Psn, decode, encode, encoded_len, icrc};
use rocespec_model::Time;

use super::*;

fn packet(line: &str) -> Vec<u8> {
    let mut room = [0; 8192];
    let Ok(Line::Roce(packet)) = notation::parse(line, &Scope::default(), &mut room) else { panic!("{line}") };
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}

/// Sends so many frames of one byte, a microsecond apart, and gives what arrives, by its number.
fn through(fates: impl Fates + 'static, count: u8) -> Vec<u8> {
    let mut link = Link::new(Duration::from_micros(5), fates);
    for n in 0..count {
        link.send(Time::from_nanos(u64::from(n) * 1000), End::A, vec![n]);
    }
    arrivals(&mut link).into_iter().map(|(_, _, frame)| frame[0]).collect()
}

fn arrivals(link: &mut Link) -> Vec<(u64, End, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(next) = link.next_arrival() {
        let (to, frame) = link.receive(next).expect("what was announced");
        all.push((next.nanos(), to, frame));
    }
    assert_eq!(link.in_flight(), 0);
    all
}

fn at(number: u64, fate: Fate) -> ((End, u64), Fate) {
    ((End::A, number), fate)
}

#[test]
fn without_faults_everything_arrives_in_order_after_the_delay() {
    let mut link = Link::new(Duration::from_micros(5), ());
    link.send(Time::from_nanos(10), End::B, vec![1]);
    link.send(Time::from_nanos(20), End::A, vec![2]);
    assert_eq!(link.receive(Time::from_nanos(5009)), None);
    assert_eq!(arrivals(&mut link), [(5010, End::A, vec![1]), (5020, End::B, vec![2])]);
}

#[test]
fn chosen_frames_are_lost_doubled_and_late() {
    let late = Fate { late: Duration::from_micros(2) + Duration::from_nanos(500), ..Fate::default() };
    let listed = Listed::new([at(1, Fate::LOST), at(2, Fate { copies: 2, ..Fate::default() }), at(3, late)]);
    assert_eq!(through(listed, 7), [0, 2, 2, 2, 4, 5, 3, 6]);
}

#[test]
fn a_frame_is_overtaken_by_as_many_as_said_and_never_for_ever() {
    let behind = |behind| Fate { behind, ..Fate::default() };
    assert_eq!(through(Listed::new([at(1, behind(1))]), 5), [0, 2, 1, 3, 4]);
    assert_eq!(through(Listed::new([at(1, behind(3))]), 6), [0, 2, 3, 4, 1, 5]);
    assert_eq!(through(Listed::new([at(0, behind(2)), at(1, behind(1))]), 4), [2, 1, 3, 0]);
    assert_eq!(through(Listed::new([at(2, behind(9))]), 3), [0, 1, 2]);
}

#[test]
fn jitter_keeps_the_order() {
    let jitter = Faults { jitter: Duration::from_micros(50), ..Faults::default() };
    assert_eq!(through(RandomFaults::new(jitter, 3), 100), (0..100).collect::<Vec<u8>>());
}

#[test]
fn faults_come_as_often_as_said() {
    let faults = Faults {
        loss: Rate::percent(10),
        duplication: Rate::percent(20),
        reordering: Rate::percent(30),
        depth: 4,
        corruption: Rate::percent(5),
        truncation: Rate::percent(1),
        congestion: Rate::percent(50),
        ..Faults::default()
    };
    let mut random = RandomFaults::new(faults, 42);
    let fates: Vec<Fate> = (0..100_000).map(|_| random.fate(End::A, &[0; 100])).collect();
    let count = |what: fn(&Fate) -> bool| fates.iter().filter(|fate| what(fate)).count();
    let near = |count: usize, wanted: usize| count.abs_diff(wanted) < wanted / 10;
    assert!(near(count(|fate| fate.lost), 10_000));
    assert!(near(count(|fate| fate.copies == 1), 20_000));
    assert!(near(count(|fate| fate.behind > 0), 30_000));
    assert!(near(count(|fate| fate.behind == 4), 7_500));
    assert!(near(count(|fate| matches!(fate.damage, Some(Damage::Bit(0..800)))), 5_000));
    assert!(near(count(|fate| matches!(fate.damage, Some(Damage::Cut(0..100)))), 1_000));
    assert!(near(count(|fate| fate.congested), 50_000));
}

#[test]
fn bursts_lose_runs() {
    let burst = Burst { begins: Rate::percent(1), ends: Rate::percent(20) };
    let mut random = RandomFaults::new(Faults { burst, ..Faults::default() }, 1);
    let lost: Vec<bool> = (0..100_000).map(|_| random.fate(End::B, &[]).lost).collect();
    let runs = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let length = lost.iter().filter(|lost| **lost).count() as f64 / runs as f64;
    assert!((4.5..5.5).contains(&length), "a run is {length} frames long");
}

#[test]
fn the_same_seed_is_the_same_sequence_in_every_version() {
    let faults = Faults { loss: Rate::percent(25), depth: 8, reordering: Rate::percent(50), ..Faults::default() };
    let mut random = RandomFaults::new(faults, 1);
    let mut draw = |from| {
        let fate = random.fate(from, &[0; 64]);
        (fate.lost, fate.behind)
    };
    assert_eq!([(); 6].map(|()| draw(End::A)), [(false, 0), (false, 6), (false, 2), (true, 1), (false, 5), (false, 0)]);
    assert_eq!([(); 3].map(|()| draw(End::B)), [(false, 0), (false, 1), (false, 7)]);
}

#[test]
fn a_switched_off_fault_leaves_the_others_where_they_were() {
    let both = Faults { loss: Rate::percent(10), reordering: Rate::percent(10), depth: 3, ..Faults::default() };
    let one = Faults { loss: Rate::NEVER, ..both };
    let behinds = |faults| {
        let mut random = RandomFaults::new(faults, 9);
        (0..1000).map(|_| random.fate(End::A, &[0; 64]).behind).collect::<Vec<u32>>()
    };
    assert_eq!(behinds(both), behinds(one));
}

#[test]
fn congestion_marks_what_allows_it_and_leaves_the_packet_right() {
    for net in ["", "v6 "] {
        let mut frame = packet(&format!("SEND_ONLY {net}psn=0 64B ip.ecn=ect0 ip.dscp=26"));
        assert!(mark_ce(&mut frame));
        let Ok(Frame::Roce(marked)) = decode(&frame) else { panic!("not RoCE") };
        assert_eq!((marked.net.ecn(), marked.net.traffic_class() >> 2), (Ecn::Ce, 26));
        assert!(icrc::verify(&marked));
        if let rocespec_codec::Net::V4(ip) = marked.net {
            assert_eq!(ip.checksum, ip.right_checksum());
        }
    }
    for line in ["SEND_ONLY psn=0 64B", "SEND_ONLY v1 psn=0 64B ip.ecn=ect0"] {
        let mut frame = packet(line);
        let before = frame.clone();
        assert!(!mark_ce(&mut frame));
        assert_eq!(frame, before);
    }
}

#[test]
fn damage_changes_one_bit_or_cuts_the_end() {
    let through = |damage| {
        let mut link = Link::new(Duration::ZERO, Listed::new([at(0, Fate { damage, copies: 1, ..Fate::default() })]));
        link.send(Time::ZERO, End::A, vec![0, 0, 0]);
        arrivals(&mut link).into_iter().map(|(_, _, frame)| frame).collect::<Vec<_>>()
    };
    assert_eq!(through(Some(Damage::Bit(9))), [vec![0, 0x40, 0], vec![0, 0, 0]]);
    assert_eq!(through(Some(Damage::Bit(24))), [vec![0x80, 0, 0], vec![0, 0, 0]]);
    assert_eq!(through(Some(Damage::Cut(1))), [vec![0], vec![0, 0, 0]]);
    assert_eq!(through(Some(Damage::Content)), [vec![0, 0, 0], vec![0, 0, 0]]);
}

#[test]
fn damage_of_the_content_breaks_the_icrc_alone() {
    for line in ["SEND_ONLY psn=0 64B", "ACK psn=0 msn=1", "SEND_ONLY v6 psn=0", "SEND_ONLY v1 psn=0 5B"] {
        let mut frame = packet(line);
        frame.resize(frame.len().max(60), 0);
        let before = frame.clone();
        super::damage::apply(&mut frame, Damage::Content);
        let Ok(Frame::Roce(packet)) = decode(&frame) else { panic!("{line}") };
        assert!(!icrc::verify(&packet), "{line}");
        assert_eq!(before.iter().zip(&frame).filter(|(a, b)| a != b).count(), 1, "{line}");
    }
}

#[test]
fn a_script_chooses_by_sender_opcode_psn_and_round() {
    let rule = |selector| Rule { selector, count: None, fate: Fate::LOST };
    let heads = ["ACK", "NAK"].map(|word| Head::parse(word).unwrap()).to_vec();
    let mut script = Script::new([
        rule(Selector { psns: Some((Psn::new(5), 1)), round: Some(2), ..Selector::default() }),
        rule(Selector { from: Some(End::B), heads, ..Selector::default() }),
    ]);
    assert_eq!(script.unused(), Some(0));
    let five = packet("SEND_ONLY psn=5 64B");
    let six = packet("SEND_ONLY psn=6 64B");
    let mut rounds = |frame: &[u8]| (0..4).map(|_| script.fate(End::A, frame).lost).collect::<Vec<_>>();
    assert_eq!((rounds(&six), rounds(&five)), (vec![false; 4], vec![false, true, false, false]));
    assert_eq!(script.unused(), Some(1));
    let ack = packet("ACK psn=7 msn=1");
    assert!(!script.fate(End::A, &ack).lost);
    assert!(script.fate(End::B, &ack).lost);
    assert!(!script.fate(End::B, &packet("RNR_NAK psn=8 msn=1 timer=0.64ms")).lost);
    assert!(!script.fate(End::B, &[1, 2, 3]).lost);
    assert_eq!(script.unused(), None);
}

#[test]
fn a_script_counts_what_it_decides_and_keeps_requests_and_responses_apart() {
    let selector = Selector { psns: Some((Psn::new(0xff_ffff), 3)), round: Some(1), ..Selector::default() };
    let mut script = Script::new([Rule { selector, count: Some(3), fate: Fate::LOST }]);
    let lines =
        ["ACK psn=0xffffff msn=1", "SEND_ONLY psn=0xffffff", "SEND_ONLY psn=2", "SEND_ONLY psn=1", "ACK psn=0 msn=1"];
    let lost = lines.map(|line| script.fate(End::A, &packet(line)).lost);
    assert_eq!(lost, [true, true, false, true, false]);
}

#[test]
fn rates_read_as_shares_and_percent() {
    let read = |text: &str| text.parse::<Rate>().map(Rate::get);
    assert_eq!(read("0.01"), Ok(10_000));
    assert_eq!(read("1%"), Ok(10_000));
    assert_eq!(read("0.5%"), Ok(5_000));
    assert_eq!(read("0"), Ok(0));
    assert_eq!(read("1"), Ok(1_000_000));
    assert_eq!(read("0.000001"), Ok(1));
    assert_eq!([read("1e-6"), read("2.5e-5"), read("1e0"), read("1E-1%")], [Ok(1), Ok(25), Ok(1_000_000), Ok(1_000)]);
    for wrong in ["", "2", "101%", "-1", "0.0000001", "1e-7", "1e", "e-3", "1e99", "1e-3e-3", "9999999999", ".5", "x%"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
