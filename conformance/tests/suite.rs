//! The catalogue on the emulator: one test for each case, in every variant.

mod common;

use libtest_mimic::{Arguments, Failed, Trial};
use rocespec::run::{plan, run};
use rocespec::scenario::catalogue;
use rocespec_reports::outcome::Verdict;
use rocespec_reports::terminal::{self, Style};

fn main() {
    let scenarios = Box::leak(Box::new(catalogue().expect("the built-in catalogue reads")));
    let planned = plan(scenarios, &[], true).expect("no filter fails");
    let trials = planned.into_iter().map(|case| {
        Trial::test(case.id(), move || {
            let result = run(&mut common::emulator(""), std::slice::from_ref(&case), &common::options(), &mut |_| ());
            match result.cases[0].verdict {
                // Nor is there anything to remark on it.
                Verdict::Pass | Verdict::Loose | Verdict::Unsupported if result.cases[0].findings.is_empty() => Ok(()),
                _ => Err(Failed::from(terminal::case(&result.cases[0], &Style::default()))),
            }
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
