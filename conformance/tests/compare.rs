//! `rocespec compare`: differences are found, explained, and told when they are gone.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{Unwell, emulator, text};
use rocespec::dut::Dut;
use rocespec::golden::{Explanations, Kind};
use rocespec::run::compare::{Compared, Options, Outcome, REQUESTER, RESPONDER, compare, script};
use rocespec::run::plan;
use rocespec::scenario::{self, Scenario};

/// Compares the model with a device on the scenarios that a filter takes.
fn on(scenarios: &[Scenario], filter: &str, device: &mut dyn Dut, known: &str) -> Vec<Compared> {
    let filters: Vec<String> = if filter.is_empty() { Vec::new() } else { vec![filter.to_owned()] };
    let planned = plan(scenarios, &filters, false).unwrap();
    let explanations = Explanations::parse("known", known).unwrap();
    let options = Options { seed: 1, repeat: String::new(), explanations: &explanations };
    let mut all = Vec::new();
    compare((&mut emulator(""), device), &planned, &options, &|| false, &mut |compared| all.push(compared));
    all
}

fn made(prefix: &str, count: u64) -> Vec<Scenario> {
    let ids = (0..count).map(|number| format!("{prefix}{number}"));
    ids.map(|id| scenario::parse("made", &id, &script(3, &id).unwrap()).unwrap()).collect()
}

fn binary(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    binary_in(folder.path(), words)
}

fn binary_in(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("compare").args(words).current_dir(folder).output().unwrap()
}

#[test]
fn the_model_does_not_differ_from_itself() {
    let catalogue = scenario::catalogue().unwrap();
    for scenarios in [catalogue, made(RESPONDER, 50), made(REQUESTER, 50)] {
        for case in on(&scenarios, "", &mut emulator(""), "") {
            assert!(
                matches!(case.result, Outcome::Same | Outcome::Unsupported(_)),
                "{}: {:?}",
                case.case,
                case.differences
            );
        }
    }
}

#[test]
fn a_field_that_differs_is_named_with_both_values_and_its_rule() {
    let catalogue = scenario::catalogue().unwrap();
    let cases =
        on(&catalogue, "rc/responder/psn-gap[ip=v4,start_psn=0xfffffe]", &mut emulator("gap-nak-off-by-one"), "");
    let shown = serde_json::to_value(&cases[0].differences[0]).unwrap();
    assert_eq!(shown["subject"]["field"], serde_json::json!({ "name": "psn", "expected": "1", "seen": "0" }));
    assert_eq!(shown["rule"], "rc.responder.gap-nak");
    assert_eq!(shown["kind"], "unexplained");
    assert_eq!(shown["expected"], "NAK psn=1 msn=1 code=psn_sequence_error");
    assert_eq!(shown["sent"], serde_json::json!(["SEND_ONLY psn=2 ack 64B"]));
}

#[test]
fn a_packet_that_one_side_alone_sends_is_a_difference() {
    let catalogue = scenario::catalogue().unwrap();
    let silent = on(&catalogue, "rc/responder/psn-gap", &mut emulator("ignores-psn-gap"), "");
    assert_eq!(
        (&*silent[0].differences[0].difference.expected, &*silent[0].differences[0].difference.seen),
        ("NAK psn=1 msn=1 code=psn_sequence_error", "nothing")
    );
    let noisy = on(&catalogue, "rc/responder/psn-gap", &mut emulator("repeats-gap-nak"), "");
    assert_eq!(noisy[0].differences[0].difference.expected, "nothing");
}

#[test]
fn what_software_sees_is_compared_too() {
    let catalogue = scenario::catalogue().unwrap();
    let subjects = |defect: &str, filter: &str| -> Vec<String> {
        let cases = on(&catalogue, filter, &mut emulator(defect), "");
        cases.iter().flat_map(|case| &case.differences).map(|d| d.difference.subject.word().to_owned()).collect()
    };
    assert!(subjects("executes-duplicate-write", "rc/responder/duplicate-write").contains(&"memory".to_owned()));
    assert!(subjects("executes-duplicate-send", "rc/responder/duplicate-send").contains(&"completion".to_owned()));
    assert!(subjects("answers-after-fatal-nak", "rc/responder/silence-after-nak").contains(&"qp".to_owned()));
}

