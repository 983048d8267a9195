//! A sweep for the tests of its forms.

use super::{Clock, Counts, Curve, Fact, Finding, Incast, Point, Predicted, Run, SCHEMA, Spread, Sweep, What};

fn fact(name: &str, value: &str) -> Fact {
    Fact { name: name.to_owned(), value: value.to_owned() }
}

fn point(value: f64, goodputs: [f64; 2], reference: f64, hits: u64) -> Point {
    let goodput_bps = Spread::of(&goodputs);
    let run = |(seed, bps): (u64, f64)| Run {
        seed,
        goodput_bps: bps as u64,
        messages: 48,
        time_ns: (48.0 * 8.0 * 1_048_576.0 / bps * 1e9) as u64,
        ended: None,
    };
    Point {
        value,
        goodput_bps,
        relative: (goodput_bps.mean as f64 / reference * 1e6).round() / 1e6,
        predicted: None,
        counts: Counts {
            messages: 96,
            packets: 101_000,
            retransmitted: hits * 113,
            hits,
            timeouts: Some(hits / 40),
            naks: Some(hits),
            cnps: Some(0),
        },
        incast: None,
        runs: [1, 2].into_iter().zip(goodputs).map(run).collect(),
    }
}

/// Losses on a cable, with formulas and a finding.
pub(crate) fn loss() -> Sweep {
    let reference = 92e9;
    let predicted = |go_back_n, with_timeouts| Some(Predicted { go_back_n, with_timeouts });
    let points = vec![
        Point { predicted: predicted(1.0, 1.0), ..point(0.0, [92e9; 2], reference, 0) },
        Point { predicted: predicted(0.999, 0.998), ..point(1e-5, [91.8e9, 91.9e9], reference, 1) },
        Point { predicted: predicted(0.9, 0.25), ..point(1e-3, [10.6e9, 40.2e9], reference, 98) },
        Point { predicted: predicted(0.47, 0.003), ..point(1e-2, [0.24e9, 0.21e9], reference, 2_200) },
    ];
    Sweep {
        schema: SCHEMA,
        tool: "rocespec 0.1.0".to_owned(),
        command: "rocespec pair emulator emulator --sweep loss=1e-5,1e-3,1e-2 --runs 2".to_owned(),
        devices: ["emulator".to_owned(), "emulator:x<y".to_owned()],
        clock: Clock::Virtual,
        what: What::Loss,
        setting: vec![fact("link", "100 Gb/s"), fact("round trip", "10us"), fact("message", "1 MiB")],
        curves: vec![Curve {
            name: String::new(),
            reference_bps: reference as u64,
            reference: "measured at 0".to_owned(),
            points,
        }],
        findings: vec![Finding {
            curve: String::new(),
            value: "1e-2".to_owned(),
            seed: 2,
            device: "emulator:x<y".to_owned(),
            rule: Some("rc.responder.ack-psn".to_owned()),
            sentence: "expected psn=1, saw psn=2: <why>".to_owned(),
        }],
        complete: true,
    }
}

/// Senders to one receiver, with two curves; one run ended early, and it was stopped.
pub(crate) fn incast() -> Sweep {
    let incast = |fairness, drops| Some(Incast { fairness, drops, marks: 1_234, pauses: 17, longest_queue: 211_000 });
    let curve = |name: &str, share: f64| {
        let mut points: Vec<Point> = [1f64, 4.0, 16.0]
            .into_iter()
            .map(|senders| {
                let bps = 92e9 * share.powf(senders.log2());
                Point { incast: incast(1.0 - senders / 100.0, senders as u64), ..point(senders, [bps; 2], 92e9, 0) }
            })
            .collect();
        points[2].runs[1].ended = Some("2 of 16 senders gave up: their retries were used up".to_owned());
        Curve {
            name: name.to_owned(),
            reference_bps: 92_000_000_000,
            reference: "what the link carries".to_owned(),
            points,
        }
    };
    Sweep {
        command: "rocespec pair emulator emulator --sweep incast=1,4,16".to_owned(),
        what: What::Incast,
        curves: vec![curve("DCQCN off, PFC off", 0.8), curve("DCQCN on, PFC off", 0.98)],
        findings: Vec::new(),
        complete: false,
        ..loss()
    }
}
