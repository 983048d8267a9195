//! The suite is tested by what it must notice: every defect of the emulator, and no policy that the standard allows.

mod common;

use rocespec::run::mutation::{notice, unproven};
use rocespec::scenario::catalogue;

#[test]
fn every_defect_is_caught_no_policy_is_and_every_rule_is_seen_to_be_broken() {
    let rows = notice(&catalogue().unwrap(), &common::profile(), 1);
    let wrong: Vec<String> = rows.iter().filter(|row| !row.is_right()).map(|row| format!("{row:?}")).collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() > 90);
    let unproven: Vec<&str> = unproven(&rows).into_iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(unproven, [""; 0], "no defect breaks these rules for all to see; the ledger may name a `proof`");
}
