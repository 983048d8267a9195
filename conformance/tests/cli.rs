//! The binary as a user meets it: exit codes, messages, files.

use std::path::Path;
use std::process::{Command, Output};

fn rocespec(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_writes_a_report_and_exits_with_0() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "rc/responder/psn-gap"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("PASS"), "{}", text(&output.stdout));
    for file in ["report.json", "junit.xml", "report.txt", "frames"] {
        assert!(place.path().join("report").join(file).exists(), "{file}");
    }
    let frames = std::fs::read_dir(place.path().join("report/frames")).unwrap().count();
    assert!(frames > 0);
}

#[test]
fn a_defect_exits_with_1_and_says_how_to_repeat_it() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "rc/responder/psn-gap", "--dut", "emulator:ignores-psn-gap"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(shown.contains("--dut 'emulator:ignores-psn-gap' --seed 1"), "{shown}");
}

#[test]
fn the_command_that_a_failure_prints_repeats_it() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "psn-gap", "--dut", "emulator:ignores-psn-gap", "--seed", "7"]);
    let shown = text(&output.stdout);
    let line = shown.lines().map(str::trim).find(|line| line.starts_with("rocespec run '")).unwrap().to_owned();
    let words: Vec<&str> = line.split_whitespace().skip(1).map(|word| word.trim_matches('\'')).collect();
    let again = rocespec(place.path(), &words);
    assert_eq!(again.status.code(), Some(1), "{line}");
    assert!(text(&again.stdout).contains("1 cases: 1 fail") || text(&again.stdout).contains("1 case: 1 fail"));
}

#[test]
fn what_cannot_be_run_exits_with_2_and_says_what_to_do() {
    let place = folder();
    std::fs::write(place.path().join("broken.toml"), "title = 'x'\nscript = '''\n> SEND_ONYL psn=0\n'''\n").unwrap();
    std::fs::write(place.path().join("noise.toml"), [0xff, 0xfe, 0x00, 0x80, b'\n', 0xc3]).unwrap();
    for (words, wanted) in [
        (&["run", "no-such-scenario"][..], "rocespec list"),
        (&["run", "--dut", "emulator:no-such-defect"], "rocespec defects"),
        (&["run", "--dut", "toaster"], "emulator"),
        (&["run", "--profile", "nobody"], "built in are"),
        (&["run", "--scenarios", "."], "broken.toml"),
        (&["run", "--scenarios", "absent"], "absent"),
        (&["run", "--dut", "rxe:absent"], "cargo xtask rxe"),
        (&["decode", "absent.pcap"], "absent.pcap"),
        (&["decode", "broken.toml"], "broken.toml"),
        (&["rules", "no.such.rule"], "no rule matches"),
    ] {
        let output = rocespec(place.path(), words);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {shown}");
        assert!(shown.contains(wanted), "{words:?}: {shown}");
    }
}

#[test]
fn a_report_folder_that_cannot_be_made_is_said_before_anything_runs() {
    let place = folder();
    std::fs::write(place.path().join("file"), "").unwrap();
    let output = rocespec(place.path(), &["run", "psn-gap", "--report", "file/below"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("file/below"));
}

#[test]
fn what_a_run_recorded_can_be_decoded() {
    let place = folder();
    rocespec(place.path(), &["run", "rc/responder/psn-gap[ip=v4,start_psn=0x000000]"]);
    let file = "report/frames/rc.responder.psn-gap[ip=v4,start_psn=0x000000].pcapng";
    let output = rocespec(place.path(), &["decode", file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.lines().any(|line| line.contains(" NAK ") && line.contains("psn=1 msn=1 code=psn_sequence_error")),
        "{shown}"
    );
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let place = folder();
    for command in ["list", "rules", "defects"] {
        let plain = rocespec(place.path(), &[command]);
        assert_eq!(plain.status.code(), Some(0), "{command}");
        let json = rocespec(place.path(), &[command, "--format", "json"]);
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&json.stdout).unwrap();
        assert!(rows.len() >= 20, "{command}");
    }
}
