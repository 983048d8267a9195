//! `rocespec decode` as a user meets it.

mod common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{frame, text};
use rocespec::capture::{Direction, pcapng::Writer};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/captures").join(name)
}

fn decode(file: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("decode").arg(file).args(words).output().unwrap()
}

/// What is printed when all goes well.
fn printed(file: &Path, words: &[&str]) -> String {
    let output = decode(file, words);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{words:?}");
    text(&output.stdout)
}

/// Numbers of the frames that are printed.
fn numbers(file: &Path, words: &[&str]) -> Vec<u64> {
    let output = decode(file, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

/// A capture of these frames, a millisecond apart, in a folder that lives as long as it is held.
fn capture(frames: &[Vec<u8>]) -> (tempfile::TempDir, PathBuf) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, frame) in frames.iter().enumerate() {
        writer.frame(at as u64 * 1_000_000, Direction::Inbound, frame, None).unwrap();
    }
    written(&writer.finish().unwrap())
}

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file.pcapng");
    std::fs::write(&path, bytes).unwrap();
    (place, path)
}

/// One packet of many kinds, right and wrong.
const KINDS: &[&str] = &[
    "SEND_ONLY psn=0 qp=0x11 ack 64B",
    "SEND_ONLY v6 psn=1 qp=0x11 64B=aa vlan.id=5 vlan.pcp=3",
    "SEND_ONLY v1 psn=-1 qp=0x11 5B",
    "UD_SEND_ONLY psn=7 qp=1 src_qp=1 qkey=0x80010000 16B=00",
    "UD_SEND_ONLY psn=7 qp=0x20 src_qp=0x30 qkey=0x1234 16B=00",
    "CNP qp=0x11 becn",
    "RDMA_READ_REQUEST psn=2 qp=0x11 va=0x7f0000001000 rkey=0x1234 len=4096 ip.dscp=26 ip.ecn=ce",
    "NAK psn=2 qp=0x12 msn=1 code=remote_access_error",
    "RNR_NAK psn=2 qp=0x12 msn=1 timer=0.64ms ip.ttl=1",
    "COMPARE_SWAP psn=3 qp=0x11 va=0x1000 rkey=0x1234 swap=2 compare=1 ack",
    "ATOMIC_ACKNOWLEDGE psn=3 qp=0x12 msn=2 original=1",
    "OP_0x15 psn=4 qp=0x11 4B",
    "SEND_ONLY psn=5 qp=0x11 13B pad=2",
    "SEND_ONLY psn=5 qp=0x11 13B icrc=bad",
    "SEND_ONLY psn=5 qp=0x11 13B icrc=swapped",
    "SEND_ONLY psn=5 qp=0x11 13B ip.checksum=0",
    "SEND_ONLY psn=5 qp=0x11 13B ip.len=20",
    "SEND_ONLY psn=5 qp=0x11 13B udp.len=400",
    "RDMA_WRITE_ONLY psn=5 qp=0x11 va=0x1000 rkey=1 13B icrc=0xdeadbeef",
    "PFC prio=3 quanta=65535",
    "raw 02000000000202000000000188cc0207",
];

fn kinds() -> (tempfile::TempDir, PathBuf) {
    capture(&KINDS.iter().map(|line| frame(line)).collect::<Vec<_>>())
}

#[test]
fn a_recording_of_linux_as_lines() {
    insta::assert_snapshot!(printed(&fixture("rxe-6.1-cases.pcap"), &[]));
}

#[test]
fn a_recording_over_ipv6_as_lines_with_what_is_not_roce() {
    insta::assert_snapshot!(printed(&fixture("rxe-6.1-ipv6.pcap"), &["--others"]));
}

#[test]
fn a_packet_of_every_kind_as_lines() {
    insta::assert_snapshot!(printed(&kinds().1, &["--others"]));
}

#[test]
fn a_packet_of_every_kind_as_annotated_bytes() {
    insta::assert_snapshot!(printed(&kinds().1, &["-x"]));
}

#[test]
fn a_packet_of_every_kind_as_json() {
    let objects: Vec<Value> = printed(&kinds().1, &["--format", "json", "--others", "--payload", "-x"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), KINDS.len());
    insta::assert_json_snapshot!(objects[..2]);
    // The line of an object is the packet.
    for (object, line) in objects.iter().zip(KINDS) {
        if let Some(read) = object["line"].as_str() {
            assert_eq!(frame(read), frame(line), "{read}");
        }
    }
}

#[test]
fn messages_of_the_connection_manager_are_named() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/vectors/cm.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(vectors).unwrap()).unwrap();
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let frames: Vec<_> =
        vectors["frames"].as_array().unwrap().iter().map(|vector| hex(vector["frame"].as_str().unwrap())).collect();
    let (_place, file) = capture(&frames);
    insta::assert_snapshot!(printed(&file, &[]));
    let first = printed(&file, &["--format", "json", "--limit", "1"]);
    insta::assert_json_snapshot!(serde_json::from_str::<Value>(&first).unwrap()["mad"]);
}

