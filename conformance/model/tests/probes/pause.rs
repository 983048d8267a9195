//! PAUSE and priority-based flow control, VLAN tags.

use rocespec_codec::{Control, MacAddr, Pause, Pfc, Roce, Tag};
use rocespec_model::{ClassBy, Config, Defects, LinkSpeed, PauseConfig, PauseMode};

use crate::harness::flow::{Flow, control, nothing, pfc, tag, write};

const ALL: PauseMode = PauseMode::Pfc { classes: 0xff };

/// How much two queue pairs of classes 3 and 5 send in slices of 20 us, after each of these frames, 5 us apart.
fn slices(mode: PauseMode, defects: Defects, frames: &[Vec<u8>]) -> String {
    let pause = PauseConfig { mode, class_by: ClassBy::Dscp };
    let config = Config { pause, defects, link_speed: Some(LinkSpeed::G10), ..Config::default() };
    let mut flow = Flow::new(config, &[24, 40]);
    for frame in frames {
        flow.receive(frame);
        flow.run(5);
    }
    format!("{:?}", (0..6).map(|_| flow.shares(20)).collect::<Vec<_>>())
}

pub(crate) const PROBES: &[super::Probe] = &[
    |defects| slices(ALL, defects, &[pfc(1 << 3, 1000)]),
    |defects| slices(ALL, defects, &[pfc(1 << 3, 1000), pfc(1 << 3, 0)]),
    |defects| slices(ALL, defects, &[pfc(1 << 3, 1000), pfc(1 << 3, 300)]),
    |defects| {
        let timers_without_vector = Control::Pfc(Pfc { vector: 0, timers: [1000; 8] });
        slices(ALL, defects, &[control(timers_without_vector, |_| {})])
    },
    |defects| slices(ALL, defects, &[control(Control::Pause(Pause { quanta: 1000 }), |_| {})]),
    |defects| {
        let elsewhere = MacAddr([2, 0, 0, 0, 0, 9]);
        slices(ALL, defects, &[control(Control::Pfc(Pfc::new(0xff, 1000)), |frame| frame.eth.dst = elsewhere)])
    },
    |defects| {
        let other = [&[0x01, 0x02, 0, 0xff][..], &[0x11; 16]].concat();
        slices(ALL, defects, &[control(Control::Other(&other), |_| {})])
    },
    |defects| slices(ALL, defects, &[control(Control::Pfc(Pfc::new(0xff, 1000)), tag)]),
    |defects| {
        let pause = PauseConfig { mode: ALL, class_by: ClassBy::Dscp };
        let mut flow = Flow::idle(Config { pause, defects, ..Config::default() }, &[24]);
        flow.receive(&pfc(1, 100));
        let frame = write(&flow, 0, nothing, nothing);
        flow.receive(&frame);
        format!("{}", flow.count(10))
    },
    |defects| {
        let mut flow = Flow::idle(Config { defects, ..Config::default() }, &[0]);
        let tagged = |packet: &mut Roce<'_>| packet.eth.tags.push(Tag { tpid: 0x8100, tci: 5 });
        let frame = write(&flow, 0, tagged, nothing);
        flow.receive(&frame);
        format!("{:?}", flow.run(10)[0].look(|answer| answer.eth.tags.clone()))
    },
];
