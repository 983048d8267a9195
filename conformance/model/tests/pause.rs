//! PAUSE and priority-based flow control, with frames.

mod harness;

use std::time::Duration;

use harness::flow::{Flow, control, nothing, pfc, tag, write};
use harness::{DUT_MAC, TESTER_MAC};
use rocespec_codec::{Control, MacAddr, Opcode, Pause, Pfc};
use rocespec_model::{ClassBy, Config, LinkSpeed, PauseConfig, PauseMode, Time};

/// Two queue pairs, of DSCP 24 (class 3) and 40 (class 5), that send as fast as the link lets them.
fn flow(mode: PauseMode, speed: LinkSpeed) -> Flow {
    let pause = PauseConfig { mode, class_by: ClassBy::Dscp };
    Flow::new(Config { pause, link_speed: Some(speed), ..Config::default() }, &[24, 40])
}

fn with_pfc() -> Flow {
    flow(PauseMode::Pfc { classes: 0xff }, LinkSpeed::G10)
}

fn pause(quanta: u16) -> Vec<u8> {
    control(Control::Pause(Pause { quanta }), |_| {})
}

#[test]
fn frames_follow_each_other_at_the_speed_of_the_link() {
    let sent = flow(PauseMode::Off, LinkSpeed::G10).run(100);
    for pair in sent.windows(2) {
        assert_eq!(pair[1].time - pair[0].time, LinkSpeed::G10.time_of_frame(pair[0].frame.len()));
    }
    assert!(sent.len() > 100);
}

#[test]
fn another_flow_control_lets_go_of_what_the_first_one_held() {
    let mut flow = with_pfc();
    flow.receive(&pfc(0xff, u16::MAX));
    assert_eq!(flow.count(50), 0);
    flow.port.set_flow_control(PauseConfig { mode: PauseMode::Pause, class_by: ClassBy::Dscp });
    assert!(flow.count(50) > 10);
    flow.receive(&pfc(0xff, u16::MAX));
    assert!(flow.count(50) > 10, "priorities are no longer obeyed");
    flow.receive(&pause(u16::MAX));
    flow.run(2);
    assert_eq!(flow.count(50), 0);
}

#[test]
fn without_a_speed_frames_take_no_time() {
    let mut flow = Flow::idle(Config::default(), &[24]);
    for psn in 0..3 {
        let frame = write(&flow, psn, nothing, nothing);
        flow.receive(&frame);
    }
    let times: Vec<_> = flow.run(10).iter().map(|sent| sent.time).collect();
    assert_eq!(times, [Time::from_nanos(1000); 3]);
}

#[test]
fn a_class_that_is_told_to_pause_sends_nothing_for_its_quanta_and_the_other_goes_on() {
    let mut flow = with_pfc();
    flow.run(100);
    flow.receive(&pfc(1 << 3, 1000));
    let end = flow.now + LinkSpeed::G10.time_of_quanta(1000);
    let sent = flow.run(100);
    let first = sent.iter().find(|sent| sent.qp() == 0).expect("it goes on afterwards");
    assert!(first.time >= end && first.time - end < Duration::from_micros(2), "{} {end}", first.time);
    let during = sent.iter().filter(|sent| sent.time < end && sent.qp() == 1).count();
    let fits = (51_200 / LinkSpeed::G10.time_of_frame(sent[0].frame.len()).as_nanos()) as usize;
    assert!(during.abs_diff(fits) <= 1, "{during} of {fits}: the other class has the link for itself");
}

#[test]
fn quanta_are_shorter_on_a_faster_link() {
    for (speed, micros) in [(LinkSpeed::G10, 52), (LinkSpeed::G100, 6), (LinkSpeed::G400, 2)] {
        let mut flow = flow(PauseMode::Pfc { classes: 0xff }, speed);
        flow.receive(&pfc(0xff, 1000));
        let first = flow.run(100)[0].time;
        assert_eq!(first, Time::ZERO + speed.time_of_quanta(1000));
        assert!(first <= Time::ZERO + Duration::from_micros(micros));
    }
}

#[test]
fn zero_quanta_let_it_go_on_at_once() {
    let mut flow = with_pfc();
    flow.receive(&pfc(0xff, u16::MAX));
    assert_eq!(flow.count(50), 0);
    flow.receive(&pfc(1 << 5, 0));
    let shares = flow.shares(50);
    assert!(shares[0] == 0 && shares[1] > 10, "{shares:?}");
}

