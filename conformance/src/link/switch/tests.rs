use std::time::Duration;

use rocespec_codec::notation::{self, Line, Scope};
use rocespec_codec::{Control, Ecn, Frame, MacAddr, MacControl, Pause, Pfc, Roce, decode, encode, encoded_len, icrc};
use rocespec_model::{ClassBy, Time};

use super::*;
use crate::link::Rate;

const GBIT_8: u64 = 8_000_000_000;

fn mac(port: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, port])
}

/// A frame from one port to another; `line` in the packet notation.
fn frame(from: u8, to: u8, line: &str) -> Vec<u8> {
    let mut scope = Scope::default();
    (scope.base.eth.src, scope.base.eth.dst) = (mac(from), mac(to));
    let mut room = [0; 8192];
    let Ok(Line::Roce(packet)) = notation::parse(line, &scope, &mut room) else { panic!("{line}") };
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}

/// A switch of three ports, 1 ns for a byte, no cable.
fn switch(change: impl FnOnce(&mut SwitchConfig)) -> Switch {
    let mut config = SwitchConfig { speed: GBIT_8, propagation: Duration::ZERO, ..SwitchConfig::default() };
    change(&mut config);
    let mut switch = Switch::new(config);
    for port in 0..3 {
        assert_eq!(switch.plug(mac(port)), usize::from(port));
    }
    switch
}

/// Everything until the switch is at rest: when, to which port, what.
fn drain(switch: &mut Switch) -> Vec<(u64, usize, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(next) = switch.next_timeout() {
        while let Some((port, frame)) = switch.poll(next) {
            all.push((next.nanos(), port, frame));
        }
        assert!(all.len() < 10_000, "it never rests");
    }
    all
}