#[test]
fn acknowledgements_that_stand_for_others_and_credits_are_free() {
    let catalogue = scenario::catalogue().unwrap();
    for (policy, filter) in [
        ("coalesce-all", "rc/responder/coalescing"),
        ("credits-on", "responder/send"),
        ("coalesce-none", "responder/send"),
    ] {
        let cases = on(&catalogue, filter, &mut emulator(policy), "");
        let differences: Vec<_> = cases.iter().flat_map(|case| &case.differences).collect();
        assert!(!differences.is_empty(), "{policy}");
        assert!(differences.iter().all(|difference| difference.kind == Kind::Freedom), "{policy}: {differences:?}");
    }
}

const GAP: &str = r#"
[[difference]]
cases = ["rc/responder/psn-gap*"]
sent = "SEND_ONLY psn=2"
subject = "psn"
model = "NAK code=psn_sequence_error"
device = "NAK psn=0"
kind = "deviation"
rule = "rc.responder.gap-nak"
why = "names the last packet that came"
"#;

#[test]
fn an_explanation_makes_a_difference_known() {
    let catalogue = scenario::catalogue().unwrap();
    let case = "rc/responder/psn-gap[ip=v4,start_psn=0xfffffe]";
    let known = on(&catalogue, case, &mut emulator("gap-nak-off-by-one"), GAP);
    assert_eq!(known[0].result, Outcome::Explained);
    assert_eq!(known[0].differences[0].kind, Kind::Deviation);
    for near in
        [GAP.replace("psn=2", "psn=3"), GAP.replace("\"psn\"", "\"msn\""), GAP.replace("rc/responder/psn", "uc/psn")]
    {
        assert_eq!(
            on(&catalogue, case, &mut emulator("gap-nak-off-by-one"), &near)[0].result,
            Outcome::Unexplained,
            "{near}"
        );
    }
}

#[test]
fn what_follows_from_a_parting_of_ways_is_not_asked_about() {
    let catalogue = scenario::catalogue().unwrap();
    let known = "[[difference]]\nsent = 'SEND_FIRST'\nsubject = 'packet'\nmodel = 'NAK'\ndevice = 'ACK'\nkind = 'deviation'\n\
                 rule = 'rc.responder.packet-length'\nwhy = 'takes it'\n";
    let apart = on(&catalogue, "rc/responder/first-short", &mut emulator("accepts-short-first"), known);
    assert!(apart.iter().all(|case| case.result == Outcome::Unexplained));
    let parts = format!("{known}parts = true\n");
    let apart = on(&catalogue, "rc/responder/first-short", &mut emulator("accepts-short-first"), &parts);
    assert!(apart.iter().all(|case| case.result == Outcome::Explained));
    assert!(apart[0].differences.iter().any(|difference| difference.kind == Kind::Follows));
}

