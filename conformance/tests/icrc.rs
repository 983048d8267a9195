//! `rocespec icrc` as a user meets it.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{frame, frames, text};
use rocespec::capture::{Direction, pcapng::Writer};
use serde_json::Value;

fn icrc(file: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("icrc").arg(file).args(words).output().unwrap()
}

const LINES: [&str; 4] =
    ["SEND_ONLY psn=1 ack 64B", "SEND_ONLY psn=2 13B icrc=bad", "SEND_ONLY v6 psn=3 icrc=0", "PFC prio=3 quanta=1"];

fn capture() -> (tempfile::TempDir, PathBuf) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, line) in LINES.iter().enumerate() {
        writer.frame(at as u64 * 1_000, Direction::Inbound, &frame(line), Some(line)).unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file.pcapng");
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    (place, path)
}

#[test]
fn wrong_packets_are_listed_with_what_was_probably_done() {
    let (_place, path) = capture();
    let output = icrc(&path, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].trim_start().starts_with("2 ") && lines[1].trim_start().starts_with("3 "), "{said}");
    assert!(lines[1].contains("placeholder"), "{said}");
    assert_eq!(lines[2], "3 packets: 1 right, 2 wrong");
}

#[test]
fn a_copy_has_right_ones_and_is_otherwise_the_same() {
    let (place, path) = capture();
    let fixed = place.path().join("fixed.pcapng");
    let output = icrc(&path, &["--fix", fixed.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "the capture was wrong: {}", text(&output.stderr));
    assert_eq!(icrc(&fixed, &[]).status.code(), Some(0));
    assert_eq!(frames(&fixed).len(), LINES.len());
    for (before, after) in frames(&path).into_iter().zip(frames(&fixed)) {
        let end = if before.number == 4 { 0 } else { 4 };
        assert_eq!(before.data[..before.data.len() - end], after.data[..after.data.len() - end]);
        assert_eq!(
            (before.time_ns, before.original_len, before.comment, before.data.len()),
            (after.time_ns, after.original_len, after.comment, after.data.len())
        );
    }
    let onto_itself = icrc(&path, &["--fix", path.to_str().unwrap()]);
    assert_eq!(onto_itself.status.code(), Some(2));
    assert!(text(&onto_itself.stderr).contains("not there yet"));
    assert_eq!(frames(&path).len(), LINES.len());
}

#[test]
fn a_frame_shows_which_bytes_count_and_which_are_masked() {
    let (_place, path) = capture();
    let output = icrc(&path, &["--frame", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for word in ["eight ones", "counts as ff (ip.ttl)", "counts as ff ff (udp.checksum)", "low byte first", "expected"]
    {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(icrc(&path, &["--frame", "1"]).status.code(), Some(0));
    for (number, why) in [("4", "is not RoCE"), ("9", "has no frame 9")] {
        let output = icrc(&path, &["--frame", number]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}

#[test]
fn a_frame_without_a_whole_icrc_is_said_to_have_none() {
    let (_place, path) = capture();
    let mut cut = frames(&path).remove(0);
    cut.data.truncate(60);
    let mut writer = Writer::bare(Vec::new()).unwrap();
    writer.copy(&cut).unwrap();
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    assert!(text(&icrc(&path, &[]).stdout).ends_with("1 without a whole ICRC\n"));
    let output = icrc(&path, &["--frame", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has no whole ICRC"), "{}", text(&output.stderr));
}

#[test]
fn programs_get_an_object_per_packet() {
    let (_place, path) = capture();
    let output = icrc(&path, &["--format", "json"]);
    let objects: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&str> = objects.iter().map(|object| object["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["right", "complemented", "placeholder"]);
    assert_eq!(objects[0]["expected"], objects[0]["found"]);
    assert_eq!(objects[0]["masked"][0], "ip.tos");
}
