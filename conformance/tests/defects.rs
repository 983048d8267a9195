//! The suite is tested by what it must notice: every defect of the emulator, and no policy that the standard allows.

mod common;

use rocespec::run::mutation::notice;
use rocespec::scenario::catalogue;

#[test]
fn every_defect_is_caught_and_no_policy_is() {
    let rows = notice(&catalogue().unwrap(), &common::profile(), 1);
    let wrong: Vec<String> = rows.iter().filter(|row| !row.is_right()).map(|row| format!("{row:?}")).collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() > 90);
}
