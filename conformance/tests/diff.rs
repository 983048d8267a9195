//! `rocespec diff` as a user meets it.

mod common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{frame, text};
use rocespec::capture::{Direction, pcapng::Writer};
use serde_json::Value;

fn diff(one: &Path, other: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("diff").args([one, other]).args(words).output().unwrap()
}

/// A folder with captures.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A capture of these packets, a millisecond apart.
    fn capture(&self, name: &str, lines: &[String]) -> PathBuf {
        self.file(name, &capture(lines, 1_000_000))
    }

    /// Compares captures of these packets.
    fn diff(&self, one: &[String], other: &[String], words: &[&str]) -> (Option<i32>, String) {
        let output = diff(&self.capture("a.pcapng", one), &self.capture("b.pcapng", other), words);
        assert_eq!(text(&output.stderr), "");
        (output.status.code(), text(&output.stdout))
    }
}

fn capture(lines: &[String], step_ns: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, line) in lines.iter().enumerate() {
        writer.frame(at as u64 * step_ns, Direction::Inbound, &frame(line), None).unwrap();
    }
    writer.finish().unwrap()
}

/// Everything that is new in each run.
#[derive(Clone, Copy)]
struct Run {
    hosts: [&'static str; 2],
    qpns: [u32; 2],
    psns: [u32; 2],
    rkey: u32,
    va: u64,
    port: u16,
}

const ONE: Run = Run {
    hosts: ["10.0.0.1", "10.0.0.2"],
    qpns: [0x11, 0x12],
    psns: [100, 7000],
    rkey: 0x1234,
    va: 0x7f00_0000_1000,
    port: 0xc000,
};

/// Its PSNs wrap around.
const OTHER: Run = Run {
    hosts: ["192.168.7.9", "192.168.7.4"],
    qpns: [0x77, 0x9],
    psns: [0xff_ffff, 0xff_fffe],
    rkey: 0x99,
    va: 0x5500_0000_0040,
    port: 0xd0d0,
};

impl Run {
    /// A packet of end 0 or 1.
    fn packet(&self, from: usize, head: &str, psn: u32, rest: &str) -> String {
        let to = 1 - from;
        let is_answer = ["ACK", "NAK"].iter().any(|end| head.ends_with(end)) || head.contains("RESPONSE");
        let origin = self.psns[if is_answer { to } else { from }];
        let psn = origin.wrapping_add(psn) & 0xff_ffff;
        let (src, dst, qp, port) = (self.hosts[from], self.hosts[to], self.qpns[to], self.port);
        format!("{head} psn={psn} {rest} qp={qp:#x} ip.src={src} ip.dst={dst} udp.sport={port}")
    }

    fn memory(&self, offset: u64) -> String {
        format!("va={:#x} rkey={:#x}", self.va + offset, self.rkey)
    }

