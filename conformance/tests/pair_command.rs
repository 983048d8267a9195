//! `rocespec pair` as a command, on emulators and, where they were made, on guests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn rocespec(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocespec"));
    command.args(words);
    command
}

fn output(words: &[&str]) -> Output {
    rocespec(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn two_emulators_pass_and_the_report_names_both() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().to_str().unwrap();
    let run = output(&["pair", "emulator", "emulator:credits-on", "pair/clean-ud", "--report", report]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("device emulator with emulator:credits-on"));
    let report = json(&folder.path().join("report.json"));
    assert_eq!(report["pair"][1]["dut"], "emulator:credits-on");
    let repeat = report["cases"][0]["repeat"].as_str().unwrap();
    assert!(repeat.starts_with("rocespec pair 'emulator' 'emulator:credits-on' 'pair/clean-ud"), "{repeat}");
    assert!(folder.path().join("index.html").exists());
}

#[test]
fn several_devices_give_every_ordered_pair() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().to_str().unwrap();
    let run = output(&["pair", "emulator", "emulator:skips-psn", "pair/clean-uc", "--matrix", "--report", report]);
    assert_eq!(run.status.code(), Some(1));
    let matrix = json(&folder.path().join("matrix.json"));
    assert_eq!(matrix["pairs"].as_array().unwrap().len(), 4);
    assert_eq!(matrix["pairs"][0]["counts"]["PASS"], matrix["pairs"][0]["cases"].as_array().unwrap().len());
    let asks = &matrix["pairs"][2];
    assert_eq!((asks["a"].as_str(), asks["b"].as_str()), (Some("emulator:skips-psn"), Some("emulator")));
    assert_eq!(asks["cases"][0]["device"], "A (emulator:skips-psn)");
    for pair in matrix["pairs"].as_array().unwrap() {
        assert!(folder.path().join(pair["folder"].as_str().unwrap()).join("index.html").exists());
    }
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains("face to face") && page.contains(r"A \ B"));
    assert!(fs::read_to_string(folder.path().join("README.md")).unwrap().contains("# Interoperability"));
}

#[test]
fn the_counters_of_both_are_held_against_the_wire_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().to_str().unwrap();
    let clean = output(&["pair", "emulator", "emulator", "--counters", "--report", report]);
    assert!(clean.status.success() && !text(&clean.stdout).contains("LOOSE"), "{}", text(&clean.stdout));
    let words = ["pair", "emulator", "emulator:counts-cnps-twice", "pair/ce", "--report", report];
    let findings = |run: Output| {
        assert!(run.status.success(), "{}", text(&run.stderr));
        let report = json(&folder.path().join("report.json"));
        let findings = report["cases"].as_array().unwrap().iter().flat_map(|case| case["findings"].as_array().unwrap());
        findings.map(|finding| (finding["rule"].clone(), finding["device"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(findings(output(&words)), []);
    let found = findings(rocespec(&words).arg("--counters").output().unwrap());
    assert!(!found.is_empty());
    assert!(found.iter().all(|(rule, device)| {
        (rule.as_str(), device.as_str()) == (Some("device.link.counters"), Some("B (emulator:counts-cnps-twice)"))
    }));
}

#[test]
fn what_cannot_be_played_says_what_to_do() {
    let error = |words: &[&str]| {
        let run = output(words);
        assert_eq!(run.status.code(), Some(2));
        text(&run.stderr)
    };
    assert!(error(&["pair", "emulator", "pair/loss"]).contains("name two devices"));
    assert!(error(&["pair", "emulator", "emulator", "no-such-thing"]).contains("rocespec list"));
    assert!(error(&["run", "pair/loss"]).contains("rocespec pair"));
    assert!(error(&["pair", "emulator", "emulator:nonsense"]).contains("rocespec defects"));
}

/// The processes that this one has started, by the words of their command lines.
fn children(parent: u32) -> Vec<(u32, String)> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of_parent = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name in brackets: state, parent.
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok()) == Some(parent)
    };
    let words = |pid| text(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ");
    numbers.filter(of_parent).map(|pid| (pid, words(pid))).collect()
}

/// `cargo xtask rxe 6.1`, then `cargo test -p rocespec --test pair_command -- --ignored`.
#[test]
#[ignore = "needs a guest"]
fn a_guest_that_is_killed_in_the_middle_is_named_and_the_rest_goes_on() {
    for (end, mac) in [("A", "52:54:00:aa:00:02"), ("B", "52:54:00:aa:00:01")] {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().to_str().unwrap();
        let mut run = rocespec(&["pair", "rxe:6.1", "rxe:6.1", "pair/clean", "pair/loss", "--report", report])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let frames = folder.path().join("frames");
        while fs::read_dir(&frames).map_or(0, Iterator::count) < 5 {
            assert!(started.elapsed() < Duration::from_secs(300), "nothing was played");
            std::thread::sleep(Duration::from_millis(20));
        }
        let guests = children(run.id());
        let (pid, _) = guests.iter().find(|(_, words)| words.contains(&format!("mac={mac}"))).unwrap();
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        assert_eq!(run.wait().unwrap().code(), Some(1));
        let cases = json(&folder.path().join("report.json"))["cases"].as_array().unwrap().clone();
        let crashed: Vec<&Value> = cases.iter().filter(|case| case["verdict"] == "CRASH").collect();
        assert_eq!(crashed.len(), 1);
        let reason = crashed[0]["reason"].as_str().unwrap();
        assert!(reason.starts_with(&format!("{end} (rxe:6.1) died: ")), "{reason}");
        let known = |case: &&Value| !matches!(case["verdict"].as_str(), Some("PASS" | "XFAIL" | "LOOSE" | "CRASH"));
        assert_eq!(cases.iter().filter(known).count(), 0);
    }
}
