//! Same seed, same bytes.

mod common;

use common::{emulator, options, run_on};
use rocespec::run::{Options, plan, run};
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
    assert_eq!(alone.cases[0], whole.cases[place]);
    assert_eq!(alone_files[0], files[place]);
}

#[test]
fn cases_at_once_give_the_same_report_and_the_same_frames_in_the_same_order() {
    let scenarios = catalogue().unwrap();
    let planned = plan(&scenarios, &[], false).unwrap();
    let run_with = |jobs| {
        let mut files = Vec::new();
        let options = Options { jobs, ..options() };
        let result = run(&mut emulator(""), &planned, &options, &mut |done| {
            files.push((done.case.id(), done.pcapng.clone()));
        });
        (result, files)
    };
    assert!(run_with(1) == run_with(7));
}
