//! Two right ends with a faulty link between them, captured anywhere: nothing is blamed.

use std::net::IpAddr;
use std::time::Duration;

use rocespec::capture::CapturedFrame;
use rocespec::check::Options;
use rocespec::link::pair::{Endless, Pair, PairConfig, Passed, Receives};
use rocespec::link::{Burst, End, Faults, RandomFaults, Rate};
use rocespec::scenario::Network;
use rocespec_codec::{Frame, Mtu, Psn, RnrTimer, Transport, decode};
use rocespec_model::Policy;

use crate::{artefact, captured, certain, examine, told};

/// Packets of a capture.
const PACKETS: u64 = 160;

/// Where a capture is made, and whether a frame that passes an end is there.
type Point = (&'static str, fn(&Passed) -> bool);

const POINTS: [Point; 4] = [
    ("at A", |passed| passed.at == End::A),
    ("at B", |passed| passed.at == End::B),
    ("before the losses", |passed| passed.at == passed.from),
    ("behind the losses", |passed| passed.at != passed.from),
];

fn faults(kind: u64) -> Faults {
    let plain = Faults::default();
    match kind {
        0 => plain,
        1 => Faults { loss: Rate::percent(3), ..plain },
        2 => Faults { reordering: Rate::percent(5), depth: 4, ..plain },
        3 => Faults { duplication: Rate::percent(3), loss: Rate::percent(1), ..plain },
        4 => Faults { burst: Burst { begins: Rate::percent(1), ends: Rate::percent(25) }, ..plain },
        5 => Faults { congestion: Rate::percent(5), corruption: Rate::percent(2), ..plain },
        _ => Faults {
            loss: Rate::percent(2),
            reordering: Rate::percent(2),
            duplication: Rate::percent(1),
            truncation: Rate::percent(1),
            jitter: Duration::from_micros(3),
            depth: 8,
            ..plain
        },
    }
}

/// Everything that passed the ports of a pair.
fn traffic(seed: u64, transport: Transport, policies: [Policy; 2]) -> Vec<Passed> {
    let mtu = if seed.is_multiple_of(2) { Mtu::B256 } else { Mtu::B1024 };
    let config = PairConfig {
        transport,
        network: Network::ALL[seed as usize % Network::ALL.len()],
        mtu,
        start_psn: [Psn::new(0xff_fff0), Psn::new(seed as u32 * 977)],
        policy: policies,
        rnr_timer: RnrTimer::new(1),
        max_len: mtu.bytes() as u32 * 5,
        receives: [Receives::default(), Receives { ready: 2, after: Duration::from_micros(seed % 3 * 20) }],
        ..PairConfig::default()
    };
    let operations = Endless::new(seed, transport, mtu.bytes() as u32, config.max_len);
    let mut pair = Pair::new(&config, RandomFaults::new(faults(seed % 7), seed), operations).unwrap().capturing();
    pair.run_packets(PACKETS, Duration::from_secs(10)).unwrap_or_else(|violation| panic!("{violation}"));
    pair.passed().to_vec()
}

fn frames(passed: &[Passed], is_there: impl Fn(&Passed) -> bool) -> Vec<CapturedFrame> {
    let there = passed.iter().filter(|passed| is_there(passed));
    there.map(|passed| captured(1_000_000_000 + passed.time.nanos(), passed.frame.clone())).collect()
}

fn assert_no_blame(transport: Transport) {
    let mut blamed = Vec::new();
    for (at, (name, policy)) in Policy::PRESETS.iter().enumerate() {
        let seed = at as u64 + transport as u64 * 100;
        let passed = traffic(seed, transport, [*policy, Policy::PRESETS[at * 5 % Policy::PRESETS.len()].1]);
        for (number, (point, is_there)) in POINTS.into_iter().enumerate() {
            let frames = frames(&passed, is_there);
            // Each traffic meets every artefact at one of the places.
            for artefact in artefact::ALL.iter().skip(number).step_by(POINTS.len()) {
                let file = examine(&Options::default(), &artefact.apply(&frames));
                if certain(&file).next().is_some() {
                    blamed.push(format!("{name}, {point}, {}:{}", artefact.name, told(certain(&file))));
                }
            }
        }
    }
    assert!(blamed.is_empty(), "{} captures:\n{}", blamed.len(), blamed.join("\n"));
}

#[test]
fn right_ends_of_rc_are_never_blamed() {
    assert_no_blame(Transport::Rc);
}

#[test]
fn right_ends_of_xrc_are_never_blamed() {
    assert_no_blame(Transport::Xrc);
}

#[test]
fn right_ends_of_uc_are_never_blamed() {
    assert_no_blame(Transport::Uc);
}

#[test]
fn right_ends_of_ud_are_never_blamed() {
    assert_no_blame(Transport::Ud);
}

/// At the port of an end nothing is missing: more can be asked for, and still nothing is blamed.
#[test]
fn right_ends_are_never_blamed_where_the_capture_is_whole() {
    for transport in [Transport::Rc, Transport::Xrc, Transport::Uc, Transport::Ud] {
        for (at, (name, policy)) in Policy::PRESETS.iter().enumerate() {
            let passed = traffic(at as u64 + 1000, transport, [*policy; 2]);
            for end in End::BOTH {
                let own = passed.iter().find(|passed| passed.from == end).and_then(|passed| sender(&passed.frame));
                let own: Vec<_> = own.into_iter().collect();
                let options = Options { judge: own.clone(), at: own, ..Options::default() };
                let frames = frames(&passed, |passed| passed.at == end);
                for artefact in artefact::ALL.iter().filter(|artefact| artefact.is_whole()) {
                    let file = examine(&options, &artefact.apply(&frames));
                    let artefact = artefact.name;
                    assert!(
                        certain(&file).next().is_none(),
                        "{transport:?}, {name}, {end}, {artefact}:{}",
                        told(certain(&file))
                    );
                }
            }
        }
    }
}

fn sender(frame: &[u8]) -> Option<IpAddr> {
    match decode(frame) {
        Ok(Frame::Roce(packet)) => Some(packet.net.src_gid().to_canonical()),
        _ => None,
    }
}