#[test]
fn explanations_that_explain_nothing_or_anything_are_refused() {
    for (change, to, wanted) in [
        ("rc.responder.gap-nak", "rc.responder.gab-nak", "gab-nak"),
        ("\"deviation\"", "\"follows\"", "freedom"),
        ("names the last packet that came", " ", "say why"),
        ("subject", "object", "object"),
    ] {
        let error = Explanations::parse("known", &GAP.replace(change, to)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let anything = "[[difference]]\nsubject = 'psn'\nkind = 'freedom'\nrule = 'rc.responder.ack'\nwhy = 'because'\n";
    assert!(Explanations::parse("known", anything).is_err());
}

#[test]
fn made_sequences_find_defects() {
    let made = made(RESPONDER, 60);
    for defect in ["accepts-short-first", "gap-nak-off-by-one", "drops-duplicate", "ignores-rkey", "accepts-bad-icrc"] {
        let cases = on(&made, "", &mut emulator(defect), "");
        assert!(cases.iter().any(|case| case.result == Outcome::Unexplained), "{defect}");
    }
}

#[test]
fn made_sequences_in_which_the_device_sends_find_defects() {
    let made = made(REQUESTER, 60);
    for defect in ["sends-short-packets", "read-takes-one-psn", "ignores-start-psn"] {
        let cases = on(&made, "", &mut emulator(defect), "");
        assert!(cases.iter().any(|case| case.result == Outcome::Unexplained), "{defect}");
    }
}

#[test]
fn a_device_that_dies_is_a_difference_and_the_rest_goes_on() {
    let catalogue = scenario::catalogue().unwrap();
    let mut device = Unwell::new("");
    device.dies_on = Some(2);
    let cases = on(&catalogue, "rc/responder/psn-gap", &mut device, "");
    assert_eq!(cases[0].result, Outcome::Same, "a second look at a device that died once");
    assert_eq!(device.restarts, 1);
    let mut device = Unwell::new("");
    device.poison = Some((1..9).collect());
    let cases = on(&catalogue, "rc/responder/send", &mut device, "");
    assert!(cases.iter().any(|case| case.differences.iter().any(|d| d.difference.subject.word() == "death")));
}

#[test]
fn the_exit_code_says_whether_something_is_unexplained() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("known.toml"), GAP).unwrap();
    let defect = ["rc/responder/psn-gap[ip=v4,start_psn=0xfffffe]", "--dut", "emulator:gap-nak-off-by-one"];
    assert_eq!(binary(&["rc/responder/psn-gap"]).status.code(), Some(0));
    assert_eq!(binary(&defect).status.code(), Some(1));
    let known = [&defect[..], &["--differences", "known.toml"]].concat();
    let output = binary_in(folder.path(), &known);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    for cannot in [
        &["--dut", "rxe:absent"][..],
        &["no-such-case"],
        &["random/x"],
        &["--policy", "none"],
        &["--differences", "absent"],
    ] {
        assert_eq!(binary(cannot).status.code(), Some(2), "{cannot:?}");
    }
}

#[test]
fn the_command_that_a_difference_prints_repeats_it() {
    for filter in [&["rc/responder/psn-gap"][..], &["--random", "30", "--seed", "5"]] {
        let output = binary(&[filter, &["--dut", "emulator:gap-nak-off-by-one"]].concat());
        let shown = text(&output.stdout);
        let line =
            shown.lines().find_map(|line| line.trim().strip_prefix("again: rocespec compare ")).unwrap().to_owned();
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('\'')).collect();
        let again = binary(&words);
        assert_eq!(again.status.code(), Some(1), "{line}");
        assert!(text(&again.stdout).contains("1 cases: 0 the same, 0 explained, 1 unexplained"), "{line}");
    }
}

#[test]
fn explanations_that_nothing_needs_are_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("known.toml"), GAP).unwrap();
    let stale = text(&binary_in(folder.path(), &["--differences", "known.toml"]).stdout);
    assert!(stale.contains("names the last packet that came") && stale.contains("stale"), "{stale}");
    let part = text(&binary_in(folder.path(), &["rc/responder/send", "--differences", "known.toml"]).stdout);
    assert!(!part.contains("stale"), "{part}");
}

#[test]
fn the_report_folder_holds_text_json_and_frames() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["rc/responder/psn-gap", "--dut", "emulator:repeats-gap-nak", "--report", "out", "--format", "json"];
    let output = binary_in(folder.path(), &words);
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("out/compare.json")).unwrap()).unwrap();
    assert_eq!(shown, written);
    assert_eq!(shown["cases"][0]["result"], "unexplained");
    let text = std::fs::read_to_string(folder.path().join("out/compare.txt")).unwrap();
    assert!(text.contains("UNEXPLAINED"), "{text}");
    let frames = std::fs::read_dir(folder.path().join("out"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "pcapng"));
    assert_eq!(frames.count(), 3);
}
