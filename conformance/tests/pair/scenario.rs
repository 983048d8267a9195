//! A shrunk failure is a scenario file: it fails on the device that broke the invariant and passes on a right one.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use rocespec::link::End;
use rocespec::link::pair::Violation;
use rocespec_codec::Transport;
use rocespec_model::{Defect, Defects, Policy};
use rocespec_reports::outcome::Verdict;

use crate::case::{Case, LONG, case};
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

/// The smallest case in which the pair breaks an invariant, as a scenario.
fn shrunk(defect: Defect) -> (Box<Violation>, String) {
    let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRunner::deterministic().new_rng());
    let found = runner.run(&one_way(defect), |case| {
        case.pair().run(LONG).map(drop).map_err(|violation| TestCaseError::fail(violation.to_string()))
    });
    let Err(TestError::Fail(_, case)) = found else { panic!("no case shows {defect}: {found:?}") };
    let mut pair = case.pair().recording(End::B);
    let violation = pair.run(LONG).expect_err("it failed before");
    let recorded = pair.recorded().expect("it was asked for");
    (violation, recorded.scenario(&case.config, defect.summary(), defect.rule()).unwrap())
}

fn comes_out_as_a_scenario(defect: Defect) {
    let (violation, text) = shrunk(defect);
    let read = scenario(&text);
    let verdict = |behaviour: &str| run_on(&mut emulator(behaviour), std::slice::from_ref(&read)).0;
    let (wrong, right) = (verdict(defect.name()), verdict(""));
    assert_eq!(wrong.cases[0].verdict, Verdict::Fail, "{violation}\n{text}");
    assert_eq!(right.cases[0].verdict, Verdict::Pass, "{violation}\n{text}\n{:?}", right.cases[0].findings);
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
