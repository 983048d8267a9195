//! Same seed, same bytes.

mod common;

use common::{emulator, run_on};
use rocespec::scenario::catalogue;

#[test]
fn two_runs_give_the_same_report_and_the_same_frames() {
    let scenarios = catalogue().unwrap();
    let first = run_on(&mut emulator(""), &scenarios);
    let second = run_on(&mut emulator(""), &scenarios);
    assert_eq!(first.1, second.1);
    assert_eq!(first.0, second.0);
    assert!(first.1.iter().any(|file| !file.is_empty()));
}

#[test]
fn a_case_alone_sends_what_it_sends_in_a_whole_run() {
    let scenarios = catalogue().unwrap();
    let (whole, files) = run_on(&mut emulator(""), &scenarios);
    let place = whole.cases.iter().position(|case| case.scenario == "rc/responder/psn-gap").unwrap();
    let one: Vec<_> = scenarios.into_iter().filter(|scenario| scenario.id == "rc/responder/psn-gap").collect();
    let (alone, alone_files) = run_on(&mut emulator(""), &one);
    assert_eq!(alone.cases[0].trace, whole.cases[place].trace);
    // Queue pair numbers of the device count on, so only their frames differ.
    assert_eq!(alone_files[0].len(), files[place].len());
}
