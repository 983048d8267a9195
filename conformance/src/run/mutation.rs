//! Does the suite notice? The catalogue against each deliberate defect of the emulator, and against each policy that
//! is no defect.

use std::sync::atomic::{AtomicUsize, Ordering};

use rocespec_model::{Defect, Defects, Policy};
use rocespec_reports::outcome::{Case, Verdict};
use serde::Serialize;

use super::{Options, plan, run};
use crate::dut::Emulator;
use crate::ledger::{Ledger, State};
use crate::profile::Profile;
use crate::scenario::Scenario;

/// What the catalogue says of one behaviour of the emulator.
#[derive(Debug, Clone, Serialize)]
pub struct Noticed {
    /// Name of the defect or of the policy.
    pub behaviour: &'static str,
    /// The rule that the defect breaks; `None` for a policy.
    pub rule: Option<&'static str>,
    /// Failed cases that are about that rule.
    pub by: Vec<String>,
    /// Failed cases that are about other rules.
    pub elsewhere: Vec<String>,
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

/// Runs the usual variants of every scenario against every defect, then against every policy preset.
pub fn notice(scenarios: &[Scenario], profile: &Profile, seed: u64) -> Vec<Noticed> {
    let defects = Defect::ALL.iter().map(|defect| (defect.name(), Some(*defect), policy_of(*defect)));
    let policies = Policy::PRESETS.iter().map(|(name, policy)| (*name, None, *policy));
    let jobs: Vec<_> = defects.chain(policies).collect();
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let work = || {
        let mut rows = Vec::new();
        while let Some(&(name, defect, policy)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let emulator = Emulator::new(policy, defect.map_or(Defects::NONE, Defects::from), profile.clone());
            rows.push(look(scenarios, name, defect, emulator, seed));
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

fn look(
    scenarios: &[Scenario],
    behaviour: &'static str,
    defect: Option<Defect>,
    mut emulator: Emulator,
    seed: u64,
) -> Noticed {
    let planned = plan(scenarios, &[], false).expect("no filter fails");
    let options = Options { seed, dut: format!("emulator:{behaviour}"), repeat: String::new() };
    let result = run(&mut emulator, &planned, &options, &mut |_| ());
    let rule = defect.map(Defect::rule);
    let concerns = |case: &&Case| {
        rule.is_some_and(|rule| {
            case.rules.iter().any(|cited| cited == rule) || case.findings.iter().any(|finding| finding.rule == rule)
        })
    };
    // A policy is quiet when nothing fails; a defect against a recommendation shows as LOOSE.
    let noticed = |verdict| match defect {
        Some(_) => matches!(verdict, Verdict::Fail | Verdict::Crash | Verdict::Loose),
        None => matches!(verdict, Verdict::Fail | Verdict::Crash),
    };
    let failed = result.cases.iter().filter(|case| noticed(case.verdict));
    let (by, elsewhere): (Vec<&Case>, Vec<&Case>) = failed.partition(concerns);
    let ids = |cases: Vec<&Case>| cases.into_iter().map(Case::id).collect();
    Noticed { behaviour, rule, by: ids(by), elsewhere: ids(elsewhere) }
}
