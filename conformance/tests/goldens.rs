//! Golden traces: recorded, compared, and those of the repository.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{emulator, options};
use rocespec::dut::{Dut, Emulator};
use rocespec::golden::{Blessed, Blessing, Goldens, Tolerance, differences};
use rocespec::profile::Timing;
use rocespec::run::{Done, Options, plan, run};
use rocespec::scenario::{Scenario, catalogue};
use rocespec_reports::outcome::{Case, Difference, Verdict};

/// What the golden traces of the repository are recorded with.
const BLESS: &str = "cargo run --release -- run --all --bless";

fn part(ids: &[&str]) -> Vec<Scenario> {
    catalogue().unwrap().into_iter().filter(|scenario| ids.contains(&scenario.id.as_str())).collect()
}

/// Every variant of these scenarios on this device, each case as it is done.
fn play(mut dut: Emulator, scenarios: &[Scenario], mut look: impl FnMut(&mut Done)) {
    let planned = plan(scenarios, &[], true).unwrap();
    run(&mut dut as &mut dyn Dut, &planned, &options(), &mut |done: &mut Done| look(done));
}

fn bless(folder: &Path, behaviours: &str, scenarios: &[Scenario], whole: bool) -> Blessed {
    let goldens = of(folder, scenarios);
    let mut blessing = Blessing::default();
    play(emulator(behaviours), scenarios, |done| {
        let recording = done.form.as_ref().map(|form| form.recording(&done.case.trace, true)).unwrap_or_default();
        blessing.take(&done.case, recording, &goldens, Tolerance::EXACT);
    });
    blessing.write(folder, "emulator", scenarios, &goldens, whole).unwrap()
}

fn of(folder: &Path, scenarios: &[Scenario]) -> Goldens {
    Goldens::of_folder(folder, "emulator", scenarios.iter().map(|scenario| scenario.id.as_str())).unwrap()
}

/// What differs, by case.
fn compared(goldens: &Goldens, behaviours: &str, scenarios: &[Scenario]) -> Vec<(Case, Vec<Difference>)> {
    let mut cases = Vec::new();
    play(emulator(behaviours), scenarios, |done| {
        let Some(form) = &done.form else { return };
        let golden = goldens.get(&done.case.scenario, &done.case.variant_name());
        let golden = golden.unwrap_or_else(|| panic!("{} has no golden trace; record it: {BLESS}", done.case.id()));
        let recording = form.recording(&done.case.trace, true);
        cases.push((done.case.clone(), differences(golden, &recording, &done.case, Tolerance::EXACT)));
    });
    cases
}

#[test]
fn every_golden_trace_of_the_repository_reads_and_none_is_left_over() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/goldens");
    let scenarios = catalogue().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let profile = entry.unwrap().file_name().into_string().unwrap();
        Goldens::built_in(&profile).unwrap();
        let nothing = Blessing::default();
        let blessed = nothing.write(&folder, &profile, &scenarios, &Goldens::default(), false).unwrap();
        assert!(blessed.stale.is_empty(), "no scenario has these; {BLESS} removes them: {:?}", blessed.stale);
    }
}

#[test]
fn what_was_recorded_is_done_again_and_not_written_again() {
    let scenarios = part(&["rc/responder/psn-gap", "rc/requester/ack-timeout", "rc/responder/read"]);
    let folder = tempfile::tempdir().unwrap();
    let first = bless(folder.path(), "", &scenarios, true);
    assert_eq!((first.written, first.unchanged, first.refused.len()), (scenarios.len(), 0, 0));
    let goldens = of(folder.path(), &scenarios);
    let cases = compared(&goldens, "", &scenarios);
    assert!(cases.len() > scenarios.len(), "every variant is recorded");
    assert!(cases.iter().all(|(_, differences)| differences.is_empty()));
    let again = bless(folder.path(), "", &scenarios, true);
    assert_eq!((again.written, again.unchanged), (0, scenarios.len()));
}

#[test]
fn a_defect_is_a_difference_that_its_rule_governs() {
    let goldens = Goldens::built_in("emulator").unwrap();
    for (defect, scenario, subject, rule) in [
        ("gap-nak-with-psn-of-packet", "rc/responder/psn-gap", "psn", "rc.responder.gap-nak"),
        ("ignores-psn-gap", "rc/responder/psn-gap", "packet", "rc.responder.gap-nak"),
        ("repeats-gap-nak", "rc/responder/psn-gap", "packet", "rc.responder.one-nak-per-gap"),
        ("msn-counts-packets", "rc/responder/send-multi-packet", "msn", "rc.responder.msn"),
        ("times-out-early", "rc/requester/ack-timeout", "time", "rc.requester.ack-timeout"),
    ] {
        let scenarios = part(&[scenario]);
        for (case, differences) in compared(&goldens, defect, &scenarios) {
            let is =
                |difference: &&Difference| difference.subject == subject && difference.rule.as_deref() == Some(rule);
            assert!(differences.iter().find(is).is_some(), "{defect} in {}: {differences:#?}", case.id());
        }
    }
}

#[test]
fn what_a_policy_may_choose_is_free() {
    let goldens = Goldens::built_in("emulator").unwrap();
    let scenarios = part(&["rc/responder/coalescing"]);
    for (policy, subject) in [("coalesce-all", "packet"), ("credits-on", "credits")] {
        let cases = compared(&goldens, policy, &scenarios);
        assert!(cases.iter().any(|(_, differences)| differences.iter().any(|d| d.subject == subject)), "{policy}");
        for difference in cases.iter().flat_map(|(_, differences)| differences) {
            assert_eq!(difference.rule, None, "{policy}: {difference:?}");
        }
    }
}

