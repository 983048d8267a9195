use core::net::{Ipv4Addr, Ipv6Addr};
use core::time::Duration;

use rocespec_codec::{
    Control, Ethernet, Frame, Ipv4, Ipv6, MAC_CONTROL_DESTINATION, MacAddr, MacControl, Net, Pause, Pfc, Tag, decode,
};

use super::*;
use crate::time::Time;

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const SPEEDS: [LinkSpeed; 8] = [
    LinkSpeed::G1,
    LinkSpeed::G10,
    LinkSpeed::G25,
    LinkSpeed::G40,
    LinkSpeed::G50,
    LinkSpeed::G100,
    LinkSpeed::G200,
    LinkSpeed::G400,
];

fn gate(mode: PauseMode) -> PauseGate {
    PauseGate::new(PauseConfig { mode, class_by: ClassBy::Pcp }, LinkSpeed::G100, STATION)
}

fn pfc(priorities: u8, quanta: u16) -> MacControl<'static> {
    MacControl::new(PEER, Control::Pfc(Pfc::new(priorities, quanta)))
}

fn pause(quanta: u16) -> MacControl<'static> {
    MacControl::new(PEER, Control::Pause(Pause { quanta }))
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// For each class, how long it still pauses, in nanoseconds.
fn left(gate: &PauseGate, now: Time) -> [u64; 8] {
    core::array::from_fn(|class| (gate.may_begin_at(now, class as u8) - now).as_nanos() as u64)
}

#[test]
fn quanta_last_512_bit_times_at_every_speed() {
    let hundred_quanta = SPEEDS.map(|speed| speed.time_of_quanta(100).as_nanos());
    assert_eq!(hundred_quanta, [51200, 5120, 2048, 1280, 1024, 512, 256, 128]);
    assert_eq!(LinkSpeed::G100.time_of_quanta(u16::MAX), Duration::from_nanos(335_540));
    assert_eq!(LinkSpeed::G25.time_of_quanta(1), Duration::from_nanos(21), "20.48 ns, never too short");
}

#[test]
fn a_frame_takes_its_bytes_and_what_stands_around_it() {
    assert_eq!(LinkSpeed::G1.time_of_frame(60), Duration::from_nanos(672));
    assert_eq!(LinkSpeed::G1.time_of_frame(1), LinkSpeed::G1.time_of_frame(60));
    assert_eq!(LinkSpeed::G10.time_of_frame(1514), Duration::from_nanos(1231), "1538 bytes are 1230.4 ns");
}

#[test]
fn the_slowest_and_the_longest_do_not_overflow() {
    let slow = LinkSpeed::from_bits_per_second(1).unwrap();
    assert_eq!(slow.time_of_quanta(u16::MAX), Duration::from_secs(65535 * 512));
    assert_eq!(slow.time_of_frame(usize::MAX), Duration::from_nanos(u64::MAX));
    assert_eq!(LinkSpeed::from_bits_per_second(0), None);
}

#[test]
fn the_stop_bound_is_known_up_to_100_gigabits_and_said_to_be_unknown_elsewhere() {
    let bounds = SPEEDS.map(|speed| stop_bound(speed).duration(speed).map(|bound| bound.as_nanos()));
    assert_eq!(bounds, [Some(1024), Some(3072), None, Some(1511), None, Some(2018), None, None]);
    assert_eq!(stop_bound(LinkSpeed::G400), StopBound::Unverified);
}

#[test]
fn a_class_pauses_for_its_quanta_and_no_longer() {
    let mut gate = gate(PauseMode::Pfc { classes: 0xff });
    gate.receive(at(1000), &pfc(1 << 3, 100)).unwrap();
    assert_eq!(left(&gate, at(1000)), [0, 0, 0, 512, 0, 0, 0, 0]);
    assert_eq!(gate.may_begin_at(at(1511), 3), at(1512));
    assert_eq!(gate.may_begin_at(at(1512), 3), at(1512));
    assert_eq!(gate.may_begin_at(at(9999), 3), at(9999));
}

#[test]
fn a_new_value_replaces_what_was_left_whether_longer_or_shorter() {
    let mut gate = gate(PauseMode::Pfc { classes: 0xff });
    gate.receive(at(0), &pfc(1, 1000)).unwrap();
    gate.receive(at(100), &pfc(1, 100)).unwrap();
    assert_eq!(gate.may_begin_at(at(100), 0), at(612));
    gate.receive(at(200), &pfc(1, 200)).unwrap();
    assert_eq!(gate.may_begin_at(at(200), 0), at(1224));
}