fn look<T>(frame: &[u8], at: impl FnOnce(&Roce<'_>) -> T) -> T {
    let Ok(Frame::Roce(packet)) = decode(frame) else { panic!("not RoCE: {frame:02x?}") };
    assert!(icrc::verify(&packet));
    at(&packet)
}

fn pfc_of(frame: &[u8]) -> Option<Pfc> {
    match decode(frame) {
        Ok(Frame::MacControl(MacControl { control: Control::Pfc(pfc), .. })) => Some(pfc),
        _ => None,
    }
}

#[test]
fn a_frame_goes_to_its_address_and_takes_its_time_on_both_cables() {
    let mut switch = switch(|config| config.propagation = Duration::from_nanos(500));
    let sent = frame(0, 2, "SEND_ONLY psn=0 64B");
    switch.handle(Time::ZERO, 0, sent.clone());
    // 500 ns to the switch, 122 bytes and 24 around them at 1 ns each, 500 ns on.
    assert_eq!(drain(&mut switch), [(1146, 2, sent)]);
    switch.handle(Time::from_nanos(2000), 0, frame(0, 7, "SEND_ONLY psn=0 64B"));
    assert_eq!(drain(&mut switch), []);
    assert_eq!(switch.unknown_destinations(), 1);
}

#[test]
fn a_multicast_goes_to_every_other_port() {
    let mut switch = switch(|_| ());
    let mut sent = frame(1, 2, "SEND_ONLY psn=0 64B");
    sent[0] |= 1;
    switch.handle(Time::ZERO, 1, sent);
    let ports: Vec<usize> = drain(&mut switch).iter().map(|(_, port, _)| *port).collect();
    assert_eq!(ports, [0, 2]);
}

#[test]
fn a_full_queue_loses_its_tail_and_says_so() {
    let mut switch = switch(|config| config.queue = 1000);
    for psn in 0..10 {
        switch.handle(Time::ZERO, 0, frame(0, 2, &format!("SEND_ONLY psn={psn} 242B pad=2")));
    }
    // 302 bytes each: the one that is leaving and three that wait.
    let psns: Vec<u32> =
        drain(&mut switch).iter().map(|(_, _, frame)| look(frame, |packet| packet.bth.psn.get())).collect();
    assert_eq!(psns, [0, 1, 2]);
    let counters = switch.counters(2);
    assert_eq!((counters.frames, counters.drops, counters.max_queue), (3, 7, 906));
}

#[test]
fn senders_share_the_link_and_the_sum_is_its_speed() {
    let mut switch = switch(|_| ());
    for psn in 0..50 {
        for from in 0..2 {
            switch.handle(Time::ZERO, usize::from(from), frame(from, 2, &format!("SEND_ONLY psn={psn} 1024B")));
        }
    }
    let arrived = drain(&mut switch);
    assert_eq!(arrived.len(), 100);
    assert_eq!(arrived.last().unwrap().0, 100 * (1024 + 58 + 24));
}

#[test]
fn classes_take_turns_and_each_has_its_own_room() {
    let mut switch = switch(|config| config.queue = 400);
    for psn in 0..3 {
        switch.handle(Time::ZERO, 0, frame(0, 2, &format!("SEND_ONLY psn={psn} 64B")));
        switch.handle(Time::ZERO, 1, frame(1, 2, &format!("SEND_ONLY psn={psn} 64B ip.dscp=24")));
    }
    let classes: Vec<u8> =
        drain(&mut switch).iter().map(|(_, _, frame)| look(frame, |packet| packet.net.traffic_class() >> 5)).collect();
    assert_eq!(classes, [3, 0, 3, 0, 3, 0]);
}

#[test]
fn the_class_is_told_by_the_tag_where_the_switch_is_set_so() {
    let tagged = frame(0, 2, "SEND_ONLY psn=0 64B vlan.id=5 vlan.pcp=6 ip.dscp=24");
    assert_eq!(class_of(&tagged, ClassBy::Pcp), 6);
    assert_eq!(class_of(&tagged, ClassBy::Dscp), 3);
    assert_eq!(class_of(&frame(0, 2, "SEND_ONLY psn=0 ip.dscp=24"), ClassBy::Pcp), 0);
    assert_eq!(class_of(&[0; 60], ClassBy::Dscp), 0);
}

#[test]
fn the_chance_of_a_mark_rises_between_the_thresholds() {
    let ecn = EcnMarking { min: 1000, max: 3000, most: Rate::percent(20) };
    let chances = [0, 1000, 1500, 2000, 3000, 3001].map(|queue| ecn.chance(queue).get());
    assert_eq!(chances, [0, 0, 50_000, 100_000, 200_000, 1_000_000]);
    let step = EcnMarking { min: 1000, max: 1000, most: Rate::ALWAYS };
    assert_eq!([1000, 1001].map(|queue| step.chance(queue).get()), [0, 1_000_000]);
}

#[test]
fn a_long_queue_marks_what_may_be_marked() {
    let ecn = EcnMarking { min: 200, max: 400, most: Rate::percent(1) };
    let mut switch = switch(|config| config.ecn = Some(ecn));
    for psn in 0..8 {
        let ecn = if psn % 2 == 0 { "ect0" } else { "not-ect" };
        switch.handle(Time::ZERO, 0, frame(0, 2, &format!("SEND_ONLY psn={psn} 64B ip.ecn={ecn}")));
    }
    let marked: Vec<u32> = drain(&mut switch)
        .iter()
        .filter(|(_, _, frame)| look(frame, |packet| packet.net.ecn() == Ecn::Ce))
        .map(|(_, _, frame)| look(frame, |packet| packet.bth.psn.get()))
        .collect();
    assert_eq!(marked, [4, 6]);
    assert_eq!(switch.counters(2).marks, 2);
}

#[test]
fn a_sender_is_asked_to_pause_reminded_and_let_go() {
    let pfc = PfcThresholds { xoff: 1000, xon: 500, classes: 0b1000, quanta: 10 };
    let mut switch = switch(|config| config.pfc = Some(pfc));
    // Nobody else is asked, and other classes are not counted.
    switch.handle(Time::ZERO, 1, frame(1, 2, "SEND_ONLY psn=0 1024B"));
    for psn in 0..4 {
        switch.handle(Time::ZERO, 0, frame(0, 2, &format!("SEND_ONLY psn={psn} 1024B ip.dscp=24")));
    }
    let told: Vec<(u64, usize, Pfc)> =
        drain(&mut switch).iter().filter_map(|(at, port, frame)| Some((*at, *port, pfc_of(frame)?))).collect();
    assert!(told.iter().all(|(_, port, pfc)| *port == 0 && pfc.vector == 0b1000));
    let timers: Vec<u16> = told.iter().map(|(_, _, pfc)| pfc.timers[3]).collect();
    assert_eq!(timers.last(), Some(&0), "let go: {timers:?}");
    assert_eq!(timers.iter().filter(|timer| **timer == 0).count(), 1);
    // Asked again before 10 quanta of 64 ns are over.
    let at: Vec<u64> = told.iter().map(|(at, ..)| *at).collect();
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] <= 640), "{at:?}");
    assert_eq!(switch.counters(0).pauses, 1);
}

#[test]
fn the_switch_itself_pauses_when_asked() {
    let pfc = PfcThresholds { xoff: 1 << 20, xon: 0, classes: 0xff, quanta: 1 };
    let mut switch = switch(|config| config.pfc = Some(pfc));
    let control = |control| {
        let frame = Frame::MacControl(MacControl::new(mac(2), control));
        let mut bytes = vec![0; frame.encoded_len()];
        frame.encode(&mut bytes).unwrap();
        bytes
    };
    switch.handle(Time::ZERO, 2, control(Control::Pfc(Pfc::new(1 << 3, 100))));
    // With PFC, PAUSE says nothing.
    switch.handle(Time::ZERO, 2, control(Control::Pause(Pause { quanta: 1000 })));
    switch.handle(Time::ZERO, 0, frame(0, 2, "SEND_ONLY psn=0 64B ip.dscp=24"));
    switch.handle(Time::ZERO, 0, frame(0, 2, "SEND_ONLY psn=1 64B"));
    let arrived: Vec<(u64, u32)> =
        drain(&mut switch).iter().map(|(at, _, frame)| (*at, look(frame, |packet| packet.bth.psn.get()))).collect();
    assert_eq!(arrived, [(146, 1), (6400 + 146, 0)]);
}