    /// A conversation in which both ends ask and answer.
    fn lines(&self) -> Vec<String> {
        vec![
            self.packet(0, "SEND_ONLY", 0, "ack 64B"),
            self.packet(1, "ACK", 0, "msn=1"),
            self.packet(0, "RDMA_WRITE_ONLY", 1, &format!("{} ack 32B=aa", self.memory(0))),
            self.packet(1, "ACK", 1, "msn=2"),
            self.packet(0, "RDMA_READ_REQUEST", 2, &format!("{} len=64", self.memory(0x40))),
            self.packet(1, "RDMA_READ_RESPONSE_ONLY", 2, "msn=3 64B=bb"),
            self.packet(1, "SEND_ONLY", 0, "ack 16B=01"),
            self.packet(0, "ACK", 0, "msn=1"),
            self.packet(0, "SEND_ONLY", 3, "ack 8B=05"),
            self.packet(1, "ACK", 3, "msn=4 credits=3"),
        ]
    }
}

#[test]
fn a_capture_is_the_same_as_itself() {
    let place = Place::new();
    let (code, said) = place.diff(&ONE.lines(), &ONE.lines(), &["--strict", "--timing=0ns"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("\nsame: 1 connection compared; packets: 10 the same\n"), "{said}");
}

#[test]
fn other_hosts_queue_pairs_psns_and_keys_are_no_difference() {
    let place = Place::new();
    let (code, said) = place.diff(&ONE.lines(), &OTHER.lines(), &["--strict"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("packets: 10 the same\n"), "{said}");
}

#[test]
fn a_lost_packet_is_the_only_difference() {
    let place = Place::new();
    for lost in 0..10 {
        let mut lines = OTHER.lines();
        let gone = lines.remove(lost);
        let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
        let head = gone.split(' ').next().unwrap();
        let is_covered = head == "ACK" && lost < 5;
        assert_eq!(code, Some(u8::from(!is_covered).into()), "{gone}: {said}");
        assert!(said.contains("packets: 9 the same, 1 "), "{gone}: {said}");
        assert!(said.contains(&format!("A frame {} at 0.00{lost}000000s | B has none", lost + 1)), "{gone}: {said}");
        assert!(said.contains(&format!("    - {head} psn=")), "{gone}: {said}");
        assert_eq!(said.contains("one acknowledgement may stand for all before it"), is_covered, "{gone}: {said}");
        let (code, said) = place.diff(&lines, &ONE.lines(), &["--strict"]);
        assert_eq!(code, Some(1), "{gone}: {said}");
        assert!(said.contains("A has none"), "{gone}: {said}");
    }
}

#[test]
fn a_field_that_a_rule_governs_is_named_with_the_rule() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines[3] = OTHER.packet(1, "ACK", 1, "msn=3");
    let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
    assert_eq!(code, Some(1), "{said}");
    let expected = "  from b: A frame 4 at 0.003000000s | B frame 4 at 0.003000000s\n    - ACK psn=1 msn=2\n    + ACK psn=1 msn=3\n      \
                    msn: 2 in A, 3 in B, governed by rc.responder.msn\n";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("\ndifferent: 1 connection compared; packets: 9 the same, 1 different\n"), "{said}");
}

#[test]
fn what_a_sender_is_free_to_choose_counts_with_strict_alone() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines[9] = OTHER.packet(1, "ACK", 3, "msn=4 credits=9");
    let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("credits: 3 in A, 9 in B, free: how many credits"), "{said}");
    assert!(said.contains("\nthe same, but for what senders are free to choose: "), "{said}");
    assert_eq!(place.diff(&ONE.lines(), &lines, &["--strict"]).0, Some(1));
}

#[test]
fn another_packet_in_the_place_of_one_is_a_difference() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines[3] = OTHER.packet(1, "NAK", 1, "msn=1 code=remote_access_error");
    let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("    - ACK psn=1 msn=2\n    + NAK psn=1 msn=1 code=remote_access_error\n"), "{said}");
    assert!(said.contains("another packet, not free"), "{said}");
}

#[test]
fn an_address_that_is_off_in_its_region_is_a_difference() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines[4] = OTHER.packet(0, "RDMA_READ_REQUEST", 2, &format!("{} len=64", OTHER.memory(0x48)));
    let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("va: mr1+0x40 in A, mr1+0x48 in B, not free"), "{said}");
}

#[test]
fn what_differs_throughout_is_said_once() {
    let place = Place::new();
    let lines: Vec<String> = OTHER.lines().iter().map(|line| format!("{line} ip.df=0")).collect();
    let (code, said) = place.diff(&ONE.lines(), &lines, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.matches("ip.df: ordinary in A, 0 in B, governed by lint.fragment").count(), 4, "{said}");
    assert!(said.contains("from a: 4 packets from A 1 | B 1 on"), "{said}");
    assert!(said.contains("10 different"), "{said}");
}

#[test]
fn a_recording_that_begins_later_is_counted_alike() {
    let place = Place::new();
    let lines = OTHER.lines();
    let (code, said) = place.diff(&ONE.lines(), &lines[2..], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("B begins 1 PSNs later among the requests of a"), "{said}");
    assert!(said.contains("packets: 8 the same"), "{said}");
}