#[test]
fn a_frame_that_has_begun_is_finished_and_the_next_waits_for_it() {
    for (quanta, ends_later) in [(1, false), (100, true)] {
        let mut flow = flow(PauseMode::Pfc { classes: 0xff }, LinkSpeed::G1);
        let begun = flow.run(1);
        assert_eq!(begun.len(), 1);
        let pause_ends = flow.now + LinkSpeed::G1.time_of_quanta(quanta);
        flow.receive(&pfc(0xff, quanta));
        let next = flow.run(100)[0].time;
        let through = begun[0].time + LinkSpeed::G1.time_of_frame(begun[0].frame.len());
        assert_eq!(pause_ends > through, ends_later);
        assert_eq!(next, through.max(pause_ends));
    }
}

#[test]
fn pause_stops_everything_in_its_mode_and_nothing_in_another() {
    let sends = |mode, frame: &[u8]| {
        let mut flow = flow(mode, LinkSpeed::G10);
        flow.receive(frame);
        flow.count(50) > 0
    };
    let pfc = pfc(0xff, u16::MAX);
    let all = PauseMode::Pfc { classes: 0xff };
    assert!(!sends(PauseMode::Pause, &pause(u16::MAX)) && sends(PauseMode::Pause, &pfc));
    assert!(sends(all, &pause(u16::MAX)) && !sends(all, &pfc));
    assert!(sends(PauseMode::Off, &pause(u16::MAX)) && sends(PauseMode::Off, &pfc));
    assert!(!sends(PauseMode::Pfc { classes: 1 << 3 | 1 << 5 }, &pfc));
    assert!(sends(PauseMode::Pfc { classes: 1 << 3 }, &pfc));
}

#[test]
fn frames_to_other_addresses_with_tags_or_of_unknown_opcodes_pause_nothing() {
    let all = Control::Pfc(Pfc::new(0xff, u16::MAX));
    let to = |address: MacAddr| control(all, |frame| frame.eth.dst = address);
    let other = [&[0x01, 0x02, 0, 0xff][..], &[0xff; 16]].concat();
    for frame in [to(DUT_MAC), to(TESTER_MAC), control(all, tag), control(Control::Other(&other), |_| {})] {
        let mut flow = with_pfc();
        flow.receive(&frame);
        assert!(flow.count(10) > 0, "{frame:x?}");
        assert_eq!((flow.counter("pause_ignored"), flow.counter("pause_obeyed")), (1, 0));
    }
}

#[test]
fn what_is_received_while_paused_is_taken_and_answered_afterwards() {
    let pause = PauseConfig { mode: PauseMode::Pfc { classes: 0xff }, class_by: ClassBy::Dscp };
    let mut flow = Flow::idle(Config { pause, link_speed: Some(LinkSpeed::G10), ..Config::default() }, &[24]);
    flow.receive(&pfc(1 << 3, 1000));
    for psn in 0..3 {
        let frame = write(&flow, psn, nothing, nothing);
        flow.receive(&frame);
    }
    let sent = flow.run(100);
    let acks: Vec<_> = sent.iter().map(|sent| sent.look(|packet| (packet.bth.opcode, packet.bth.psn.get()))).collect();
    assert_eq!(acks, [0, 1, 2].map(|psn| (Opcode::RC_ACKNOWLEDGE, psn)), "in their order");
    assert_eq!(sent[0].time, Time::ZERO + LinkSpeed::G10.time_of_quanta(1000));
}

#[test]
fn the_priority_of_the_tag_can_be_the_class() {
    let pause = PauseConfig { mode: PauseMode::Pfc { classes: 0xff }, class_by: ClassBy::Pcp };
    let mut flow = Flow::new(Config { pause, link_speed: Some(LinkSpeed::G10), ..Config::default() }, &[24]);
    flow.receive(&pfc(1 << 3, u16::MAX));
    assert!(flow.count(10) > 0, "untagged frames are of class 0");
    flow.receive(&pfc(1, u16::MAX));
    assert_eq!(flow.count(10), 0);
}

#[test]
fn nothing_is_lost_by_a_pause() {
    let psns = |pauses: &[u64]| {
        let mut flow = with_pfc();
        let mut psns = Vec::new();
        for micros in pauses {
            flow.receive(&pfc(0xff, 300));
            psns.extend(flow.run(*micros).iter().map(|sent| (sent.qp(), sent.look(|packet| packet.bth.psn.get()))));
        }
        (0..2).map(|qp| psns.iter().filter(|(of, _)| *of == qp).map(|(_, psn)| *psn).collect()).collect::<Vec<Vec<_>>>()
    };
    for of_one in psns(&[40, 7, 100, 16, 15, 200]) {
        assert!(of_one.len() > 20);
        assert!((0..).zip(&of_one).all(|(place, psn)| place == *psn), "{of_one:?}");
    }
}
