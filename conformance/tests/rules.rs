//! The ledger knows every rule that something else names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rocespec::ledger::Ledger;
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