#[test]
fn zero_quanta_end_a_pause_and_a_class_that_is_not_enabled_is_left_alone() {
    let mut gate = gate(PauseMode::Pfc { classes: 0xff });
    gate.receive(at(0), &pfc(0b11, 100)).unwrap();
    let timers_without_vector = Pfc { vector: 0, timers: [9; 8] };
    gate.receive(at(0), &MacControl::new(PEER, Control::Pfc(timers_without_vector))).unwrap();
    assert_eq!(left(&gate, at(0)), [512, 512, 0, 0, 0, 0, 0, 0]);
    gate.receive(at(0), &pfc(0b10, 0)).unwrap();
    assert_eq!(left(&gate, at(0)), [512, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_high_byte_of_the_vector_says_nothing() {
    let mut gate = gate(PauseMode::Pfc { classes: 0xff });
    let high = Pfc { vector: 0xff00, timers: [100; 8] };
    gate.receive(at(0), &MacControl::new(PEER, Control::Pfc(high))).unwrap();
    assert_eq!(left(&gate, at(0)), [0; 8]);
}

#[test]
fn a_class_without_flow_control_never_pauses() {
    let mut gate = gate(PauseMode::Pfc { classes: 1 << 3 });
    gate.receive(at(0), &pfc(0xff, 100)).unwrap();
    assert_eq!(left(&gate, at(0)), [0, 0, 0, 512, 0, 0, 0, 0]);
}

#[test]
fn pause_stops_all_classes_and_only_in_its_mode() {
    let mut obeys = gate(PauseMode::Pause);
    obeys.receive(at(0), &pause(100)).unwrap();
    assert_eq!(left(&obeys, at(0)), [512; 8]);
    assert_eq!(obeys.receive(at(0), &pfc(0xff, 0)), Err(Ignored::Mode));
    assert_eq!(left(&obeys, at(0)), [512; 8]);
    obeys.receive(at(10), &pause(0)).unwrap();
    assert_eq!(left(&obeys, at(10)), [0; 8]);

    let mut with_pfc = gate(PauseMode::Pfc { classes: 0xff });
    assert_eq!(with_pfc.receive(at(0), &pause(100)), Err(Ignored::Mode));
    let mut off = gate(PauseMode::Off);
    assert_eq!(off.receive(at(0), &pause(100)), Err(Ignored::Mode));
    assert_eq!(off.receive(at(0), &pfc(0xff, 100)), Err(Ignored::Mode));
    assert_eq!((left(&with_pfc, at(0)), left(&off, at(0))), ([0; 8], [0; 8]));
}

#[test]
fn pause_may_go_to_the_station_itself_and_priority_flow_control_may_not() {
    let to = |dst, frame: MacControl<'static>| MacControl { eth: Ethernet { dst, ..frame.eth.clone() }, ..frame };
    let mut obeys = gate(PauseMode::Pause);
    assert_eq!(obeys.receive(at(0), &to(STATION, pause(1))), Ok(()));
    assert_eq!(obeys.receive(at(0), &to(PEER, pause(1))), Err(Ignored::Address));
    let mut with_pfc = gate(PauseMode::Pfc { classes: 0xff });
    assert_eq!(with_pfc.receive(at(0), &to(STATION, pfc(1, 1))), Err(Ignored::Address));
    assert_eq!(with_pfc.receive(at(0), &to(MAC_CONTROL_DESTINATION, pfc(1, 1))), Ok(()));
}

#[test]
fn tagged_short_and_unknown_frames_say_nothing() {
    let mut gate = gate(PauseMode::Pfc { classes: 0xff });
    let mut tagged = pfc(1, 1);
    tagged.eth.tags.push(Tag { tpid: 0x8100, tci: 0 });
    assert_eq!(gate.receive(at(0), &tagged), Err(Ignored::Tagged));
    for control in [&[0x01, 0x01, 0, 1, 0, 9][..], &[0, 2, 0, 9], &[1], &[]] {
        let mut bytes = [&MAC_CONTROL_DESTINATION.0[..], &PEER.0, &[0x88, 0x08], control].concat();
        bytes.truncate(14 + control.len());
        let Ok(Frame::MacControl(frame)) = decode(&bytes) else { panic!("{control:x?}") };
        assert_eq!(gate.receive(at(0), &frame), Err(Ignored::Opcode), "{control:x?}");
    }
    assert_eq!(left(&gate, at(0)), [0; 8]);
}

#[test]
fn the_class_stands_in_the_tag_or_in_the_dscp() {
    let mut eth = Ethernet { dst: STATION, src: PEER, tags: Default::default(), ethertype: 0 };
    let v4 = Net::V4(Ipv4 {
        version: 4,
        ihl: 5,
        tos: 48 << 2 | 2,
        total_len: 0,
        id: 0,
        flags_offset: 0,
        ttl: 1,
        protocol: 17,
        checksum: 0,
        src: Ipv4Addr::UNSPECIFIED,
        dst: Ipv4Addr::UNSPECIFIED,
        options: &[],
    });
    let v6 = Net::V6(Ipv6 {
        version: 6,
        traffic_class: 26 << 2,
        flow_label: 0,
        payload_len: 0,
        next_header: 17,
        hop_limit: 1,
        src: Ipv6Addr::UNSPECIFIED,
        dst: Ipv6Addr::UNSPECIFIED,
    });
    assert_eq!((ClassBy::Dscp.class(&eth, &v4), ClassBy::Dscp.class(&eth, &v6)), (6, 3));
    assert_eq!(ClassBy::Pcp.class(&eth, &v4), 0);
    eth.tags.push(Tag { tpid: 0x88a8, tci: 5 << 13 | 1 << 12 | 7 });
    eth.tags.push(Tag { tpid: 0x8100, tci: 2 << 13 });
    assert_eq!(ClassBy::Pcp.class(&eth, &v4), 5);
}
