//! The catalogue that ships with the program.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ledger::{Ledger, State};
use crate::scenario::{catalogue, load_folder};

/// Rules that the tester itself watches on every frame of every scenario.
fn is_universal(id: &str) -> bool {
    id.starts_with("lint.") || id == "rc.responder.unexpected-response"
}

#[test]
fn the_built_in_catalogue_reads() {
    let scenarios = catalogue().unwrap_or_else(|error| panic!("{error}"));
    assert!(scenarios.len() > 100);
    assert!(scenarios.is_sorted_by(|a, b| a.id < b.id));
}

#[test]
fn the_folder_and_the_built_in_catalogue_are_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let folder = load_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    let built_in = catalogue().unwrap();
    let names = |all: &[crate::scenario::Scenario]| -> Vec<(String, String)> {
        all.iter().map(|scenario| (scenario.id.clone(), scenario.script.clone())).collect()
    };
    assert_eq!(names(&folder), names(&built_in));
}

#[test]
fn every_tested_rule_has_a_scenario() {
    let used: BTreeSet<String> = catalogue().unwrap().into_iter().flat_map(|scenario| scenario.rules).collect();
    let ledger = Ledger::embedded();
    let untested: Vec<&str> = ledger
        .rules()
        .iter()
        .filter(|rule| rule.state == State::Tested && !is_universal(&rule.id) && !used.contains(&rule.id))
        .map(|rule| rule.id.as_str())
        .collect();
    assert_eq!(untested, [""; 0], "marked as tested, but no scenario is about them");
    let wrong: Vec<&String> =
        used.iter().filter(|id| ledger.get(id).is_some_and(|rule| rule.state != State::Tested)).collect();
    assert_eq!(wrong, [""; 0], "a scenario is about them, but they are not marked as tested");
}

#[test]
fn a_scenario_binds_no_more_than_its_rules() {
    for scenario in catalogue().unwrap() {
        let strongest = scenario.rules.iter().filter_map(|id| Ledger::embedded().get(id)).map(|rule| rule.level).max();
        assert!(Some(scenario.level) <= strongest, "{} is at level {}", scenario.id, scenario.level);
    }
}

#[test]
fn titles_are_sentences_of_their_own() {
    let mut titles = BTreeSet::new();
    for scenario in catalogue().unwrap() {
        assert!(scenario.title.len() <= 110, "{}: {}", scenario.id, scenario.title);
        assert!(!scenario.title.ends_with('.'), "{}", scenario.id);
        assert!(titles.insert(scenario.title.clone()), "{}: another one has this title", scenario.id);
    }
}
