//! Sweeps as a user meets them: what they write, what they say, what they refuse.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::text;

fn sweep(folder: &Path, devices: [&str; 2], words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocespec"));
    command.arg("pair").args(devices).args(words).current_dir(folder).output().unwrap()
}

const SHORT: [&str; 6] = ["--message", "16KiB", "--packets", "1000", "--runs", "2"];

#[test]
fn a_sweep_writes_its_report_and_the_same_command_gives_the_same_numbers() {
    let place = tempfile::tempdir().unwrap();
    let run = |report: &str| {
        let words = [&["--sweep", "loss=1e-2", "--report", report][..], &SHORT].concat();
        let output = sweep(place.path(), ["emulator"; 2], &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("100 % is"), "{}", text(&output.stdout));
        for file in ["index.html", "sweep.csv", "sweep.txt"] {
            assert!(place.path().join(report).join(file).exists(), "{file}");
        }
        let json = std::fs::read_to_string(place.path().join(report).join("sweep.json")).unwrap();
        json.replace(&format!("--report {report}"), "")
    };
    assert_eq!(run("one"), run("two"));
}

#[test]
fn a_broken_rule_exits_with_1_and_is_told() {
    let place = tempfile::tempdir().unwrap();
    let words = [&["--sweep", "loss=0"][..], &SHORT].concat();
    let output = sweep(place.path(), ["emulator", "emulator:icrc-byte-swapped"], &words);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("FINDING loss 0, seed 1: emulator:icrc-byte-swapped broke lint.icrc"));
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let place = tempfile::tempdir().unwrap();
    for (words, says) in [
        (&["--sweep", "delay=1"][..], "take loss, reorder, ce or incast"),
        (&["--sweep", "loss=2"], "write 0.01, 1e-2 or 1%"),
        (&["--sweep", "loss=0", "--message", "16MiB"], "do not fit into"),
        (&["--sweep", "incast=2", "--xon", "200KB"], "--xon is above --xoff"),
        (&["--sweep", "incast=2", "--kmin", "1MiB"], "--kmin is above --kmax"),
        (&["--sweep", "incast=2", "--operation", "read"], "--operation is for"),
        (&["--sweep", "loss=0", "--kmin", "5KB"], "--kmin is an option of incast"),
        (&["--sweep", "ce=0", "--depth", "4"], "--depth is an option of reorder"),
        (&["--sweep", "loss=0", "--round-trip", "1ns"], "take 1us to 1s"),
        (&["--sweep", "loss=0", "--speed", "fast"], "take a speed like 100G"),
        (&["--speed", "100G"], "--sweep"),
    ] {
        let output = sweep(place.path(), ["emulator"; 2], words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(says), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "nothing is written");
}