#[test]
fn filters_choose_by_what_a_packet_is_and_where_it_goes() {
    let (_place, file) = kinds();
    for (words, wanted) in [
        (&["--qp", "0x12"][..], &[8, 9, 11][..]),
        (&["--qp", "48"], &[5]),
        (&["--qp", "0x12", "--qp", "0x20"], &[5, 8, 9, 11]),
        (&["--opcode", "NAK"], &[8]),
        (&["--opcode", "rnr"], &[9]),
        (&["--opcode", "RC_ACK"], &[8, 9]),
        (&["--opcode", "UD", "--opcode", "CNP"], &[4, 5, 6]),
        (&["--opcode", "0x15"], &[12]),
        (&["--psn", "0xffffff..1"], &[1, 2, 3, 6]),
        (&["--psn", "7"], &[4, 5]),
        (&["--from", "10.0.0.1", "--psn", "3"], &[10, 11]),
        (&["--to", "fd00::2"], &[2]),
        (&["--from", "02:00:00:00:00:01", "--opcode", "SEND", "--limit", "2"], &[1, 2]),
        (&["--errors"], &[13, 14, 15, 16, 17, 18, 19]),
        (&["--errors", "--opcode", "SEND_ONLY"], &[13, 14, 15, 16, 18]),
    ] {
        assert_eq!(numbers(&file, words), wanted, "{words:?}");
    }
}

#[test]
fn a_filter_that_can_find_nothing_is_refused() {
    let (_place, file) = kinds();
    for words in [["--opcode", "SENT"], ["--psn", "5..x"], ["--qp", "0x1000000"], ["--from", "localhost"]] {
        let output = decode(&file, &words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty() && text(&output.stderr).contains(words[1]), "{words:?}");
    }
    let output = decode(&file, &["--qp", "0x99"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(text(&output.stderr).contains("19 RoCE packets, none that you asked for"), "{}", text(&output.stderr));
}

#[test]
fn a_damaged_file_gives_what_lies_before_the_damage_and_says_where_it_is() {
    let whole = std::fs::read(fixture("rxe-6.1-cases.pcap")).unwrap();
    let (_place, file) = written(&whole[..1000]);
    let output = decode(&file, &[]);
    assert_eq!(output.status.code(), Some(2));
    let all = printed(&fixture("rxe-6.1-cases.pcap"), &[]);
    let (lines, message) = (text(&output.stdout), text(&output.stderr));
    assert!(!lines.is_empty() && all.starts_with(&lines), "{lines}");
    assert_eq!(message.lines().count(), 1);
    assert!(message.contains("file.pcapng") && message.contains("at byte 9"), "{message}");
}

#[test]
fn a_damaged_file_does_not_keep_the_next_from_being_read() {
    let (_place, broken) = written(b"\xd4\xc3\xb2\xa1");
    let sound = fixture("rxe-6.1-ipv6.pcap");
    let output = decode(&broken, &[sound.to_str().unwrap(), "--opcode", "ACK", "--limit", "1"]);
    assert_eq!(output.status.code(), Some(2));
    let lines = text(&output.stdout);
    assert!(lines.lines().count() == 3 && lines.starts_with("== ") && lines.contains(" ACK "), "{lines}");
}

#[test]
fn a_file_without_roce_says_so_in_one_line() {
    let (_place, file) = capture(&[frame("PAUSE quanta=1")]);
    let output = decode(&file, &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(text(&output.stderr).contains("1 frame, no RoCE packet among them"), "{}", text(&output.stderr));
    assert!(printed_lines(&decode(&file, &["--others"])).contains("PAUSE quanta=1"));
}

fn printed_lines(output: &Output) -> String {
    text(&output.stdout)
}

#[test]
fn what_the_capture_cut_off_is_not_called_wrong() {
    let (_place, path) = cut(&frame("SEND_ONLY psn=0 qp=0x11 1024B"), 96);
    let lines = printed(&path, &[]);
    assert!(lines.contains("qp=0x11  SEND_ONLY psn=@0x000000 1024B=*  # cut by the capture: 96 of 1082"), "{lines}");
    assert_eq!(numbers(&path, &["--errors"]), [0u64; 0]);
    let (_place, path) = cut(&frame("RDMA_WRITE_ONLY psn=0 qp=0x11 va=0x1000 rkey=1 1024B"), 60);
    let lines = printed(&path, &["-x"]);
    assert!(lines.contains("RC_RDMA_WRITE_ONLY psn=@0x000000  # cut by the capture: 60 of 1098"), "{lines}");
    assert!(lines.ends_with("RETH          6 of 8 bytes\n"), "{lines}");
    // Nobody knows whose this is.
    let (_place, path) = cut(&frame("SEND_ONLY psn=0 qp=0x11 1024B"), 30);
    assert_eq!(numbers(&path, &[]), [0u64; 0]);
}

/// A capture of the first `len` bytes of one frame.
fn cut(frame: &[u8], len: u32) -> (tempfile::TempDir, PathBuf) {
    let mut file = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 1, 0, 0, 0]);
    file.extend([0; 8]);
    file.extend(len.to_le_bytes());
    file.extend((frame.len() as u32).to_le_bytes());
    file.extend(&frame[..len as usize]);
    written(&file)
}

#[test]
fn standard_input_is_a_file_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rocespec"))
        .args(["decode", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(fixture("rxe-6.1-cases.pcap")).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), printed(&fixture("rxe-6.1-cases.pcap"), &[]));
}
