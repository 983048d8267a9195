//! A shrunk failure is a scenario file: it fails on the device that broke the invariant and passes on a right one.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use rocespec::link::End;
use rocespec_codec::Transport;
use rocespec_model::{Defect, Defects, Policy};
use rocespec_reports::outcome::Verdict;

use crate::case::{Case, case, heading};
use crate::common::{emulator, run_on, scenario};

/// Cases in which A asks and B, which has the defect, answers.
fn one_way(defect: Defect) -> impl Strategy<Value = Case> {
    case(Transport::Rc).prop_map(move |mut case| {
        case.config.policy = [Policy::PLAIN; 2];
        case.config.defects[End::B as usize] = Defects::from(defect);
        case.operations.iter_mut().for_each(|operation| operation.by = End::A);
        case
    })
}

/// What a property test says of the smallest case in which the pair breaks an invariant, and the scenario in it.
fn shrunk(defect: Defect) -> (String, String) {
    let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRunner::deterministic().new_rng());
    let found = runner.run(&one_way(defect), |case| case.run().map(drop).map_err(TestCaseError::fail));
    let Err(TestError::Fail(reason, _)) = found else { panic!("no case shows {defect}: {found:?}") };
    let said = reason.to_string();
    let (_, scenario) = said.split_once(&heading(End::B)).expect("the end that has the defect has its scenario");
    (said.clone(), scenario.to_owned())
}

fn comes_out_as_a_scenario(defect: Defect) {
    let (said, text) = shrunk(defect);
    let read = scenario(&text);
    let verdict = |behaviour: &str| run_on(&mut emulator(behaviour), std::slice::from_ref(&read)).0;
    let (wrong, right) = (verdict(defect.name()), verdict(""));
    assert_eq!(wrong.cases[0].verdict, Verdict::Fail, "{said}");
    assert_eq!(right.cases[0].verdict, Verdict::Pass, "{said}\n{:?}", right.cases[0].findings);
    assert!(text.lines().count() < 100, "it is not short:\n{text}");
}

#[test]
fn a_write_that_is_executed_twice_comes_out_as_a_scenario() {
    comes_out_as_a_scenario(Defect::ExecutesDuplicateWrite);
}

#[test]
fn a_gap_that_is_jumped_comes_out_as_a_scenario() {
    comes_out_as_a_scenario(Defect::AcceptsPsnGap);
}

#[test]
fn an_atomic_that_is_executed_twice_comes_out_as_a_scenario() {
    comes_out_as_a_scenario(Defect::ExecutesDuplicateAtomic);
}

#[test]
fn a_second_nak_for_a_gap_comes_out_as_a_scenario() {
    comes_out_as_a_scenario(Defect::RepeatsGapNak);
}

#[test]
fn a_message_that_is_lost_for_want_of_a_receive_comes_out_as_a_scenario() {
    comes_out_as_a_scenario(Defect::AcksWhenNotReady);
}
