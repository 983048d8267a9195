//! `rocespec scenario` as a user meets it.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{emulator, run_on, script, text};

fn rocespec(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).output().unwrap()
}

/// A capture of a case that a device with this defect played.
fn capture(defect: &str, steps: &str) -> (tempfile::TempDir, PathBuf) {
    let (_, files) = run_on(&mut emulator(defect), &[script("must", steps)]);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("field.pcapng");
    std::fs::write(&path, &files[0]).unwrap();
    (place, path)
}

/// Makes a scenario of the only connection and has devices play it: the exit codes.
fn play(capture: &Path, devices: [&str; 2]) -> (String, [Option<i32>; 2]) {
    let out = capture.with_file_name("from-the-field.toml");
    let made = rocespec(&["scenario", capture.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let report = capture.with_file_name("report");
    let codes = devices.map(|device| {
        let words =
            ["run", "--scenarios", out.to_str().unwrap(), "--dut", device, "--report", report.to_str().unwrap()];
        rocespec(&words).status.code()
    });
    (std::fs::read_to_string(&out).unwrap(), codes)
}

const WRITES: &str = "dut mr mr 4096 remote_write remote_read\ndut recv 64\n\
    > RDMA_WRITE_FIRST psn=0 va=mr+0x40 rkey=mr len=1500 1024B\n> RDMA_WRITE_LAST psn=1 ack 476B\n< ACK psn=1 msn=*\n\
    > SEND_ONLY psn=2 ack 16B=aa\n< ACK psn=2 msn=*\n\
    > RDMA_READ_REQUEST psn=3 va=mr+0x40 rkey=mr len=1500\n< RDMA_READ_RESPONSE_FIRST psn=3\n< RDMA_READ_RESPONSE_LAST psn=4\n";

#[test]
fn a_capture_of_a_right_device_becomes_a_scenario_that_right_devices_pass() {
    let (_place, path) = capture("", WRITES);
    let (made, codes) = play(&path, ["emulator", "emulator:msn-counts-packets"]);
    assert_eq!(codes, [Some(0), Some(1)], "{made}");
    for line in [
        "dut mr mr 1564 remote_write remote_read",
        "> RDMA_WRITE_FIRST psn=0 va=mr+0x40 rkey=mr len=1500 1024B",
        "> SEND_ONLY psn=2 ack 16B=aa",
        "< ACK psn=2 msn=2",
        "dut completions recv(len=16)",
    ] {
        assert!(made.lines().any(|other| other == line), "{line}:\n{made}");
    }
    assert!(made.contains("From field.pcapng, connection 1, frames 1 to 8; the device is 10.0.0.2."), "{made}");
}

#[test]
fn a_capture_of_a_faulty_device_becomes_a_scenario_that_it_fails() {
    let message = |psn: u32| {
        let (first, last) = (psn, psn + 1);
        format!(
            "> RDMA_WRITE_FIRST psn={first} va=mr rkey=mr len=1500 1024B\n> RDMA_WRITE_LAST psn={last} ack 476B\n< ACK psn={last}\n"
        )
    };
    let steps = format!("dut mr mr 4096 remote_write\n{}{}", message(0), message(2));
    let (_place, path) = capture("msn-counts-packets", &steps);
    let (made, codes) = play(&path, ["emulator", "emulator:msn-counts-packets"]);
    assert_eq!(codes, [Some(0), Some(1)], "{made}");
    assert!(made.contains("rules = [\"rc.responder.msn\"]"), "{made}");
    assert!(made.contains("# rc.responder.msn: frame 6: the device sent ACK psn=3 msn=3"), "{made}");
    assert!(made.contains("< ACK psn=3 msn=2 @rc.responder.msn"), "{made}");
}

#[test]
fn the_other_end_can_be_the_device() {
    let (_place, path) = capture("", WRITES);
    let made = rocespec(&["scenario", path.to_str().unwrap(), "--device", "10.0.0.1"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let said = text(&made.stdout);
    for line in ["dut send 16B=aa", "< SEND_ONLY psn=2 16B=aa", "> ACK psn=2 msn=2"] {
        assert!(said.lines().any(|other| other == line), "{line}:\n{said}");
    }
    assert!(said.contains("dut rdma_write ") && said.contains(" va=tester+0x40"), "{said}");
    let neither = rocespec(&["scenario", path.to_str().unwrap(), "--device", "10.0.0.9"]);
    assert_eq!(neither.status.code(), Some(2));
    assert!(text(&neither.stderr).contains("is between 10.0.0.1 and 10.0.0.2"), "{}", text(&neither.stderr));
}

#[test]
fn what_cannot_be_made_is_said() {
    let (place, path) = capture("", WRITES);
    let path = path.to_str().unwrap();
    let out = place.path().join("there.toml");
    std::fs::write(&out, "mine").unwrap();
    let taken = rocespec(&["scenario", path, "-o", out.to_str().unwrap()]);
    assert_eq!((taken.status.code(), std::fs::read_to_string(&out).unwrap()), (Some(2), "mine".to_owned()));
    let cases: [(&[&str], &str); 3] = [
        (&["--connection", "2"], "has one connection, and no number 2"),
        (&["--steps", "0"], "0 is not in 1..=2000"),
        (&["--connection", "0"], "no number 0"),
    ];
    for (words, why) in cases {
        let output = rocespec(&[&["scenario", path], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    let cut = rocespec(&["scenario", path, "--steps", "3"]);
    assert!(text(&cut.stderr).contains("it stops in front of frame 5, after 3 steps"), "{}", text(&cut.stderr));
}
