//! Does the suite notice? The catalogue against each deliberate defect of the emulator, and against each policy that
//! is no defect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocespec_model::{Defect, Defects, Policy};
use rocespec_reports::defects::{Manner, Sighting};
use rocespec_reports::outcome::{Case, Finding, Level, Run, Verdict};
use serde::Serialize;

use super::{Options, plan, run};
use crate::dut::Emulator;
use crate::ledger::{Ledger, Rule, State};
use crate::profile::Profile;
use crate::scenario::Scenario;

/// What the catalogue says of one behaviour of the emulator.
#[derive(Debug, Clone, Serialize)]
pub struct Noticed {
    /// Name of the defect or of the policy.
    pub behaviour: &'static str,
    /// The rule that the defect breaks; `None` for a policy.
    pub rule: Option<&'static str>,
    /// Cases that are about that rule and notice it.
    pub by: Vec<Sighting>,
    /// Cases that are about other rules and notice it.
    pub elsewhere: Vec<Sighting>,
    /// Rules that findings name, of whatever case. What is found without the defect as well does not count, here and above.
    pub blamed: BTreeSet<String>,
}

impl Noticed {
    /// True when a case that is about the rule fails on the defect; for a policy, when no case fails. A rule that the
    /// ledger does not call tested asks for nothing.
    pub fn is_right(&self) -> bool {
        match self.rule {
            Some(_) => self.is_open() || !self.by.is_empty(),
            None => self.elsewhere.is_empty(),
        }
    }

    /// True when the ledger says that nothing tests the rule yet.
    pub fn is_open(&self) -> bool {
        let state = |rule: &str| Ledger::embedded().get(rule).map(|rule| rule.state);
        self.rule.is_some_and(|rule| state(rule).is_some_and(|state| state != State::Tested))
    }
}

/// The rules that ask for something, are called tested, and that no defect of `rows` has broken for all to see: no case
/// about the rule has failed on a defect against it, and no finding has named it. Those are left out whose ledger entry
/// names a test with wrong frames in place of a defect.
pub fn unproven(rows: &[Noticed]) -> Vec<&'static Rule> {
    let mut broken: BTreeSet<&str> = rows.iter().flat_map(|row| &row.blamed).map(String::as_str).collect();
    broken.extend(rows.iter().filter(|row| !row.by.is_empty()).filter_map(|row| row.rule));
    let asks = |rule: &&Rule| rule.state == State::Tested && rule.level >= Level::Should && rule.proof.is_none();
    // What is looked at on every frame has its own tests.
    let is_proven = |rule: &&Rule| rule.id.starts_with("lint.") || broken.contains(rule.id.as_str());
    Ledger::embedded().rules().iter().filter(asks).filter(|rule| !is_proven(rule)).collect()
}

/// Runs the usual variants of every scenario against every defect, then against every policy preset.
pub fn notice(scenarios: &[Scenario], profile: &Profile, seed: u64) -> Vec<Noticed> {
    let defects = Defect::ALL.iter().map(|defect| (defect.name(), Some(*defect), policy_of(*defect)));
    let policies = Policy::PRESETS.iter().map(|(name, policy)| (*name, None, *policy));
    let jobs: Vec<_> = defects.chain(policies).collect();
    let play = |defects, policy| play(scenarios, Emulator::new(policy, defects, profile.clone()), seed);
    let mut flawless: Vec<(Policy, Run)> = Vec::new();
    for (_, defect, policy) in &jobs {
        if defect.is_some() && !flawless.iter().any(|(known, _)| known == policy) {
            flawless.push((*policy, play(Defects::NONE, *policy)));
        }
    }
    let look = |&(name, defect, policy): &(&'static str, Option<Defect>, Policy)| match defect {
        Some(defect) => {
            let plain = flawless.iter().find(|(known, _)| *known == policy).map_or(&[][..], |(_, run)| &run.cases);
            broken(name, defect, &play(Defects::from(defect), policy), plain)
        }
        None => allowed(name, &play(Defects::NONE, policy)),
    };
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let work = || {
        let mut rows = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.push(look(job));
        }
        rows
    };
    let mut rows: Vec<Noticed> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a run does not panic")).collect()
    });
    let place = |row: &Noticed| jobs.iter().position(|(name, ..)| *name == row.behaviour);
    rows.sort_by_key(place);
    rows
}

/// A policy under which a defect can show: what only comes with credits shows on a device that keeps to them.
fn policy_of(defect: Defect) -> Policy {
    match defect {
        Defect::IgnoresCredits | Defect::IgnoresUnsolicitedCredits => {
            Policy::named("credits-on").expect("the preset that keeps to credits")
        }
        _ => Policy::default(),
    }
}

fn play(scenarios: &[Scenario], mut emulator: Emulator, seed: u64) -> Run {
    let planned = plan(scenarios, &[], false).expect("no filter fails");
    let options = Options { seed, dut: "emulator".to_owned(), repeat: String::new(), jobs: 1, counters: false };
    run(&mut emulator, &planned, &options, &mut |_| ())
}

/// What is noticed of a defect. `plain` holds the same cases without it.
fn broken(behaviour: &'static str, defect: Defect, run: &Run, plain: &[Case]) -> Noticed {
    let rule = defect.rule();
    let mut row =
        Noticed { behaviour, rule: Some(rule), by: Vec::new(), elsewhere: Vec::new(), blamed: BTreeSet::new() };
    for (place, case) in run.cases.iter().enumerate() {
        let plain = plain.get(place);
        let new = new_findings(case, plain);
        let Some(manner) = manner(case, plain, &new) else { continue };
        let concerns = case.rules.iter().any(|cited| cited == rule) || new.iter().any(|finding| finding.rule == rule);
        let list = if concerns { &mut row.by } else { &mut row.elsewhere };
        list.push(Sighting { case: case.id(), manner });
        row.blamed.extend(new.iter().map(|finding| finding.rule.clone()));
    }
    row
}

/// What is noticed of a policy: it is quiet when nothing fails.
fn allowed(behaviour: &'static str, run: &Run) -> Noticed {
    let failed = run.cases.iter().filter(|case| matches!(case.verdict, Verdict::Fail | Verdict::Crash));
    let blamed = failed.clone().flat_map(|case| &case.findings).map(|finding| finding.rule.clone()).collect();
    let elsewhere = failed.map(|case| Sighting { case: case.id(), manner: Manner::of(case.verdict) }).collect();
    Noticed { behaviour, rule: None, by: Vec::new(), elsewhere, blamed }
}

/// Findings that are not there without the defect.
fn new_findings<'c>(case: &'c Case, plain: Option<&Case>) -> Vec<&'c Finding> {
    let is_known = |finding: &Finding| {
        let mut known = plain.iter().flat_map(|plain| &plain.findings);
        known.any(|known| known.rule == finding.rule && known.line == finding.line)
    };
    case.findings.iter().filter(|finding| !is_known(finding)).collect()
}

/// How a case shows a defect: one against a demand as FAIL, one against a recommendation as LOOSE, one against what is only
/// information as a remark. `None` when it does as it does without the defect.
fn manner(case: &Case, plain: Option<&Case>, new: &[&Finding]) -> Option<Manner> {
    let is_other = plain.is_none_or(|plain| plain.verdict != case.verdict);
    let manner = Manner::of(case.verdict);
    (!new.is_empty() || (is_other && manner != Manner::Remark)).then_some(manner)
}
