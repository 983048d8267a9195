//! `rocespec cut` as a user meets it.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{frame, frames, text};
use rocespec::capture::{CapturedFrame, Direction, pcapng::Writer};
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{Frame, decode};

fn cut(file: &Path, out: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("cut").args([file, out]).args(words).output().unwrap()
}

/// A host name stands in each comment.
const LINES: [&str; 6] = [
    "SEND_ONLY qp=0x11 psn=1 ack 64B",
    "SEND_ONLY qp=0x12 psn=2 13B icrc=bad",
    "ACK qp=0x13 v6 psn=3 msn=1",
    "PFC prio=3 quanta=1",
    "raw 020000000002020000000001080600010800060400010200000000010a0000010000000000000a000002",
    "raw 020000000002020000000001080045000028000000004006000077777777787878780000000000000000000000000000000000000000",
];

fn capture() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, line) in LINES.iter().enumerate() {
        writer.frame(at as u64 * 1_000, Direction::Inbound, &frame(line), Some("of host db7")).unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let (path, out) = (place.path().join("file.pcapng"), place.path().join("out.pcapng"));
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    (place, path, out)
}

/// Which frames of the capture the words choose.
fn chosen(words: &[&str]) -> Vec<String> {
    let (_place, path, out) = capture();
    let output = cut(&path, &out, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    let number = |frame: CapturedFrame| {
        let comment = frame.comment.unwrap();
        let number = comment.lines().next().unwrap().strip_prefix("frame ").unwrap().to_owned();
        let before = &frames(&path)[number.parse::<usize>().unwrap() - 1];
        assert_eq!((frame.time_ns, frame.original_len), (before.time_ns, before.original_len));
        number
    };
    frames(&out).into_iter().map(number).collect()
}

#[test]
fn frames_are_chosen_by_number_and_by_what_they_are() {
    assert_eq!(chosen(&["--frames", "2..4"]), ["2", "3", "4"]);
    assert_eq!(chosen(&["--frames", "5..", "--frames", "1"]), ["1", "5", "6"]);
    assert_eq!(chosen(&["--around", "3", "--context", "1"]), ["2", "3", "4"]);
    assert_eq!(chosen(&["--around", "3", "--context", "1", "--opcode", "SEND"]), ["2", "3"]);
    assert_eq!(chosen(&["--qp", "0x12"]), ["2"]);
    assert_eq!(chosen(&["--errors"]), ["2"]);
    assert_eq!(chosen(&["--from", "10.0.0.1", "--frames", "..2"]), ["1", "2"]);
    assert_eq!(chosen(&["--roce"]), ["1", "2", "3", "4"]);
    assert_eq!(chosen(&["--connection", "2"]), ["2"]);
    assert_eq!(chosen(&["--connection", "3", "--frames", "..4"]), ["3"]);
    assert_eq!(chosen(&[]).len(), LINES.len());
}

#[test]
fn an_anonymous_copy_says_what_it_left_out_and_names_nobody() {
    let (_place, path, out) = capture();
    let output = cut(&path, &out, &["--anonymise"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for part in ["5 frames of 6 written", "1 left out", "of another protocol", "2 with the payload that they had"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let bytes = std::fs::read(&out).unwrap();
    let secrets: [&[u8]; 4] =
        [b"db7", &[10, 0, 0, 1], &[0x77; 4], &[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]];
    for secret in secrets {
        assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{secret:?}");
    }
    let lines: Vec<String> = frames(&out)
        .iter()
        .filter_map(|frame| match decode(&frame.data) {
            Ok(Frame::Roce(packet)) => Some(print(&packet, &Scope::default()).to_string()),
            _ => None,
        })
        .collect();
    let v4 = "ip.src=198.18.0.1 ip.dst=198.18.0.2";
    assert_eq!(lines[0], format!("SEND_ONLY qp=0x11 psn=1 ack 64B {v4}"));
    assert_eq!(lines[1], format!("SEND_ONLY qp=0x12 psn=2 13B {v4} icrc=bad"));
    assert_eq!(lines[2], "ACK v6 qp=0x13 psn=3 msn=1 ip.src=2001:db8::1 ip.dst=2001:db8::2");
}

#[test]
fn payload_goes_and_frames_are_shortened_on_request() {
    let (_place, path, out) = capture();
    assert_eq!(cut(&path, &out, &["--no-payload", "--frames", "1"]).status.code(), Some(0));
    let data = frames(&out)[0].data.clone();
    let Ok(Frame::Roce(packet)) = decode(&data) else { panic!() };
    assert_eq!(print(&packet, &Scope::default()).to_string(), "SEND_ONLY qp=0x11 psn=1 ack 64B=00");
    for (snap, len) in [("30", 30), ("headers", 54)] {
        std::fs::remove_file(&out).unwrap();
        assert_eq!(cut(&path, &out, &["--snap", snap, "--frames", "1"]).status.code(), Some(0));
        let frame = frames(&out).remove(0);
        assert_eq!((frame.data.len(), frame.original_len), (len, 122));
    }
}

#[test]
fn nothing_is_overwritten_and_no_empty_file_is_left() {
    let (place, path, out) = capture();
    let before = std::fs::read(&path).unwrap();
    let onto_itself = cut(&path, &path, &[]);
    assert_eq!(onto_itself.status.code(), Some(2));
    assert!(text(&onto_itself.stderr).contains("not there yet"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    for (file, words) in [(&path, &["--connection", "9"][..]), (&place.path().join("none"), &[])] {
        assert_eq!(cut(file, &out, words).status.code(), Some(2));
        assert!(!out.exists());
    }
    let nothing = cut(&path, &out, &["--qp", "0x99"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("none of 6 frames"), "{}", text(&nothing.stderr));
    assert!(!out.exists());
}

#[test]
fn a_damaged_file_gives_what_stands_before_the_damage() {
    let (_place, path, out) = capture();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 10);
    std::fs::write(&path, bytes).unwrap();
    let output = cut(&path, &out, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(frames(&out).len(), 5);
    assert!(text(&output.stdout).contains("5 frames of 5"), "{}", text(&output.stdout));
}
