//! Bytes and lines that nobody meant: no panic, and what is understood is understood in full.

mod common;

use common::vectors;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rocespec_codec::field::FIELDS;
use rocespec_codec::notation::{Line, Region, Scope, parse, parse_pattern, print, print_frame};
use rocespec_codec::{Frame, Opcode, RKey, decode};

fn holds(frame: &[u8]) {
    let Ok(decoded) = decode(frame) else { return };
    let mut out = vec![0; decoded.encoded_len()];
    assert_eq!(decoded.encode(&mut out).unwrap(), frame);
    let scope = Scope::default();
    let line = print_frame(&decoded, &scope).to_string();
    let (mut buffer, mut bytes) = (vec![0; frame.len()], vec![0; frame.len()]);
    let read = parse(&line, &scope, &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(read.encode(&mut bytes).unwrap(), frame, "{line}");
}

fn understood(line: &str, scope: &Scope<'_>) {
    let mut buffer = [0; 512];
    match parse(line, scope, &mut buffer) {
        Ok(Line::Roce(packet)) => {
            let printed = print(&packet, scope).to_string();
            let mut buffer = [0; 512];
            assert_eq!(parse(&printed, scope, &mut buffer), Ok(Line::Roce(packet)), "{line}: {printed}");
        }
        Ok(line @ Line::Raw(_)) => {
            let mut out = [0; 512];
            holds(line.encode(&mut out).unwrap());
        }
        Err(error) => {
            assert!(line.get(error.span.clone()).is_some(), "{line}: {error:?}");
            assert!(!error.to_string().is_empty());
        }
    }
    let mut buffer = [0; 512];
    if let Err(error) = parse_pattern(line, scope, &mut buffer) {
        assert!(line.get(error.span.clone()).is_some(), "{line}: {error:?}");
    }
}

#[derive(Debug, Clone)]
enum Change {
    Set(Index, u8),
    Flip(Index, u8),
    Cut(Index),
    Add(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        4 => (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => vec(any::<u8>(), 1..8).prop_map(Change::Add),
    ]
}

/// A word that might stand in a line, or nearly.
fn word() -> impl Strategy<Value = String> {
    let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    let value = prop_oneof![
        select(vec![
            "*",
            "0",
            "1",
            "-1",
            "31",
            "0x",
            "0xffff_ffff",
            "18446744073709551615",
            "18446744073709551616",
            "@0xffffff",
            "mr",
            "mr+0x40",
            "mr-1",
            "mr+",
            "bad",
            "swapped",
            "right",
            "none",
            "aa",
            "aab",
            "0..1",
            "..",
            "1..0",
            "-1..1",
            "ce",
            "ect0",
            "psn_sequence_error",
            "0.64ms",
            "10us",
            "#12",
            "#32",
            "10.0.0.9",
            "fd00::9",
            "02:00:00:00:00:09",
            "é",
        ])
        .prop_map(str::to_owned),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<String>(),
    ];
    prop_oneof![
        6 => (select(names), value).prop_map(|(name, value)| format!("{name}={value}")),
        2 => select(vec!["ack", "se", "v4", "v6", "v1", "untagged", "ip.mf", "64B", "64B=aa", "64B=*", "64B~1a2b3c4d", "600B"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let heads: Vec<String> =
        Opcode::DEFINED.iter().map(|opcode| opcode.info().unwrap().name.replace("RC_", "")).collect();
    let odd = [
        "ACK",
        "NAK",
        "RNR_NAK",
        "XRC_ACK",
        "RD_NAK",
        "OP_0x15",
        "OP_0x100",
        "raw",
        "RAW",
        "PFC",
        "PAUSE",
        "MAC_CONTROL",
        "",
    ]
    .map(str::to_owned);
    let head = prop_oneof![select(heads), select(odd.to_vec())];
    (head, vec(word(), 0..10)).prop_map(|(head, words)| format!("{head} {}", words.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        holds(&bytes);
    }

    #[test]
    fn frames_with_a_few_bytes_wrong(which: Index, changes in vec(change(), 1..6)) {
        let mut frame = which.get(&vectors()).frame.clone();
        for change in changes {
            match change {
                Change::Set(at, byte) if !frame.is_empty() => *at.get_mut(&mut frame) = byte,
                Change::Flip(at, bit) if !frame.is_empty() => *at.get_mut(&mut frame) ^= 1 << bit,
                Change::Cut(at) => frame.truncate(at.index(frame.len() + 1)),
                Change::Add(bytes) => frame.extend(bytes),
                _ => {}
            }
        }
        holds(&frame);
    }

    #[test]
    fn random_text(line: String) {
        understood(&line, &Scope::default());
    }

    #[test]
    fn lines_with_a_few_words_wrong(line in line()) {
        let regions = [Region { name: "mr", va: 0x1000, len: 4096, rkey: RKey::new(0x1234) }];
        understood(&line, &Scope { regions: &regions, ..Scope::default() });
    }
}

#[test]
fn pause_frames_with_a_bit_wrong_keep_their_bytes() {
    let lines = [
        "PFC prio=3 quanta=65535",
        "PFC prio=0,7 quanta=1",
        "PFC vector=0x108 quanta=1,2,3,4,5,6,7,8 vlan.id=0 vlan.pcp=7 trailer=01",
        "PAUSE quanta=2",
        "MAC_CONTROL data=00020102",
    ];
    for line in lines {
        let (mut buffer, mut out) = ([0; 60], [0; 60]);
        let frame = parse(line, &Scope::default(), &mut buffer).unwrap().encode(&mut out).unwrap().to_vec();
        assert_eq!(print_frame(&Frame::Other(&frame), &Scope::default()).to_string(), line);
        for at in 0..frame.len() * 8 {
            let mut frame = frame.clone();
            frame[at / 8] ^= 1 << (at % 8);
            holds(&frame);
        }
        (0..frame.len()).for_each(|end| holds(&frame[..end]));
    }
}

#[test]
fn the_seeds_of_the_fuzz_targets_hold() {
    let seeds = |target: &str| {
        let folder = format!("{}/../fixtures/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    seeds("decode").iter().for_each(|frame| holds(frame));
    let regions = [Region { name: "mr", va: 0x7f00_0000_0000, len: 4096, rkey: RKey::new(0xabcd01) }];
    let scope = Scope { regions: &regions, ..Scope::default() };
    seeds("notation").iter().for_each(|line| understood(str::from_utf8(line).unwrap(), &scope));
}

#[test]
fn every_prefix_of_a_frame_is_an_error_or_understood() {
    for vector in vectors() {
        for end in 0..vector.frame.len() {
            holds(&vector.frame[..end]);
        }
    }
}
