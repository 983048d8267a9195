//! Same seed, same bytes.

mod common;

use common::{emulator, run_on};
use rocespec::scenario::catalogue;
use rocespec_reports::outcome::{Case, TraceLine};

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
    // Queue pair numbers of the device count on, so the bytes of the frames differ, and nothing else.
    let without_bytes =
        |case: &Case| case.trace.iter().map(|line| TraceLine { bytes: None, ..line.clone() }).collect::<Vec<_>>();
    assert_eq!(without_bytes(&alone.cases[0]), without_bytes(&whole.cases[place]));
    assert_eq!(alone_files[0].len(), files[place].len());
}
