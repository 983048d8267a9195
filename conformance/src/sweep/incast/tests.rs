use std::time::Duration;

use rocespec_model::LinkSpeed;

use super::*;
use crate::link::{EcnMarking, PfcThresholds, Rate};
use crate::sweep::{DCQCN, PFC};

const SENDERS: u32 = 4;

/// Senders at 10 Gb/s that each have more than the queue has room for.
fn settings() -> Settings {
    Settings {
        speed: LinkSpeed::G10,
        round_trip: Duration::from_micros(5),
        message: 64 << 10,
        duration: Duration::from_millis(20),
        queue: 256 << 10,
        ecn: EcnMarking { min: 5_000, max: 100_000, most: Rate::percent(10) },
        ..Settings::default()
    }
}

fn run_with(settings: &Settings) -> (Measured, Incast) {
    let measured = run(settings, SENDERS, 1).unwrap();
    let incast = measured.incast.unwrap();
    (measured, incast)
}

#[test]
fn a_single_sender_has_the_link_to_itself() {
    let alone = run(&settings(), 1, 1).unwrap();
    assert!(alone.goodput_bps > 0.97 * settings().capacity_bps(), "{alone:?}");
    let incast = alone.incast.unwrap();
    assert_eq!((incast.fairness, incast.drops, incast.pauses, incast.marks), (1.0, 0, 0, 0));
}

#[test]
fn without_any_control_the_queue_overflows_and_go_back_n_repairs_it() {
    // What was lost is there again soon enough to be seen.
    let (measured, incast) = run_with(&Settings { ack_timeout: 8, ..settings() });
    assert!(incast.drops > 0 && incast.longest_queue > (256 << 10) - 2_000, "{incast:?}");
    assert!(measured.counts.retransmitted > 0 && measured.counts.messages > 0, "{measured:?}");
}

#[test]
fn with_priority_flow_control_nothing_is_lost_and_the_link_stays_busy() {
    let pfc = PfcThresholds { xoff: 40_000, xon: 20_000, ..PFC };
    let (measured, incast) = run_with(&Settings { pfc: Some(pfc), ..settings() });
    assert_eq!((incast.drops, measured.counts.retransmitted), (0, 0));
    assert!(incast.pauses > 10, "{incast:?}");
    assert!(measured.goodput_bps > 0.95 * settings().capacity_bps(), "{measured:?}");
}

#[test]
fn with_congestion_control_there_are_fewer_marks_and_pauses_and_the_senders_share() {
    let pfc = Some(PfcThresholds { xoff: 40_000, xon: 20_000, ..PFC });
    let (_, without) = run_with(&Settings { pfc, ..settings() });
    let (measured, with) = run_with(&Settings { pfc, dcqcn: Some(DCQCN), ..settings() });
    assert!(with.marks < without.marks && with.pauses < without.pauses, "{with:?} {without:?}");
    assert!(with.fairness > 0.8 && measured.counts.cnps > Some(0), "{with:?}");
    assert!(measured.goodput_bps > 0.5 * settings().capacity_bps(), "{measured:?}");
}

#[test]
fn fairness_is_jains_index() {
    assert_eq!([fairness(&[5, 5, 5, 5]), fairness(&[8, 0, 0, 0]), fairness(&[0, 0])], [1.0, 0.25, 1.0]);
}
