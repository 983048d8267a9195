use super::*;
use crate::terminal::{self, Style};

const PLAIN: Style = Style { color: false, width: 100, verbose: false };

#[test]
fn json_of_a_sweep() {
    let mut bytes = Vec::new();
    crate::json::write(&sample::loss(), &mut bytes).unwrap();
    insta::assert_snapshot!(std::str::from_utf8(&bytes).unwrap());
    assert_eq!(serde_json::from_slice::<Sweep>(&bytes).unwrap(), sample::loss());
}

#[test]
fn a_table_for_programs() {
    let mut bytes = Vec::new();
    write_csv(&sample::incast(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    insta::assert_snapshot!(text.replace('\r', ""));
    // The curves' names have commas in them, and nothing else.
    let commas = |line: &str| line.replace(", ", " ").matches(',').count();
    assert!(text.lines().all(|line| commas(line) == commas(text.lines().next().unwrap())));
}

#[test]
fn sweeps_on_a_terminal() {
    insta::assert_snapshot!(
        terminal::sweep(&sample::loss(), &PLAIN) + "\n" + &terminal::sweep(&sample::incast(), &PLAIN)
    );
}

#[test]
fn numbers_are_written_with_what_they_tell() {
    let shares = [0.9964, 0.0026, 1.0, 0.0].map(words::percent);
    assert_eq!(shares, ["99.6 %", "0.26 %", "100.0 %", "0.00 %"]);
    let rates = [91_840_000_000, 240_000_000, 1_500_000_000, 999, 0].map(bits);
    assert_eq!(rates, ["91.8 Gb/s", "240 Mb/s", "1.50 Gb/s", "999 b/s", "0 b/s"]);
    assert_eq!(
        [0.0, 1e-5, 0.001, 0.025, 0.5].map(|value| What::Loss.value(value)),
        ["0", "1e-5", "1e-3", "2.5e-2", "0.5"]
    );
    assert_eq!(What::Incast.value(32.0), "32");
}
