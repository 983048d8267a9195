//! Each defect has its name, its rule and its effect.

mod harness;
mod probes;

use std::collections::BTreeSet;

use rocespec_model::{Defect, Defects};

#[test]
fn names_are_unique_and_in_kebab_case() {
    let names: BTreeSet<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
    assert_eq!(names.len(), Defect::ALL.len());
    for defect in Defect::ALL {
        let name = defect.name();
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        assert_eq!(Defect::from_name(name), Some(*defect));
    }
    assert_eq!(Defect::from_name("no-such-defect"), None);
}

#[test]
fn rules_have_ids_of_area_role_and_name() {
    for defect in Defect::ALL {
        let parts: Vec<_> = defect.rule().split('.').collect();
        let [area, role, name] = parts[..] else { panic!("{}", defect.rule()) };
        let areas = ["icrc", "frame", "bth", "rc", "uc", "ud", "xrc", "memory", "congestion", "pause", "device"];
        assert!(areas.contains(&area), "{area}");
        let roles = ["responder", "requester", "sender", "notification_point", "reaction_point", "link"];
        assert!(roles.contains(&role), "{role}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
    }
}

#[test]
fn summaries_are_one_sentence() {
    for defect in Defect::ALL {
        let summary = defect.summary();
        assert!(summary.ends_with('.') && summary.starts_with(char::is_uppercase), "{summary}");
        assert!(!summary.trim_end_matches('.').contains(". "), "{summary}");
    }
}

#[test]
fn a_set_holds_what_was_put_in() {
    let set: Defects = [Defect::IgnoresTver, Defect::IgnoresLocalFault].into_iter().collect();
    assert!(set.has(Defect::IgnoresTver) && set.has(Defect::IgnoresLocalFault) && !set.has(Defect::IgnoresPkey));
    assert_eq!(set.iter().count(), 2);
    assert!(Defects::NONE.is_empty() && !set.is_empty());
    assert_eq!(format!("{set:?}"), r#"{"ignores-tver", "ignores-local-fault"}"#);
}

#[test]
fn every_defect_shows() {
    let probes = probes::all();
    let conforming: Vec<_> = probes.iter().map(|probe| probe(Defects::NONE)).collect();
    let shows = |defect: Defect| probes.iter().zip(&conforming).any(|(probe, right)| probe(defect.into()) != *right);
    let hidden: Vec<_> = Defect::ALL.iter().filter(|defect| !shows(**defect)).collect();
    assert!(hidden.is_empty(), "the probes do not see {hidden:?}");
}
