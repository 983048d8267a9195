//! `rocespec check` as a user meets it.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::frame_in;
use rocespec::capture::{Direction, pcapng::Writer};
use rocespec_codec::notation::Scope;
use rocespec_codec::{Net, Qpn};
use rocespec_reports::examination::{Examination, Paired};

/// Nanoseconds since 1970 of the first frame, and between two.
const START_NS: u64 = 1_700_000_000_000_000_000;
const STEP_NS: u64 = 200_000;

/// An exchange without a fault: `>` goes from 10.0.0.1 to 10.0.0.2, `<` back.
const CLEAN: &str = "
    > SEND_FIRST psn=@0xfffffe 1024B
    > SEND_LAST psn=@0xffffff ack 100B
    < ACK psn=@0xffffff msn=1
    > RDMA_READ_REQUEST psn=@0 va=0x1000 rkey=1 len=2400
    < RDMA_READ_RESPONSE_FIRST psn=@0 msn=2 1024B
    < RDMA_READ_RESPONSE_MIDDLE psn=@1 1024B
    < RDMA_READ_RESPONSE_LAST psn=@2 msn=2 352B
    > SEND_ONLY psn=@3 ack 64B
    < ACK psn=@3 msn=3";

/// The request behind a READ takes the PSN of its last response, and is answered as a duplicate.
const STALL: &str = "
    > SEND_FIRST psn=@0xfffffe 1024B
    > SEND_LAST psn=@0xffffff ack 100B
    < ACK psn=@0xffffff msn=1
    > RDMA_READ_REQUEST psn=@0 va=0x1000 rkey=1 len=2400
    < RDMA_READ_RESPONSE_FIRST psn=@0 msn=2 1024B
    < RDMA_READ_RESPONSE_MIDDLE psn=@1 1024B
    < RDMA_READ_RESPONSE_LAST psn=@2 msn=2 352B
    > SEND_ONLY psn=@2 ack 64B
    < ACK psn=@2 msn=2
    > SEND_ONLY psn=@2 ack 64B
    < ACK psn=@2 msn=2";

/// An ICRC that is wrong, by no mistake that is known.
const DAMAGED: &str = "
    > SEND_ONLY psn=@0 ack 64B
    < ACK psn=@0 msn=1
    > SEND_ONLY psn=@1 ack 64B icrc=0x1a2b3c4d";

/// A datagram that is somebody else's.
const WEB: &str = "> UD_SEND_ONLY psn=0 qp=5 src_qp=6 qkey=1 64B udp.dport=443";

/// The frames of some lines as a pcapng file.
fn capture(lines: &str) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        writer.frame(START_NS + at as u64 * STEP_NS, Direction::Inbound, &frame(line), None).unwrap();
    }
    writer.finish().unwrap()
}

fn frame(line: &str) -> Vec<u8> {
    let (way, text) = line.split_at(1);
    let mut scope = Scope::default();
    scope.base.bth.dest_qp = Qpn::new(if way == ">" { 0x22 } else { 0x11 });
    if way == "<" {
        std::mem::swap(&mut scope.base.eth.dst, &mut scope.base.eth.src);
        if let Net::V4(ip) = &mut scope.base.net {
            std::mem::swap(&mut ip.src, &mut ip.dst);
        }
    }
    frame_in(&scope, text.trim())
}

/// A folder with capture files in it, in which commands run.
struct Desk(tempfile::TempDir);

impl Desk {
    fn with(files: &[(&str, &[u8])]) -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            std::fs::write(desk.path().join(name), bytes).unwrap();
        }
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rocespec"));
        command.args(words).current_dir(self.path()).env_remove("COLUMNS");
        command
    }

    /// Exit code, standard output, standard error.
    fn check(&self, words: &[&str]) -> (Option<i32>, String, String) {
        said(&self.command(&[&["check"], words].concat()).output().unwrap())
    }

    /// Exit code, and what the JSON says.
    fn json(&self, words: &[&str]) -> (Option<i32>, Examination) {
        let (code, out, _) = self.check(&[words, &["--format", "json"]].concat());
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}")))
    }
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Rules that were broken in a file, with their frames.
fn broken(examination: &Examination, file: usize) -> Vec<(u64, &str)> {
    let file = &examination.files[file];
    let findings = file.connections.iter().map(|connection| &connection.findings).chain([&file.loose]);
    findings.flat_map(|found| &found.first).map(|found| (found.frame, &*found.rule)).collect()
}

