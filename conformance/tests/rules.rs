//! The ledger knows every rule that something else names, and rules, purposes and scenarios lead to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rocespec::ledger::Ledger;
use rocespec::purposes::Purposes;
use rocespec::scenario::catalogue;
use rocespec_model::Defect;

/// Rules that comments of the form `// rule: id, id` name, and where.
fn named_in(directory: &Path, named: &mut BTreeMap<String, PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named_in(&path, named);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
            let comments = comments.filter_map(|comment| comment.trim_start_matches('/').trim().strip_prefix("rule: "));
            for id in comments.flat_map(|ids| ids.split(',')) {
                named.insert(id.trim().to_owned(), path.clone());
            }
        }
    }
}

#[test]
fn every_rule_that_the_code_names_is_in_the_ledger() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeMap::new();
    for room in ["src/oracle", "model/src"] {
        named_in(&here.join(room), &mut named);
    }
    assert!(named.len() > 100, "{} rules are named", named.len());
    let ledger = Ledger::embedded();
    let unknown: Vec<_> = named.iter().filter(|(id, _)| ledger.get(id).is_none()).collect();
    assert!(unknown.is_empty(), "the ledger has no entry for {unknown:#?}");
}

#[test]
fn every_rule_that_a_defect_breaks_is_in_the_ledger() {
    let ledger = Ledger::embedded();
    let unknown: Vec<_> = Defect::ALL.iter().filter(|defect| ledger.get(defect.rule()).is_none()).collect();
    assert!(unknown.is_empty(), "the ledger has no entry for the rules of {unknown:?}");
}

#[test]
fn every_proof_is_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for rule in Ledger::embedded().rules() {
        let Some(proof) = &rule.proof else { continue };
        let (file, test) = proof.split_once("::").unwrap_or_else(|| panic!("{}: {proof}", rule.id));
        let text =
            std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{}: {file}: {error}", rule.id));
        assert!(text.contains(&format!("fn {test}()")), "{}: {file} has no test {test}", rule.id);
    }
}

#[test]
fn every_purpose_has_scenarios_or_says_why_not() {
    for purpose in Purposes::embedded().all() {
        let id = &purpose.id;
        assert!(purpose.scenarios.is_empty() == purpose.untestable.is_some(), "{id} has scenarios, or says why not");
        assert!(purpose.untestable.as_ref().is_none_or(|why| !why.trim().is_empty()), "{id} says nothing");
        assert!(purpose.statement.ends_with('.') && !purpose.source.trim().is_empty(), "{id}");
    }
}

#[test]
fn every_scenario_that_a_purpose_names_is_there() {
    let scenarios: BTreeSet<String> = catalogue().unwrap().into_iter().map(|scenario| scenario.id).collect();
    for purpose in Purposes::embedded().all() {
        let named: BTreeSet<&String> = purpose.scenarios.iter().collect();
        assert_eq!(named.len(), purpose.scenarios.len(), "{} names a scenario twice", purpose.id);
        let unknown: Vec<_> = named.into_iter().filter(|id| !scenarios.contains(*id)).collect();
        assert!(unknown.is_empty(), "{} names {unknown:?}, which no file is", purpose.id);
    }
}

#[test]
fn purposes_are_numbered_within_their_family() {
    let mut last = ("", 0);
    let mut families = BTreeSet::new();
    for purpose in Purposes::embedded().all() {
        let (family, number) = purpose.id.split_once('-').unwrap();
        if family != last.0 {
            assert!(families.insert(family), "{family} stands in two places");
            last = (family, 0);
        }
        assert_eq!(number, format!("{:03}", last.1 + 1), "the number behind {family}-{:03}", last.1);
        last.1 += 1;
    }
    assert!(families.len() > 5);
}
