use rocespec_model::{Defect, Defects};
use rocespec_reports::sweep::{Point, Sweep};

use super::*;

/// As many packets as a test has time for.
fn short() -> Settings {
    Settings { message: 128 << 10, packets: 40_000, ..Settings::default() }
}

fn sweep(axis: &str, settings: Vec<(&str, Settings)>) -> Sweep {
    let settings: Vec<Setting> =
        settings.into_iter().map(|(name, settings)| Setting { name: name.to_owned(), settings }).collect();
    let devices = ["emulator", "emulator"].map(str::to_owned);
    let watch = Watch { stop: &|| false, done: &|| () };
    curves(&axis.parse().unwrap(), &settings, 1, 2, devices, &watch)
}

fn points(sweep: &Sweep) -> &[Point] {
    assert_eq!(sweep.findings, []);
    assert!(sweep.complete);
    &sweep.curves[0].points
}

#[test]
fn the_same_seeds_give_the_same_sweep() {
    let settings = || vec![("", Settings { packets: 4_000, ..short() })];
    let once = sweep("loss=1e-2", settings());
    assert_eq!(once, sweep("loss=1e-2", settings()));
    let goodputs: Vec<u64> = points(&once)[1].runs.iter().map(|run| run.goodput_bps).collect();
    assert_ne!(goodputs[0], goodputs[1], "each run has chances of its own");
}

#[test]
fn go_back_n_is_unharmed_at_few_losses_and_next_to_nothing_is_left_at_many() {
    let lossy = sweep("loss=1e-5,1e-2", vec![("", short())]);
    let [none, few, many] = points(&lossy) else { panic!() };
    assert_eq!((none.counts.hits, none.counts.retransmitted, none.relative), (0, 0, 1.0));
    assert!(none.goodput_bps.mean as f64 > 0.99 * short().capacity_bps(), "{none:?}");
    assert!(few.relative > 0.98, "{few:?}");
    assert!(many.relative < 0.05 && many.counts.timeouts > Some(0), "{many:?}");
}

#[test]
fn where_timeouts_are_short_the_formula_holds() {
    let quick = Settings { ack_timeout: 4, ..short() };
    let lossy = sweep("loss=1e-3,1e-2", vec![("", quick)]);
    for point in &points(&lossy)[1..] {
        let predicted = point.predicted.unwrap().with_timeouts;
        assert!((0.75..1.33).contains(&(point.relative / predicted)), "{point:?}");
    }
}

#[test]
fn frames_out_of_order_are_taken_for_losses() {
    let disorder = sweep("reorder=1e-3", vec![("", short())]);
    let [_, some] = points(&disorder) else { panic!() };
    assert!(some.counts.naks > Some(0) && some.counts.retransmitted > some.counts.hits, "{some:?}");
    assert!(some.relative < 0.98, "{some:?}");
}

#[test]
fn marks_slow_down_only_a_sender_that_reacts() {
    let reacting = Settings { dcqcn: Some(DCQCN), ..short() };
    let marked = sweep("ce=1e-2", vec![("off", short()), ("on", reacting)]);
    let relative = |curve: usize| marked.curves[curve].points[1].relative;
    assert!(relative(0) > 0.999 && relative(1) < 0.8, "{} {}", relative(0), relative(1));
    assert_eq!(marked.curves[0].points[1].counts.cnps, Some(0));
    assert!(marked.curves[1].points[1].counts.cnps > Some(0));
}

#[test]
fn a_broken_rule_is_a_finding_and_no_measurement() {
    let defects = [Defects::NONE, Defects::NONE.with(Defect::IcrcByteSwapped)];
    let broken = sweep("loss=0", vec![("", Settings { packets: 1_000, defects, ..short() })]);
    assert_eq!(broken.findings.len(), 2);
    let finding = &broken.findings[0];
    assert_eq!((finding.rule.as_deref(), finding.seed), (Some("lint.icrc"), 1));
    assert!(broken.curves[0].points.is_empty());
}

#[test]
fn a_sweep_that_is_stopped_says_so() {
    let settings = [Setting { name: String::new(), settings: short() }];
    let devices = ["a", "b"].map(str::to_owned);
    let watch = Watch { stop: &|| true, done: &|| () };
    let stopped = curves(&"loss=0".parse().unwrap(), &settings, 1, 2, devices, &watch);
    assert!(!stopped.complete && stopped.curves[0].points.is_empty());
}

#[test]
fn messages_fit_into_memory_or_it_is_said() {
    let of = |message, outstanding| Settings { message, outstanding, ..Settings::default() };
    assert_eq!(of(4 << 20, 2).check(None), Ok(()));
    assert!(of(8 << 20, 1).check(None).unwrap_err().contains("do not fit"));
    assert!(of(1 << 20, 64).check(None).unwrap_err().contains("64 messages"));
    assert_eq!(of(64 << 10, 4).check(Some(64)), Ok(()));
    assert!(of(1 << 20, 4).check(Some(64)).unwrap_err().contains("64 senders"));
}
