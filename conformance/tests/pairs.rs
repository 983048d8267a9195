//! Two devices face to face: the scenarios for pairs, on emulators and on what dies.

mod common;

use std::time::{Duration, Instant};

use common::{Unwell, profile};
use rocespec::dut::{Addresses, Dut, DutError, Emulator, Stamped};
use rocespec::link::End;
use rocespec::profile::Profile;
use rocespec::run::pair::{Pairing, run_watched};
use rocespec::run::{Planned, Watch, plan_pairs};
use rocespec::scenario::{Scenario, catalogue};
use rocespec_control::{Command, Device, Reply};
use rocespec_model::{Defect, Policy, Time};
use rocespec_reports::outcome::{Run, Verdict};
use rocespec_reports::terminal::{self, Style};

fn emulator(behaviours: &str, end: End) -> Emulator {
    let places = Emulator::places();
    let emulator = Emulator::named(behaviours, profile()).unwrap();
    emulator.facing(&places[end as usize], places[end.other() as usize].clone())
}

fn play_on(ends: [&mut dyn Dut; 2], planned: &[Planned<'_>], jobs: usize) -> Run {
    let duts = ["one".to_owned(), "other".to_owned()];
    let pairing = Pairing {
        duts,
        seed: 1,
        command: "rocespec pair one other".to_owned(),
        repeat: String::new(),
        counters: false,
        jobs,
    };
    let watch = Watch { stop: &|| false, finished: &mut |_| (), done: &mut |_| () };
    run_watched(ends, planned, &pairing, watch)
}

fn play(behaviours: [&str; 2], planned: &[Planned<'_>]) -> Run {
    play_at_once(behaviours, planned, 2)
}

fn play_at_once(behaviours: [&str; 2], planned: &[Planned<'_>], jobs: usize) -> Run {
    play_on([&mut emulator(behaviours[0], End::A), &mut emulator(behaviours[1], End::B)], planned, jobs)
}

fn usual(scenarios: &[Scenario]) -> Vec<Planned<'_>> {
    plan_pairs(scenarios, &[], false).unwrap()
}

/// What is to be looked at of a run.
fn bad(run: &Run) -> Vec<String> {
    let bad = run.cases.iter().filter(|case| !matches!(case.verdict, Verdict::Pass | Verdict::Unsupported));
    bad.map(|case| terminal::case(case, &Style::default())).collect()
}

/// For each scenario a defect, and the end that has it, that makes it fail.
const FAILS_ON: &[(&str, &str, End)] = &[
    ("pair/ce", "drops-marked", End::A),
    ("pair/chaos", "retries-read-from-its-beginning", End::B),
    ("pair/clean-at-once", "sends-short-packets", End::A),
    ("pair/clean-atomic", "skips-psn", End::B),
    ("pair/clean-mix", "acks-before-responses", End::A),
    ("pair/clean-read", "read-segments-short", End::B),
    ("pair/clean-send", "sends-short-packets", End::A),
    ("pair/clean-uc", "uc-waits-for-ack", End::B),
    ("pair/clean-ud", "ud-hides-source", End::B),
    ("pair/clean-write", "sends-short-packets", End::B),
    ("pair/corrupt", "accepts-bad-icrc", End::A),
    ("pair/duplicates", "executes-duplicate-send", End::B),
    ("pair/late-ack", "naks-duplicate", End::A),
    ("pair/loss-ack", "executes-duplicate-send", End::B),
    ("pair/loss-again", "never-times-out", End::B),
    ("pair/loss-atomic-response", "executes-duplicate-atomic", End::A),
    ("pair/loss-burst", "skips-psn", End::B),
    ("pair/loss-each-position", "resends-middle-as-first", End::A),
    ("pair/loss-first", "accepts-psn-gap", End::A),
    ("pair/loss-flight", "resends-with-other-psn", End::B),
    ("pair/loss-immediate", "write-immediate-keeps-receive", End::B),
    ("pair/loss-last", "never-times-out", End::A),
    ("pair/loss-middle", "gap-nak-with-psn-of-packet", End::B),
    ("pair/loss-nak", "never-times-out", End::B),
    ("pair/loss-of-everything", "retries-without-end", End::A),
    ("pair/loss-only", "never-times-out", End::B),
    ("pair/loss-random", "acks-next-psn", End::A),
    ("pair/loss-read-again", "retries-read-from-its-beginning", End::B),
    ("pair/loss-read-request", "never-times-out", End::B),
    ("pair/loss-read-response", "accepts-read-gap", End::A),
    ("pair/loss-uc", "uc-delivers-broken-message", End::B),
    ("pair/loss-wrap", "skips-psn", End::A),
    ("pair/mtu-mismatch-long", "accepts-long-packet", End::B),
    ("pair/mtu-mismatch-short", "acks-next-psn", End::A),
    ("pair/pause-long", "times-out-early", End::A),
    ("pair/pause-loss", "retries-read-from-its-beginning", End::A),
    ("pair/pause-short", "acks-next-psn", End::B),
    ("pair/reorder-1", "accepts-psn-gap", End::B),
    ("pair/reorder-16", "accepts-read-gap", End::A),
    ("pair/reorder-4", "gap-nak-with-psn-of-packet", End::A),
    ("pair/reorder-64", "accepts-psn-gap", End::A),
    ("pair/rnr", "does-not-wait-for-rnr", End::A),
    ("pair/rnr-loss", "rnr-advances-psn", End::B),
];

#[test]
fn every_scenario_for_pairs_passes_on_two_emulators_in_every_variant() {
    let scenarios = catalogue().unwrap();
    let planned = plan_pairs(&scenarios, &[], true).unwrap();
    assert!(planned.len() > 100);
    let run = play(["", ""], &planned);
    assert_eq!(bad(&run), [""; 0]);
    assert_eq!(run.count(Verdict::Unsupported), 0);
    assert_eq!(run.device.dut, "one with other");
}

#[test]
fn every_scenario_for_pairs_can_fail() {
    let scenarios = catalogue().unwrap();
    let for_pairs: Vec<&str> = scenarios.iter().filter(|one| one.is_for_pairs()).map(|one| &*one.id).collect();
    let named: Vec<&str> = FAILS_ON.iter().map(|(scenario, ..)| *scenario).collect();
    assert_eq!(named, for_pairs, "each has its place in the table");
    let planned = usual(&scenarios);
    for (scenario, defect, end) in FAILS_ON {
        assert!(Defect::from_name(defect).is_some());
        let behaviours = if *end == End::A { [*defect, ""] } else { ["", *defect] };
        let cases: Vec<_> = planned.iter().filter(|case| case.scenario.id == *scenario).cloned().collect();
        let run = play(behaviours, &cases);
        assert!(run.count(Verdict::Fail) > 0, "{scenario} does not notice {defect} at {end}");
        let findings = run.cases.iter().flat_map(|case| &case.findings);
        assert!(findings.clone().all(|finding| finding.device.is_some()), "{scenario}: who was it?");
    }
}

#[test]
fn a_broken_packet_names_the_device_that_sent_it() {
    let scenarios = catalogue().unwrap();
    let planned = plan_pairs(&scenarios, &["pair/clean-send".to_owned()], false).unwrap();
    for (behaviours, name) in [(["acks-next-psn", ""], "A (one)"), (["", "acks-next-psn"], "B (other)")] {
        let run = play(behaviours, &planned[..1]);
        let first = run.cases[0].findings.iter().find(|finding| finding.line.is_none()).unwrap();
        assert_eq!(first.device.as_deref(), Some(name));
        let frame = run.cases[0].trace.iter().find(|line| line.frame == first.frame).unwrap();
        assert_eq!(Some(&frame.text), first.packet.as_ref());
    }
}

/// Each policy with the plain one, and with itself.
#[test]
fn what_a_policy_may_choose_makes_no_pair_fail() {
    let scenarios = catalogue().unwrap();
    let mut planned = usual(&scenarios);
    planned.dedup_by_key(|case| case.scenario.id.clone());
    for (policy, _) in Policy::PRESETS {
        for behaviours in [[policy, ""], ["", policy], [policy, policy]] {
            let bad = bad(&play(behaviours, &planned));
            assert!(bad.is_empty(), "{behaviours:?}: {}", bad.join("\n"));
        }
    }
}

#[test]
#[ignore = "takes half a minute"]
fn no_two_policies_fail_together() {
    let scenarios = catalogue().unwrap();
    let mut planned = usual(&scenarios);
    planned.dedup_by_key(|case| case.scenario.id.clone());
    for (one, _) in Policy::PRESETS {
        for (other, _) in Policy::PRESETS {
            let bad = bad(&play([one, other], &planned));
            assert!(bad.is_empty(), "{one} with {other}: {}", bad.join("\n"));
        }
    }
}

#[test]
fn the_one_that_dies_is_named_comes_back_and_the_rest_goes_on() {
    let scenarios = catalogue().unwrap();
    let filters = ["pair/clean-ud", "pair/clean-write", "pair/loss-first"].map(str::to_owned);
    let planned = plan_pairs(&scenarios, &filters, false).unwrap();
    let mut mortal = Unwell::new("");
    mortal.inner = emulator("", End::B);
    // The immediate data of one of the WRITEs.
    mortal.poison = Some(vec![0xca, 0xfe, 0xba, 0xbe]);
    let run = play_on([&mut emulator("", End::A), &mut mortal], &planned, 2);
    let mut killed = 0;
    for case in &run.cases {
        if case.scenario == "pair/clean-write" {
            assert_eq!(case.verdict, Verdict::Crash, "{}", case.id());
            assert!(case.reason.starts_with("B (other) died: "), "{}", case.reason);
            assert_eq!(case.findings[0].device.as_deref(), Some("B (other)"));
            killed += 1;
        } else {
            assert_eq!(case.verdict, Verdict::Pass, "{}: {}", case.id(), case.reason);
        }
    }
    assert_eq!(mortal.restarts, killed);
}

#[test]
fn a_device_that_does_not_come_back_leaves_the_rest_open() {
    let scenarios = catalogue().unwrap();
    let filters = ["pair/clean-write", "pair/loss-first"].map(str::to_owned);
    let planned = plan_pairs(&scenarios, &filters, false).unwrap();
    let mut mortal = Unwell::new("");
    mortal.inner = emulator("", End::A);
    mortal.stays_dead = true;
    // The UDP port of RoCE: any packet.
    mortal.poison = Some(vec![0x12, 0xb7]);
    let run = play_on([&mut mortal, &mut emulator("", End::B)], &planned, 2);
    assert_eq!(run.cases[0].verdict, Verdict::Crash);
    let rest = run.cases.iter().skip_while(|case| case.verdict != Verdict::Inconclusive);
    assert!(rest.clone().count() > 0 && rest.clone().all(|case| case.verdict == Verdict::Inconclusive));
}

/// An emulator in real time. What is sent to it comes to nothing: on its first queue pair, or on all.
struct Mute {
    inner: Emulator,
    begun: Instant,
    queue_pairs: usize,
    always: bool,
}

impl Mute {
    fn new(always: bool) -> Mute {
        Mute { inner: emulator("", End::B), begun: Instant::now(), queue_pairs: 0, always }
    }
}

impl Dut for Mute {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.queue_pairs += usize::from(matches!(command, Command::CreateQp { .. }));
        self.inner.control(command)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        if self.always || self.queue_pairs < 2 { Ok(()) } else { self.inner.transmit(frame) }
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        std::thread::sleep((until - self.now()).min(Duration::from_micros(200)));
        self.inner.advance(until.min(self.now()), seen)
    }

    fn now(&self) -> Time {
        Time::ZERO + self.begun.elapsed()
    }

    fn is_virtual(&self) -> bool {
        false
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn tester(&self) -> &Addresses {
        self.inner.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.inner.restart()
    }
}

#[test]
fn in_real_time_who_is_silent_once_is_not_blamed_and_who_always_is_fails() {
    let scenarios = catalogue().unwrap();
    let planned = plan_pairs(&scenarios, &["pair/loss-last".to_owned()], false).unwrap();
    for (always, verdict) in [(false, Verdict::Inconclusive), (true, Verdict::Fail)] {
        let run = play_on([&mut emulator("", End::A), &mut Mute::new(always)], &planned[..1], 1);
        let case = &run.cases[0];
        assert_eq!(case.verdict, verdict, "{}", case.reason);
        assert!(case.reason.contains(if always { "retry_exc_err" } else { "played again" }), "{}", case.reason);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs() {
    let scenarios = catalogue().unwrap();
    let planned = plan_pairs(&scenarios, &["pair/chaos".to_owned(), "pair/loss".to_owned()], false).unwrap();
    let with = |jobs| play_at_once(["", "credits-on"], &planned, jobs);
    assert_eq!(with(1), with(3));
}
