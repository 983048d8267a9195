//! Nothing that stands in a file makes the loader panic, and what is reported can be shown.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::good::HEADER;
use crate::scenario::{Scenario, catalogue, parse};

fn read(text: &str) {
    if let Err(diagnostics) = parse("x.toml", "x", text) {
        assert!(!diagnostics.files()[0].problems.is_empty());
        assert!(!diagnostics.to_string().is_empty());
        let _ = diagnostics.render(true);
    }
}

/// Words that scripts are made of.
const WORDS: &[&str] = &[
    ">",
    "<",
    "one",
    "of",
    "within",
    "after",
    "send",
    "rdma_read",
    "comp_swap",
    "va=tester",
    "imm=1",
    "add=2",
    "fence",
    "100ms",
    "silence",
    "take",
    "until",
    "as",
    "of",
    "0%..90%",
    "paused",
    "flows",
    "5",
    "quanta",
    "CNP",
    "no",
    "probe",
    "wait",
    "dut",
    "recv",
    "mr",
    "x",
    "4096",
    "none",
    "write",
    "memory",
    "completions",
    "qp",
    "rts",
    "mr+0x40",
    "64B",
    "64B=aa",
    "data=00",
    "recv:2",
    "recv(len=64",
    "imm=0x1)",
    "recv()",
    "(",
    ")",
    "nothing",
    "loose",
    "SEND_ONLY",
    "ACK",
    "psn=0",
    "ack",
    "rkey=mr",
    "va=mr+1",
    "raw",
    "00ff",
    "#",
    "\n",
    "\n    ",
    "\r\n",
    "\t",
    "'''",
    "é",
    "\u{1b}",
    "remote_read",
];

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| catalogue().unwrap());

proptest! {
    #[test]
    fn random_text(text in "\\PC{0,200}") {
        read(&text);
        read(&format!("{HEADER}{text}'''"));
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&String::from_utf8_lossy(&bytes));
        read(&format!("{HEADER}{}'''", String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn random_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        read(&format!("{HEADER}{}\n'''\n", words.join(" ")));
    }

    #[test]
    fn catalogue_with_a_fault(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        cut in 0usize..20,
        put in "\\PC{0,6}",
    ) {
        let scenario = which.get(&SCENARIOS);
        let text = format!("vary = {{ ip = ['v4', 'v6'], start_psn = [1] }}\n{HEADER}{}'''\n", scenario.script);
        let mut characters: Vec<char> = text.chars().collect();
        let from = at.index(characters.len());
        let to = (from + cut).min(characters.len());
        characters.splice(from..to, put.chars());
        read(&characters.into_iter().collect::<String>());
    }
}
