//! `rocespec corpus`: the seeds are what their names say.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rocespec_codec::arbitrary::Fault;
use rocespec_codec::{Frame, Opcode, decode, icrc};

/// Writes a corpus and reads it again.
fn corpus(words: &[&str]) -> (BTreeMap<String, Vec<u8>>, String) {
    let place = tempfile::tempdir().unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_rocespec")).arg("corpus").arg(place.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |path: &Path| std::fs::read(path).unwrap();
    let files = std::fs::read_dir(place.path().join("frames")).unwrap().map(|entry| entry.unwrap());
    let frames = files.map(|file| (file.file_name().into_string().unwrap(), read(&file.path()))).collect();
    (frames, String::from_utf8(read(&place.path().join("roce.dict"))).unwrap())
}

#[test]
fn every_opcode_is_there_over_every_network_and_right() {
    let (frames, _) = corpus(&[]);
    for opcode in Opcode::DEFINED {
        for network in ["v4", "v6", "v1"] {
            let start = format!("right.{network}.{}.", opcode.info().unwrap().name);
            let of_it: Vec<_> = frames.iter().filter(|(name, _)| name.starts_with(&start)).collect();
            assert!(!of_it.is_empty(), "{start}");
            for (name, bytes) in of_it {
                let Ok(Frame::Roce(packet)) = decode(bytes) else { panic!("{name}") };
                assert_eq!(packet.bth.opcode, *opcode, "{name}");
                assert!(icrc::verify(&packet), "{name}");
            }
        }
    }
}

#[test]
fn a_wrong_frame_names_its_fault() {
    let (frames, _) = corpus(&[]);
    let mut wrong = 0;
    for (name, bytes) in frames.iter().filter(|(name, _)| name.starts_with("wrong.")) {
        wrong += 1;
        let fault = Fault::named(name.split('.').nth(1).unwrap());
        assert!(fault.is_some_and(|fault| !fault.about.is_empty()), "{name}");
        if name.contains("icrc-") && !name.contains("in-icrc") {
            let Ok(Frame::Roce(packet)) = decode(bytes) else { panic!("{name}") };
            assert!(!icrc::verify(&packet), "{name}");
        }
    }
    assert!(wrong > 500, "{wrong}");
}

#[test]
fn the_same_corpus_is_written_every_time() {
    assert_eq!(corpus(&[]), corpus(&[]));
}

#[test]
fn a_corpus_can_begin_behind_udp() {
    let (frames, _) = corpus(&["--layer", "bth"]);
    assert_eq!(frames["right.v6.RC_ACKNOWLEDGE.0B"][..4], [0x11, 0, 0xff, 0xff]);
    let (frames, _) = corpus(&["--layer", "ip"]);
    assert_eq!(frames["right.v4.RC_ACKNOWLEDGE.0B"][0], 0x45);
}

#[test]
fn the_dictionary_is_one_that_fuzzers_read() {
    let (_, dictionary) = corpus(&[]);
    let mut names = Vec::new();
    for line in dictionary.lines().filter(|line| !line.starts_with('#')) {
        let (name, word) = line.split_once('=').unwrap();
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
        let word = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap();
        assert!(word.len() % 4 == 0 && word.as_bytes().chunks(4).all(|byte| byte.starts_with(b"\\x")), "{line}");
        names.push(name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count > 120, "{count}");
}
