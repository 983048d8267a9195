//! The page of the defects: rule, defect, and the scenarios that caught it.

use std::collections::BTreeMap;

use askama::Template;

use super::Chrome;
use crate::defects::{Behaviour, Defects, Manner, Notice, Sighting};
use crate::outcome::Rule;

#[derive(Template)]
#[template(path = "defects.html")]
struct Page<'d> {
    chrome: Chrome<'d>,
    counts: Vec<(Notice, usize)>,
    rules: Vec<(&'d Rule, Vec<Row<'d>>)>,
    policies: Vec<Row<'d>>,
}

struct Row<'d> {
    behaviour: &'d Behaviour,
    by: Vec<Scenario<'d>>,
    elsewhere: Vec<Scenario<'d>>,
}

/// A scenario, how many of its variants notice something, and how the loudest says so.
struct Scenario<'d> {
    id: &'d str,
    variants: usize,
    manner: Manner,
}

/// Writes the page.
pub(super) fn page(defects: &Defects) -> askama::Result<String> {
    let mut rules: BTreeMap<&str, (&Rule, Vec<Row<'_>>)> = BTreeMap::new();
    let mut policies = Vec::new();
    for behaviour in &defects.behaviours {
        let row = Row { behaviour, by: scenarios(&behaviour.by), elsewhere: scenarios(&behaviour.elsewhere) };
        match &behaviour.rule {
            Some(rule) => rules.entry(&rule.id).or_insert((rule, Vec::new())).1.push(row),
            None => policies.push(row),
        }
    }
    let count = |notice| defects.behaviours.iter().filter(|behaviour| behaviour.notice == notice).count();
    let counts = Notice::ALL.map(|notice| (notice, count(notice))).into_iter().filter(|(_, count)| *count > 0);
    let rules = rules.into_values().collect();
    Page { chrome: Chrome::of_tables(&defects.tool), counts: counts.collect(), rules, policies }.render()
}

/// The scenarios of some cases, in their order.
fn scenarios(cases: &[Sighting]) -> Vec<Scenario<'_>> {
    let mut all: Vec<Scenario<'_>> = Vec::new();
    for Sighting { case, manner } in cases {
        let id = case.split('[').next().unwrap_or(case);
        match all.last_mut().filter(|last| last.id == id) {
            Some(last) => (last.variants, last.manner) = (last.variants + 1, last.manner.max(*manner)),
            None => all.push(Scenario { id, variants: 1, manner: *manner }),
        }
    }
    all
}

/// How a notice looks: a word and a sign, never a colour alone.
impl Notice {
    /// Name of its class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Notice::Caught | Notice::Quiet => "pass",
            Notice::Open => "xfail",
            Notice::Missed | Notice::Alarm => "fail",
        }
    }

    fn sign(self) -> char {
        match self {
            Notice::Caught | Notice::Quiet => '✓',
            Notice::Open => '△',
            Notice::Missed | Notice::Alarm => '✗',
        }
    }
}