#[test]
fn the_order_of_what_both_ends_do_at_once_does_not_matter() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines.swap(6, 5);
    let (code, said) = place.diff(&ONE.lines(), &lines, &["--strict"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn connections_find_their_counterparts_and_those_without_are_named() {
    let place = Place::new();
    let second = Run { qpns: [0x21, 0x22], psns: [9, 90], ..ONE };
    let short: Vec<String> = (0..4).map(|psn| second.packet(0, "SEND_ONLY", psn, "ack 100B=07")).collect();
    let both: Vec<String> = short.iter().cloned().chain(ONE.lines()).collect();
    let (code, said) = place.diff(&both, &OTHER.lines(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("connection 1 of A: RC a = 10.0.0.1, b = 10.0.0.2 qp=0x22: no counterpart, 4 packets"),
        "{said}"
    );
    assert!(
        said.contains("1 connection compared, 1 without a counterpart; packets: 10 the same, 4 in A only"),
        "{said}"
    );
    let (code, said) = place.diff(&both, &OTHER.lines(), &["--connection", "2"]);
    assert_eq!(code, Some(0), "{said}");
    let output = diff(&place.0.path().join("a.pcapng"), &place.0.path().join("b.pcapng"), &["--connection", "3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has no connection 3, it has 2 connections"), "{}", text(&output.stderr));
}

#[test]
fn times_are_compared_when_asked_for() {
    let place = Place::new();
    let one = place.file("a.pcapng", &capture(&ONE.lines(), 1_000_000));
    let other = place.file("b.pcapng", &capture(&OTHER.lines(), 3_000_000));
    assert_eq!(diff(&one, &other, &["--strict"]).status.code(), Some(0));
    assert_eq!(diff(&one, &other, &["--strict", "--timing=2ms"]).status.code(), Some(0));
    let output = diff(&one, &other, &["--strict", "--timing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("time: +1ms in A, +3ms in B, free"), "{}", text(&output.stdout));
}

#[test]
fn programs_get_one_object() {
    let place = Place::new();
    let mut lines = OTHER.lines();
    lines[3] = OTHER.packet(1, "ACK", 1, "msn=3");
    let (code, said) = place.diff(&ONE.lines(), &lines, &["--format", "json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &report["verdict"]), (Some(1), &Value::from("different")));
    assert_eq!(report["files"][1]["packets"], 10);
    let difference = &report["connections"][0]["differences"][0];
    assert_eq!(difference["from"], "b");
    assert_eq!(difference["places"][0]["frame"], 4);
    assert_eq!(difference["fields"][0]["values"], serde_json::json!(["2", "3"]));
    assert_eq!(difference["fields"][0]["rule"], "rc.responder.msn");
    assert_eq!(report["counts"]["differing"], 1);
}

#[test]
fn a_damaged_file_is_compared_up_to_the_damage() {
    let place = Place::new();
    let whole = place.capture("a.pcapng", &ONE.lines());
    let bytes = std::fs::read(&whole).unwrap();
    let cut = place.file("b.pcapng", &bytes[..bytes.len() - 40]);
    let output = diff(&whole, &cut, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("packets: 9 the same"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("b.pcapng: "), "{}", text(&output.stderr));
    let absent = diff(&whole, &place.0.path().join("absent"), &[]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).contains("cannot read"), "{}", text(&absent.stderr));
}

#[test]
fn files_that_cannot_be_compared_say_so() {
    let place = Place::new();
    let capture = place.capture("a.pcapng", &ONE.lines());
    let pause = place.capture("b.pcapng", &["PFC prio=3 quanta=1".to_owned()]);
    let trace = place.file("c.trace", b"rocespec golden 1\n\n[]\n+0ns       > SEND_ONLY psn=0 ack 64B\n");
    let wrong = place.file("d.trace", b"rocespec golden 1\n\n[]\n+0ns       ! SEND_ONLY\n");
    let noise = place.file("e.pcap", b"not a capture at all, whatever its name says");
    for (file, why) in [
        (&pause, "1 frame, no RoCE packet among them; nothing to compare"),
        (&trace, "one of the two is a capture and the other a golden trace"),
        (&wrong, "d.trace, line 4: a sign is >, < or *"),
        (&noise, "e.pcap: "),
    ] {
        let output = diff(&capture, file, &[]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{why}");
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    let output = diff(Path::new("-"), Path::new("-"), &[]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn golden_traces_are_compared_variant_by_variant() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/goldens/emulator/rc/responder/psn-gap.trace");
    assert_eq!(diff(&golden, &golden, &["--strict"]).status.code(), Some(0));
    let place = Place::new();
    let changed = std::fs::read_to_string(&golden).unwrap().replacen("NAK psn=1 msn=1", "NAK psn=2 msn=1", 1);
    let changed = place.file("b.trace", changed.as_bytes());
    let output = diff(&golden, &changed, &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("psn: 1 in A, 2 in B, governed by rc.responder.gap-nak"), "{said}");
    assert!(said.contains("variant ip=v4,start_psn=0x000000"), "{said}");
}

#[test]
fn standard_input_is_one_of_the_two() {
    let place = Place::new();
    let one = place.capture("a.pcapng", &ONE.lines());
    let mut child = Command::new(env!("CARGO_BIN_EXE_rocespec"))
        .args(["diff", "-"])
        .arg(&one)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(&one).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn a_port_of_its_own_is_roce_when_it_is_named() {
    let place = Place::new();
    let lines: Vec<String> = ONE.lines().iter().map(|line| format!("{line} udp.dport=4000")).collect();
    let path = place.capture("a.pcapng", &lines);
    assert_eq!(diff(&path, &path, &[]).status.code(), Some(2));
    assert_eq!(diff(&path, &path, &["--port", "4000"]).status.code(), Some(0));
}