#[test]
fn a_clean_capture_is_said_to_be_clean() {
    let desk = Desk::with(&[("clean.pcapng", &capture(CLEAN))]);
    let (code, text, errors) = desk.check(&["clean.pcapng"]);
    assert_eq!((code, &*errors), (Some(0), ""), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_broke_first_stands_on_top_and_what_follows_below_it() {
    let desk = Desk::with(&[("stall.pcapng", &capture(STALL))]);
    let (code, text, errors) = desk.check(&["stall.pcapng"]);
    assert_eq!((code, &*errors), (Some(1), ""), "{text}");
    let guide = include_str!("../../docs/check.md");
    assert!(guide.contains(&format!("$ rocespec check stall.pcapng\n{text}```")), "the guide shows this");
    insta::assert_snapshot!(text);
}

#[test]
fn the_json_is_an_examination_and_the_report_folder_holds_the_same() {
    let desk = Desk::with(&[("stall.pcapng", &capture(STALL))]);
    let (code, out, _) = desk.check(&["stall.pcapng", "--format", "json", "--report", "report"]);
    let examination: Examination = serde_json::from_str(&out).unwrap();
    assert_eq!((code, broken(&examination, 0)[0]), (Some(1), (8, "rc.requester.read-psns")));
    let connection = &examination.files[0].connections[0];
    assert_eq!((connection.paired, connection.ends[1].qpn), (Paired::Traffic, Some(0x22)));
    assert!(examination.rules.iter().any(|rule| rule.id == "rc.requester.read-psns"));

    let report = desk.path().join("report");
    assert_eq!(std::fs::read_to_string(report.join("check.json")).unwrap().trim(), out.trim());
    for page in ["index.html", "connections/1-1.html"] {
        let page = std::fs::read_to_string(report.join(page)).unwrap();
        assert!(page.contains("rc.requester.read-psns"), "{page}");
    }
    let all = desk.command(&["check", "stall.pcapng", "--verbose"]).env("COLUMNS", "120").output().unwrap();
    assert_eq!(std::fs::read_to_string(report.join("check.txt")).unwrap(), said(&all).1);
}

#[test]
fn only_the_address_that_is_named_is_judged() {
    let desk = Desk::with(&[("stall.pcapng", &capture(STALL))]);
    let (code, examination) = desk.json(&["stall.pcapng", "--judge", "10.0.0.1"]);
    assert_eq!((code, broken(&examination, 0)[0]), (Some(1), (8, "rc.requester.read-psns")));
    let (code, examination) = desk.json(&["stall.pcapng", "--judge", "10.0.0.2"]);
    assert_eq!((code, broken(&examination, 0)), (Some(0), vec![]));
}

#[test]
fn an_address_that_sends_nothing_is_no_clean_device() {
    let desk = Desk::with(&[("clean.pcapng", &capture(CLEAN))]);
    for option in ["--judge", "--at"] {
        let (code, _, errors) = desk.check(&["clean.pcapng", option, "10.0.0.9"]);
        let expected = "rocespec: 10.0.0.9 sends nothing that belongs to a connection of this file\n";
        assert_eq!((code, &*errors), (Some(2), expected), "{option}");
    }
    let (code, _, errors) = desk.check(&["clean.pcapng", "--judge", "::ffff:10.0.0.1"]);
    assert_eq!((code, &*errors), (Some(0), ""), "the same address");
}

#[test]
fn at_the_port_of_a_device_there_is_no_doubt_about_it() {
    let desk = Desk::with(&[("damaged.pcapng", &capture(DAMAGED))]);
    let (code, text, _) = desk.check(&["damaged.pcapng"]);
    assert!(text.contains("lint.icrc (should): frame 3"), "{text}");
    assert!(text.contains("      unless    the packet was damaged on its way to the capture"), "{text}");
    assert!(text.contains("    rocespec icrc damaged.pcapng --frame 3\n"), "{text}");
    assert_eq!(code, Some(0), "the sender may be innocent");
    let (code, text, _) = desk.check(&["damaged.pcapng", "--at", "10.0.0.1"]);
    assert!(text.contains("lint.icrc (must): frame 3"), "{text}");
    assert!(!text.contains("unless"), "{text}");
    assert_eq!(code, Some(1));
}

#[test]
fn another_udp_port_is_roce_when_it_is_named() {
    let lines: Vec<String> = CLEAN.lines().skip(1).map(|line| format!("{line} udp.dport=4000")).collect();
    let desk = Desk::with(&[("port.pcapng", &capture(&lines.join("\n")))]);
    let (code, text, _) = desk.check(&["port.pcapng"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("There is no RoCE in it."), "{text}");
    let (code, examination) = desk.json(&["port.pcapng", "--port", "4000"]);
    assert_eq!((code, examination.files[0].packets), (Some(0), 9));
    assert_eq!(examination.files[0].connections[0].sent[0].packets, 4);
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let desk = Desk::with(&[("stall.pcapng", &capture(STALL))]);
    let input = || Stdio::from(std::fs::File::open(desk.path().join("stall.pcapng")).unwrap());
    let (code, out, _) = said(&desk.command(&["check", "-", "--format", "json"]).stdin(input()).output().unwrap());
    let mut examination: Examination = serde_json::from_str(&out).unwrap();
    let (expected_code, expected) = desk.json(&["stall.pcapng"]);
    assert_eq!((code, &*examination.files[0].name), (expected_code, "-"));
    examination.files[0].name = "stall.pcapng".to_owned();
    assert_eq!(examination.files, expected.files);
    let (_, text, _) = said(&desk.command(&["check", "-"]).stdin(input()).output().unwrap());
    assert!(!text.contains("look closer"), "nothing can be read from it again: {text}");
}

#[test]
fn files_are_judged_each_on_its_own_whatever_the_others_are() {
    let desk = Desk::with(&[("clean.pcapng", &capture(CLEAN)), ("stall.pcapng", &capture(STALL))]);
    let (code, text, _) = desk.check(&["clean.pcapng", "stall.pcapng"]);
    assert_eq!(code, Some(1));
    assert!(text.ends_with("\n2 files: 1 with broken rules, 1 clean\n"), "{text}");
    let (code, examination) = desk.json(&["clean.pcapng", "gone.pcapng", "stall.pcapng"]);
    assert_eq!(code, Some(2), "a file that cannot be read goes before a broken rule");
    assert!(broken(&examination, 0).is_empty());
    let error = examination.files[1].error.as_deref().unwrap();
    assert!(error.starts_with("cannot read gone.pcapng: "), "{error}");
    assert_eq!(broken(&examination, 2)[0].1, "rc.requester.read-psns");
}

#[test]
fn what_stands_before_the_damage_is_judged() {
    let mut bytes = capture(STALL);
    bytes.truncate(bytes.len() - 50);
    let desk = Desk::with(&[("cut.pcapng", &bytes)]);
    let (code, text, errors) = desk.check(&["cut.pcapng"]);
    assert_eq!((code, &*errors), (Some(2), ""));
    assert_eq!(text.matches("not read to its end").count(), 1, "{text}");
    assert!(text.contains("at byte "), "{text}");
    assert!(text.contains("rc.requester.read-psns (must): frame 8"), "{text}");
    let (_, examination) = desk.json(&["cut.pcapng"]);
    assert_eq!(examination.files[0].frames, 10);
}

#[test]
fn a_file_without_roce_says_so() {
    let desk = Desk::with(&[("web.pcapng", &capture(WEB))]);
    let (code, text, errors) = desk.check(&["web.pcapng"]);
    assert_eq!((code, &*errors), (Some(0), ""));
    assert_eq!(text.lines().filter(|line| line.contains("There is no RoCE in it.")).count(), 1, "{text}");
    assert!(!text.contains("findings"), "{text}");
}

/// A file may have any name that the system takes.
#[test]
#[cfg(unix)]
fn the_command_in_the_json_is_as_a_shell_takes_it() {
    use std::os::unix::ffi::OsStrExt as _;

    let desk = Desk::with(&[]);
    let name = std::ffi::OsStr::from_bytes(b"a \xff.pcapng");
    std::fs::write(desk.path().join(name), capture(CLEAN)).unwrap();
    let (code, out, errors) = said(&desk.command(&["check", "--format", "json"]).arg(name).output().unwrap());
    assert_eq!((code, &*errors), (Some(0), ""), "{out}");
    let examination: Examination = serde_json::from_str(&out).unwrap();
    assert_eq!(examination.command, "rocespec check --format json 'a \u{fffd}.pcapng'");
}

/// What the text advises can be copied into a shell, and is about the same connection.
#[test]
fn the_commands_that_it_names_work() {
    let desk = Desk::with(&[("stall.pcapng", &capture(STALL))]);
    let (_, text, _) = desk.check(&["stall.pcapng"]);
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("    rocespec ")).collect();
    assert_eq!(commands.len(), 3, "{text}");
    for command in commands {
        let words: Vec<&str> = command.split("  #").next().unwrap().split_whitespace().collect();
        let (code, out, errors) = said(&desk.command(&words).output().unwrap());
        assert_eq!(code, Some(0), "{command}: {out}{errors}");
    }
    let (code, examination) = desk.json(&["part.pcapng"]);
    assert_eq!((code, broken(&examination, 0)[0]), (Some(1), (8, "rc.requester.read-psns")));
    // The end with the fault is the device in it.
    let scenario = std::fs::read_to_string(desk.path().join("part.toml")).unwrap();
    assert!(scenario.contains("rc.requester.read-psns"), "{scenario}");
}