#[test]
fn a_time_is_held_to_the_tolerance() {
    let scenarios = part(&["rc/requester/ack-timeout"]);
    let goldens = Goldens::built_in("emulator").unwrap();
    let device = |slack| Tolerance::of(&Timing { slack: Duration::from_millis(slack), ..common::profile().timing });
    for (tolerance, differs) in [(device(0), true), (device(1), true), (device(1000), false)] {
        play(emulator("timeout-longest"), &scenarios, |done| {
            let recording = done.form.as_ref().unwrap().recording(&done.case.trace, tolerance.is_exact());
            let golden = goldens.get(&done.case.scenario, &done.case.variant_name()).unwrap();
            let found = differences(golden, &recording, &done.case, tolerance);
            assert_eq!(found.iter().any(|difference| difference.subject == "time"), differs, "{found:#?}");
        });
    }
}

#[test]
fn what_fails_is_not_recorded_and_what_has_no_scenario_is_named_and_goes() {
    let scenarios = part(&["rc/responder/psn-gap"]);
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join("emulator/rc/gone.trace");
    std::fs::create_dir_all(stale.parent().unwrap()).unwrap();
    std::fs::write(&stale, "").unwrap();
    let blessed = bless(folder.path(), "ignores-psn-gap", &scenarios, false);
    assert_eq!((blessed.written, blessed.stale), (0, vec![stale.clone()]));
    assert!(!blessed.refused.is_empty() && stale.exists());
    bless(folder.path(), "", &scenarios, true);
    assert!(!stale.exists() && folder.path().join("emulator/rc/responder/psn-gap.trace").exists());
}

#[test]
fn nothing_is_written_or_removed_through_a_link() {
    let scenarios = part(&["rc/responder/psn-gap"]);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (profile, theirs) = (folder.path().join("emulator"), other.path().join("gone.trace"));
    std::fs::create_dir(&profile).unwrap();
    std::fs::write(&theirs, "precious").unwrap();
    std::os::unix::fs::symlink(other.path(), profile.join("memory")).unwrap();
    std::os::unix::fs::symlink(&theirs, profile.join("gone.trace")).unwrap();
    let blessed = bless(folder.path(), "", &scenarios, true);
    assert_eq!((blessed.written, blessed.stale), (1, Vec::new()));

    // The file, a folder on the way to it, and the folder of the profile.
    for link in ["emulator/rc/responder/psn-gap.trace", "emulator/rc", "emulator"] {
        let place = folder.path().join(link);
        match place.is_dir() {
            true => std::fs::remove_dir_all(&place).unwrap(),
            false => std::fs::remove_file(&place).unwrap(),
        }
        std::os::unix::fs::symlink(if link.ends_with("trace") { &theirs } else { other.path() }, &place).unwrap();
        let goldens = Goldens::default();
        let mut blessing = Blessing::default();
        play(emulator(""), &scenarios, |done| {
            let recording = done.form.as_ref().unwrap().recording(&done.case.trace, true);
            blessing.take(&done.case, recording, &goldens, Tolerance::EXACT);
        });
        let error = blessing.write(folder.path(), "emulator", &scenarios, &goldens, true).unwrap_err().to_string();
        assert!(error.contains(&format!("{} is a link", place.display())), "{error}");
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir_all(profile.join("rc/responder")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
}

#[test]
fn of_many_differences_the_first_are_listed() {
    let golden = rocespec::golden::read("x", "rocespec golden 1\n[]\n+0ns < ACK psn=0 msn=0\n... 99998\n").unwrap();
    play(emulator(""), &part(&["rc/responder/psn-gap"])[..1], |done| {
        let recording = done.form.as_ref().unwrap().recording(&done.case.trace, true);
        let found = differences(&golden[""], &recording, &done.case, Tolerance::EXACT);
        let more: Vec<usize> = (0..found.len()).filter(|&at| found[at].subject == "more").collect();
        assert!(found.len() < 250 && more.len() == 1 && more[0] >= 200, "{more:?} of {}", found.len());
    });
}

#[test]
fn the_numbers_of_a_connection_do_not_show() {
    // Another seed: other queue pair numbers and ports of the tester.
    let scenarios = part(&["rc/responder/psn-gap", "rc/responder/read", "memory/rkey-unknown"]);
    let recordings = |seed| {
        let planned = plan(&scenarios, &[], true).unwrap();
        let (mut recordings, mut frames) = (Vec::new(), Vec::new());
        run(&mut emulator(""), &planned, &Options { seed, ..options() }, &mut |done: &mut Done| {
            recordings.push(done.form.as_ref().unwrap().recording(&done.case.trace, true));
            frames.push(done.pcapng.clone());
        });
        (recordings, frames)
    };
    let (one, other) = (recordings(1), recordings(2));
    assert!(one.0.iter().zip(&other.0).all(|(one, other)| one.is(other)));
    assert!(one.1.iter().zip(&other.1).all(|(one, other)| one != other));
}

#[test]
fn the_emulator_does_what_its_golden_traces_say() {
    let scenarios = catalogue().unwrap();
    for (case, differences) in compared(&Goldens::built_in("emulator").unwrap(), "", &scenarios) {
        if case.verdict != Verdict::Unsupported {
            let id = case.id();
            assert!(differences.is_empty(), "{id}: is it meant? Then record it: {BLESS}\n{differences:#?}");
        }
    }
}
