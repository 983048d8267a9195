//! The runner: takes planned cases to a device, one after the other, and judges what comes back.

mod bench;
pub mod compare;
mod connection;
mod execute;
mod judge;
pub mod mutation;
mod plan;
mod record;

use std::collections::BTreeSet;

use rocespec_codec::Qpn;
use rocespec_control::Command;
use rocespec_reports::outcome::{Actor, Case, Device, Finding, Level, Run, SCHEMA};

use crate::dut::{Dut, DutError};
use crate::ledger::Ledger;
use bench::Pace;
use execute::Executed;
use judge::{Ending, judge};

pub use plan::{NoMatch, Planned, plan};

/// What a run needs to know besides the cases.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of everything that is chosen at random. Same seed, same bytes.
    pub seed: u64,
    /// The device as named on the command line.
    pub dut: String,
    /// Further words for the command that repeats a case: `--dut rxe:6.1`.
    pub repeat: String,
}

/// A finished case and its frames.
pub struct Done {
    /// The result.
    pub case: Case,
    /// A pcapng file.
    pub pcapng: Vec<u8>,
}

/// Runs the cases. `done` sees each result as it comes and may still change it (to say where its frames were written).
///
/// A device that dies is restarted; when it does not come back, what is left is INCONCLUSIVE.
pub fn run(dut: &mut dyn Dut, planned: &[Planned<'_>], options: &Options, done: &mut dyn FnMut(&mut Done)) -> Run {
    run_until(dut, planned, options, &|| false, done)
}

/// Runs the cases until `stop` says to stop, which is asked before each. Those that are left are INCONCLUSIVE, and `done`
/// does not see them.
pub fn run_until(
    dut: &mut dyn Dut,
    planned: &[Planned<'_>],
    options: &Options,
    stop: &dyn Fn() -> bool,
    done: &mut dyn FnMut(&mut Done),
) -> Run {
    let mut cases = Vec::new();
    let mut past = BTreeSet::new();
    let mut lost: Option<String> = match dut.control(&Command::Reset {}) {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    for planned in planned {
        if stop() {
            let not_run = Executed::nothing(Ending::Unknown("not run: the run was stopped".to_owned()));
            cases.push(conclude(dut, planned, options, not_run).case);
            continue;
        }
        let mut executed = match &lost {
            Some(why) => Executed::nothing(Ending::Unknown(format!("the device is lost: {why}"))),
            None => execute::execute(dut, planned, options.seed, Pace::Script, &mut past),
        };
        if matches!(executed.ending, Ending::Crashed(_)) {
            executed = find_killer(dut, planned, options.seed, &mut past, executed);
        }
        if matches!(executed.ending, Ending::Crashed(_))
            && let Err(error) = dut.restart()
        {
            lost = Some(error.to_string());
        }
        let mut result = conclude(dut, planned, options, executed);
        done(&mut result);
        cases.push(result.case);
    }
    let device =
        Device { dut: options.dut.clone(), profile: dut.profile().name.clone(), system: dut.device().system.clone() };
    let tool = concat!("rocespec ", env!("CARGO_PKG_VERSION")).to_owned();
    let rules = Ledger::embedded().cited_by(&cases);
    Run { schema: SCHEMA, tool, device, seed: options.seed, rules, cases }
}

/// Plays a case that killed the device once more on a new device, packet by packet, so that the last packet of the trace
/// is the one that did it. Gives the first try where that does not work.
fn find_killer(
    dut: &mut dyn Dut,
    planned: &Planned<'_>,
    seed: u64,
    past: &mut BTreeSet<Qpn>,
    first: Executed,
) -> Executed {
    let sent = first.trace.iter().filter(|line| line.actor == Actor::Tester).count();
    if sent < 2 || dut.restart().is_err() {
        return first;
    }
    let again = execute::execute(dut, planned, seed, Pace::PacketByPacket, past);
    if matches!(again.ending, Ending::Crashed(_)) { again } else { Executed { once: true, ..first } }
}

fn conclude(dut: &dyn Dut, planned: &Planned<'_>, options: &Options, mut executed: Executed) -> Done {
    let scenario = planned.scenario;
    if let Ending::Crashed(how) = &executed.ending {
        executed.findings.insert(0, crash_finding(scenario.rules.first(), how, &executed));
    }
    let (verdict, reason) =
        judge(planned, dut.profile(), executed.ending, &executed.findings, executed.loose.as_deref());
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
        repeat: format!("rocespec run '{}'{} --seed {}", planned.id(), options.repeat, options.seed),
    };
    Done { case, pcapng: executed.pcapng }
}

/// Names the packet after which the device died.
fn crash_finding(rule: Option<&String>, how: &str, executed: &Executed) -> Finding {
    let last = executed.trace.iter().rev().find(|line| line.actor == Actor::Tester);
    Finding {
        rule: rule.cloned().unwrap_or_default(),
        level: Level::Must,
        line: last.and_then(|line| line.line),
        frame: last.and_then(|line| line.frame),
        time_ns: last.map_or(0, |line| line.time_ns),
        expected: "a device that lives".to_owned(),
        seen: how.to_owned(),
        why: match last {
            Some(line) if executed.once => format!(
                "it died after: {}. Played again packet by packet it lived: perhaps something else killed it",
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
        DutError::Refused(failure) if failure.code == rocespec_control::ErrorCode::Unsupported => {
            Ending::Lacks(format!("the device says: {}", failure.message))
        }
        other => Ending::Unknown(other.to_string()),
    }
}
