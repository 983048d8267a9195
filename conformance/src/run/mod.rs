//! The runner: takes planned cases to a device and judges what comes back.

mod bench;
pub mod compare;
mod connection;
mod counted;
mod execute;
mod judge;
pub mod mutation;
mod objects;
mod observations;
mod on_twins;
mod one_by_one;
pub mod pair;
mod plan;
mod prepared;
mod record;
mod results;
mod side_by_side;

use rocespec_control::ErrorCode;
use rocespec_reports::outcome::{Actor, Case, Device, Finding, Level, Observation, Run, SCHEMA};

use crate::dut::{Dut, DutError};
use crate::golden::Form;
use crate::ledger::Ledger;
use execute::Executed;
use judge::{Ending, Known, judge};
use observations::HandedOut;
use one_by_one::OneByOne;
use results::Results;

pub use plan::{NoMatch, Planned, plan, plan_any, plan_pairs};

/// What a run needs to know besides the cases.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of everything that is chosen at random. Same seed, same bytes.
    pub seed: u64,
    /// The device as named on the command line.
    pub dut: String,
    /// Further words for the command that repeats a case: `--dut rxe:6.1`.
    pub repeat: String,
    /// Cases at once, at least 1. They change how long a run takes and nothing else.
    pub jobs: usize,
    /// Compares the device's counters with the wire in every case, not only where the scenario asks for it. A device that
    /// cases would share has them one at a time then.
    pub counters: bool,
}

impl Options {
    /// The command that repeats a case.
    fn command(&self, planned: &Planned<'_>) -> String {
        format!("rocespec run '{}'{} --seed {}", planned.id(), self.repeat, self.seed)
    }
}

/// A finished case and its frames.
pub struct Done {
    /// The result.
    pub case: Case,
    /// A pcapng file.
    pub pcapng: Vec<u8>,
    /// How its frames are written in a golden trace; `None` for a case that was not begun.
    pub form: Option<Form>,
    handed_out: HandedOut,
}

/// Who follows a run.
pub struct Watch<'w> {
    /// Asked before each case; true leaves the rest.
    pub stop: &'w (dyn Fn() -> bool + Sync),
    /// Sees each result once it is known, in any order: for a progress bar.
    pub finished: &'w mut dyn FnMut(&Case),
    /// Sees each result in the order of the plan, and may still change it (to say where its frames were written).
    pub done: &'w mut dyn FnMut(&mut Done),
}

/// Runs the cases to the end. `done` sees each result in the order of the plan and may still change it.
pub fn run(dut: &mut dyn Dut, planned: &[Planned<'_>], options: &Options, done: &mut dyn FnMut(&mut Done)) -> Run {
    run_watched(dut, planned, options, Watch { stop: &|| false, finished: &mut |_| (), done })
}

/// Runs the cases until the watcher says to stop. Those that are left are INCONCLUSIVE, and `done` does not see them.
///
/// Where the device has twins, every case begins on a new one; else several cases share the device, where it lets itself
/// be shared, see [`Dut::waker`]. A device that dies is restarted; when it does not come back, what is left is
/// INCONCLUSIVE.
pub fn run_watched(dut: &mut dyn Dut, planned: &[Planned<'_>], options: &Options, watch: Watch<'_>) -> Run {
    let mut results = Results::new(planned.len(), watch);
    let twins: Vec<_> = (0..options.jobs.clamp(1, planned.len().max(1))).map_while(|_| dut.twin()).collect();
    if !twins.is_empty() {
        on_twins::play(twins, planned, options, &mut results);
    } else if options.jobs > 1
        && !options.counters
        && let Some(waker) = dut.waker()
    {
        side_by_side::play(dut, waker, planned, options, &mut results);
    } else {
        OneByOne::new(dut).play(0..planned.len(), planned, options, &mut results);
    }
    let (cases, observations) = results.finish(|index| {
        let not_run = Executed::nothing(Ending::Unknown("not run: the run was stopped".to_owned()));
        conclude(&Known::one(dut.profile()), &planned[index], options.command(&planned[index]), not_run).case
    });
    let device =
        Device { dut: options.dut.clone(), profile: dut.profile().name.clone(), system: dut.device().system.clone() };
    outcome(device, options.seed, observations, cases)
}

/// The outcome of a run of this device.
fn outcome(device: Device, seed: u64, observations: Vec<Observation>, cases: Vec<Case>) -> Run {
    let tool = concat!("rocespec ", env!("CARGO_PKG_VERSION")).to_owned();
    let rules = Ledger::embedded().cited_by(&cases);
    // Who plans the run knows what it is a part of.
    let (command, filter, complete) = (String::new(), Vec::new(), false);
    Run { schema: SCHEMA, tool, device, pair: None, seed, command, filter, complete, rules, observations, cases }
}

/// The result of a case; `repeat` is the command that repeats it.
fn conclude(known: &Known<'_>, planned: &Planned<'_>, repeat: String, mut executed: Executed) -> Done {
    let scenario = planned.scenario;
    if let Ending::Crashed(how) = &executed.ending {
        executed.findings.insert(0, crash_finding(scenario.rules.first(), how, &executed));
    }
    let (verdict, reason) = judge(planned, known, &executed);
    let case = Case {
        scenario: scenario.id.clone(),
        variant: planned.variant.values.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        level: scenario.level,
        rules: scenario.rules.clone(),
        verdict,
        reason,
        findings: executed.findings,
        file: scenario.file.clone(),
        script: scenario.script.clone(),
        script_line: scenario.script_line,
        trace: executed.trace,
        golden: None,
        duration_ns: executed.duration_ns,
        pcapng: None,
        repeat,
    };
    Done { case, pcapng: executed.pcapng, form: executed.form, handed_out: executed.handed_out }
}

/// Names the packet after which the device died.
fn crash_finding(rule: Option<&String>, how: &str, executed: &Executed) -> Finding {
    let last = executed.trace.iter().rev().find(|line| line.actor == Actor::Tester);
    Finding {
        rule: rule.cloned().unwrap_or_default(),
        level: Level::Must,
        device: None,
        line: last.and_then(|line| line.line),
        frame: last.and_then(|line| line.frame),
        packet: last.map(|line| line.text.clone()),
        time_ns: last.map_or(0, |line| line.time_ns),
        expected: "a device that lives".to_owned(),
        seen: how.to_owned(),
        why: match last {
            Some(line) if executed.once => format!(
                "it died after: {}. Played again on a new device it lived: perhaps something else killed it",
                line.text
            ),
            Some(line) => format!("it died after: {}", line.text),
            None => "it died before the first packet".to_owned(),
        },
    }
}

/// A device error as an ending.
fn ending(error: DutError) -> Ending {
    match error {
        DutError::Crash(how) => Ending::Crashed(how),
        // An agent that is older than this tester has not heard of newer orders.
        DutError::Refused(failure) if matches!(failure.code, ErrorCode::Unsupported | ErrorCode::UnknownCommand) => {
            Ending::Lacks(format!("the device says: {}", failure.message))
        }
        other => Ending::Unknown(other.to_string()),
    }
}
