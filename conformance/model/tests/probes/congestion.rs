//! Notification point and reaction point.

use std::time::Duration;

use rocespec_codec::{Opcode, Psn, Roce};
use rocespec_model::{Config, CongestionConfig, Defects, LinkSpeed, NotificationConfig, ReactionConfig};

use crate::harness::flow::{self, Flow, bad_icrc, cnp, limited, mark, nothing, packet, read, write};

/// What is seen of an endpoint that gets packets of the peer, one each microsecond.
fn notifying(defects: Defects, frames: impl Fn(&Flow) -> Vec<Vec<u8>>) -> String {
    let congestion = CongestionConfig { notification: Some(NotificationConfig::default()), ..Default::default() };
    let mut flow = Flow::idle(Config { congestion, defects, ..Config::default() }, &[10]);
    let sent: Vec<_> = frames(&flow)
        .iter()
        .flat_map(|frame| {
            flow.receive(frame);
            flow.run(1)
        })
        .collect();
    let rest = flow.run(10);
    sent.iter().chain(&rest).map(flow::line).collect::<Vec<_>>().join("\n")
}

/// What an endpoint has counted after these packets.
fn counting(defects: Defects, frames: impl Fn(&Flow) -> Vec<Vec<u8>>) -> String {
    let congestion = CongestionConfig { notification: Some(NotificationConfig::default()), ..Default::default() };
    let mut flow = Flow::idle(Config { congestion, defects, ..Config::default() }, &[10]);
    for frame in frames(&flow) {
        flow.receive(&frame);
    }
    flow.run(10);
    format!("{:?}", flow.port.counters().filter(|(_, count)| *count > 0).collect::<Vec<_>>())
}

/// How much two queue pairs send in slices of 100 us, after so many CNPs to the first one, 2 us apart.
fn reacting(reaction: ReactionConfig, defects: Defects, cnps: usize, frame: Vec<u8>) -> String {
    let congestion = CongestionConfig { reaction: Some(reaction), ..Default::default() };
    let config = Config { congestion, defects, link_speed: Some(LinkSpeed::G10), ..Config::default() };
    let mut flow = Flow::new(config, &[10, 10]);
    for _ in 0..cnps {
        flow.receive(&frame);
        flow.run(2);
    }
    format!("{:?}", (0..4).map(|_| flow.shares(100)).collect::<Vec<_>>())
}

fn both(packet: &mut Roce<'_>) {
    mark(packet);
    limited(packet);
}

pub(crate) const PROBES: &[super::Probe] = &[
    |defects| notifying(defects, |flow| vec![write(flow, 0, nothing, nothing)]),
    |defects| notifying(defects, |flow| vec![write(flow, 0, mark, bad_icrc)]),
    |defects| notifying(defects, |_| vec![cnp(0, mark, nothing)]),
    |defects| notifying(defects, |_| vec![cnp(0, nothing, nothing)]),
    |defects| notifying(defects, |flow| (0..3).map(|psn| write(flow, psn, mark, nothing)).collect()),
    |defects| notifying(defects, |flow| vec![write(flow, 0, both, nothing), write(flow, 9, mark, nothing)]),
    |defects| notifying(defects, |flow| vec![write(flow, 9, mark, nothing)]),
    |defects| counting(defects, |flow| vec![write(flow, 0, mark, nothing)]),
    |defects| reacting(ReactionConfig::PAPER, defects, 4, cnp(0, nothing, nothing)),
    |defects| reacting(ReactionConfig::PAPER, defects, 4, cnp(0, nothing, bad_icrc)),
    |defects| reacting(ReactionConfig::PAPER, defects, 4, cnp(0, |packet| packet.bth.psn = Psn::new(77), nothing)),
    |defects| reacting(ReactionConfig::PAPER, defects, 4, packet(0, Opcode::CNP, &[1; 16], nothing, nothing)),
    |defects| reacting(ReactionConfig::CONNECTX, defects, 4, cnp(0, nothing, nothing)),
    |defects| {
        let quick = ReactionConfig { gain: 512, alpha_timer: Duration::from_nanos(100), ..ReactionConfig::PAPER };
        reacting(quick, defects, 4, cnp(0, nothing, nothing))
    },
    |defects| {
        let congestion = CongestionConfig { reaction: Some(ReactionConfig::PAPER), ..Default::default() };
        let mut flow = Flow::idle(Config { congestion, defects, ..Config::default() }, &[10]);
        (0..40).for_each(|_| flow.cnp(0));
        let frame = read(&flow, 0, 0, 16 * 1024);
        flow.receive(&frame);
        format!("{}", flow.count(20))
    },
];
