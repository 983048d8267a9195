//! Which faults of a device a capture shows: every defect of the emulator, in the cases that are about its rule.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rocespec::check::Options;
use rocespec::dut::Emulator;
use rocespec::run::{Planned, plan};
use rocespec::scenario::catalogue;
use rocespec_model::{Defect, Defects, Policy};
use rocespec_reports::examination::CaptureFile;
use rocespec_reports::outcome::Level;

use crate::catalogue::{on_all, play};
use crate::{common, examine, findings, of_the_device};

/// What captures show.
#[derive(Default)]
struct Seen {
    /// Rules that are broken for certain.
    certain: BTreeSet<String>,
    /// Rules that are broken or not followed, in doubt or on a lower level.
    lower: BTreeSet<String>,
    /// Rules that are broken for certain when nothing is missing at the port of the device.
    at_port: BTreeSet<String>,
}

impl Seen {
    fn of(defects: Defects, policy: Policy, case: &Planned<'_>) -> Seen {
        let mut emulator = Emulator::new(policy, defects, common::profile());
        let frames = play(&mut emulator, case);
        let options = of_the_device(&emulator);
        let file = examine(&options, &frames);
        let whole = examine(&Options { at: options.judge.clone(), ..options }, &frames);
        Seen {
            certain: rules(&file, |level| level == Level::Must),
            lower: rules(&file, |level| level < Level::Must),
            at_port: rules(&whole, |level| level == Level::Must),
        }
    }

    fn all(&mut self) -> [&mut BTreeSet<String>; 3] {
        [&mut self.certain, &mut self.lower, &mut self.at_port]
    }

    fn manner(&self) -> &'static str {
        match [&self.certain, &self.lower, &self.at_port].map(BTreeSet::is_empty) {
            [false, ..] => "certain",
            [true, _, false] => "at the port",
            [true, false, true] => "in doubt",
            [true, true, true] => "a run only",
        }
    }
}

fn rules(file: &CaptureFile, is_wanted: impl Fn(Level) -> bool) -> BTreeSet<String> {
    findings(file).filter(|finding| is_wanted(finding.level)).map(|finding| finding.rule.clone()).collect()
}

/// A policy under which a defect can show.
fn policy_of(defect: Defect) -> Policy {
    match defect {
        Defect::IgnoresCredits | Defect::IgnoresUnsolicitedCredits => Policy::named("credits-on").unwrap(),
        _ => Policy::default(),
    }
}

#[test]
fn what_a_capture_shows_of_every_defect() {
    let catalogue = catalogue().unwrap();
    let planned = plan(&catalogue, &[], false).unwrap();
    let rows = on_all(Defect::ALL.len(), |at| {
        let defect = Defect::ALL[at];
        let mut all = Seen::default();
        let about = planned.iter().filter(|case| case.scenario.rules.iter().any(|rule| rule == defect.rule()));
        for case in about {
            let mut seen = Seen::of(Defects::from(defect), policy_of(defect), case);
            let mut plain = Seen::of(Defects::NONE, policy_of(defect), case);
            for ((all, seen), plain) in all.all().into_iter().zip(seen.all()).zip(plain.all()) {
                all.extend(seen.difference(plain).cloned());
            }
        }
        all
    });
    let mut table = String::new();
    for manner in ["certain", "at the port", "in doubt", "a run only"] {
        let of_manner = || Defect::ALL.iter().zip(&rows).filter(|(_, seen)| seen.manner() == manner);
        writeln!(table, "{manner}: {} of {} defects", of_manner().count(), rows.len()).unwrap();
        for (defect, seen) in of_manner() {
            let list = match manner {
                "certain" => &seen.certain,
                "at the port" => &seen.at_port,
                _ => &seen.lower,
            };
            let list =
                list.iter().map(|rule| if rule == defect.rule() { "its rule" } else { rule }).collect::<Vec<_>>();
            writeln!(table, "    {} ({}) {}", defect.name(), defect.rule(), list.join(" ")).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
