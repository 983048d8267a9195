//! `rocespec pair`

mod devices;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rocespec_reports::outcome::Run;
use rocespec_reports::{html, interop, markdown, terminal};

use super::run::{MOST_JOBS, Shown, clear_frames, command, print, take_folder};
use super::{Outcome, decode, device, output, scenarios, stop, sweep};
use crate::run::pair::{Pairing, run_watched};
use crate::run::{Planned, Watch, plan_pairs};
use crate::sweep::Axis;
use devices::Couple;

/// Put two devices face to face, with a faulty link between them, and judge both.
///
/// A and B are devices as for `rocespec run --dut`: `emulator`, `emulator:POLICY`, `rxe:VERSION`, `socket:…`, `exec:…`,
/// `nic:…`. Their software connects queue pairs with each other and moves data both ways; this process is the wire between
/// them, and loses, doubles, reorders, delays, damages, marks and holds back packets as the scenarios say. Every packet of
/// either is held against the rules, and the data at both ends is compared.
///
/// More than two devices, or --matrix, play every ordered pair, each with itself as well: A x B x scenario.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rocespec pair rxe:6.1 rxe:newest                    all scenarios for two devices, in the folder pair/
  rocespec pair emulator rxe:6.1 pair/loss            those below this name
  rocespec pair emulator emulator:credits-on --matrix
  rocespec pair emulator rxe:6.1 rxe:newest           nine pairs, as a matrix
  rocespec pair emulator emulator --sweep loss=1e-5,1e-4,1e-3,1e-2
  rocespec list pair                                  what there is")]
pub(super) struct Args {
    /// Devices, then filters as for `rocespec run`. Without a filter the scenarios for two devices are played; a filter also
    /// finds those whose peer is otherwise the reference model: the second device stands there then.
    #[arg(value_name = "DEVICE|FILTER", required = true, num_args = 2..)]
    words: Vec<String>,

    /// Play every ordered pair of the devices, each with itself as well.
    #[arg(long)]
    matrix: bool,

    #[command(flatten)]
    source: scenarios::Source,

    /// Run every combination of what a scenario varies, instead of each value once.
    #[arg(long)]
    all: bool,

    /// Write the report to this folder; of several pairs a folder for each, and the matrix as index.html, matrix.json and
    /// README.md.
    #[arg(long, value_name = "DIR", default_value = "report-pair")]
    report: PathBuf,

    /// Cases at once, where both devices are emulators; others play one after the other.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,

    /// Compare the counters of both devices with the wire in every case, and call LOOSE what they say wrongly. Nothing else
    /// may go on at the devices meanwhile.
    #[arg(long)]
    counters: bool,

    /// Exit with 1 on LOOSE as well.
    #[arg(long)]
    strict: bool,

    /// Seed of what happens at random. The same seed gives the same faults.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Show every case with its packets, not only those that need a look.
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    sweep: sweep::Args,
}

/// `is_given` tells which options the command line names.
pub(super) fn run(args: &Args, is_given: &dyn Fn(&str) -> bool) -> Outcome {
    let (devices, filters): (Vec<String>, Vec<String>) =
        args.words.iter().cloned().partition(|word| devices::is_device(word));
    if devices.len() < 2 {
        bail!("name two devices, as in `rocespec pair emulator rxe:6.1`; {filters:?} are none");
    }
    if let Some(axis) = &args.sweep.sweep {
        sweep::refuse_others(axis, &devices, is_given)?;
        return measure(args, axis, &devices, &filters);
    }
    let catalogue = args.source.load()?;
    let planned = plan_pairs(&catalogue, &filters, args.all)?;
    if planned.is_empty() {
        bail!("none of these scenarios has a peer: `peer device` or `peer model` begins those that have");
    }
    stop::on_signals();
    if devices.len() == 2 && !args.matrix {
        let couple = devices::start([&devices[0], &devices[1]], None)?;
        let (run, _) = play(args, couple, &planned, &filters, &args.report)?;
        let style = output::style(args.verbose);
        print(&mut std::io::stdout().lock(), &terminal::summary_with_report(&run, Some(&args.report), &style))?;
        return Ok(run.exit_code(args.strict));
    }
    matrix(args, &devices, &filters, &planned)
}

/// Measures instead of judging.
fn measure(args: &Args, axis: &Axis, devices: &[String], filters: &[String]) -> Outcome {
    let [a, b] = devices else { bail!("a sweep is between two devices, not {}", devices.len()) };
    if !filters.is_empty() {
        bail!("a sweep plays no scenarios, and {filters:?} are no devices");
    }
    let names = [a.as_str(), b.as_str()];
    let pair = sweep::Pair { names, seed: args.seed, report: &args.report, verbose: args.verbose };
    sweep::run(&args.sweep, axis, &pair, || Ok(devices::start(names, None)?.ends))
}

/// Plays every ordered pair.
fn matrix(args: &Args, devices: &[String], filters: &[String], planned: &[Planned<'_>]) -> Outcome {
    let _lock = take_folder(&args.report)?;
    let mut runs: Vec<(String, Run)> = Vec::new();
    let mut couple = None;
    for a in devices {
        for b in devices.iter().filter(|_| !stop::asked()) {
            let ready = devices::start([a, b], couple.take())?;
            let folder = html::folder_of(&format!("{a} with {b}"));
            let (run, used) = play(args, ready, planned, filters, &args.report.join(&folder))?;
            couple = Some(used);
            print(&mut std::io::stdout().lock(), &interop::line(&run))?;
            runs.push((folder, run));
        }
    }
    drop(couple);
    write_matrix(&runs, &args.report)?;
    print(&mut std::io::stdout().lock(), &interop::table(&runs))?;
    let codes: Vec<u8> = runs.iter().map(|(_, run)| run.exit_code(args.strict)).collect();
    Ok(if codes.contains(&1) { 1 } else { codes.into_iter().max().unwrap_or(0) })
}

/// Writes what shows all pairs together; each has its folder in `report`.
pub(super) fn write_matrix(runs: &[(String, Run)], report: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to {}", report.display());
    html::write_matrix(runs, report).with_context(cannot)?;
    fs::write(report.join("README.md"), markdown::pairs(runs)).with_context(cannot)?;
    let mut json = serde_json::to_string_pretty(&interop::Matrix::of(runs))?;
    json.push('\n');
    fs::write(report.join("matrix.json"), json).with_context(cannot)
}

/// Plays the cases on a pair and writes its report. Gives the pair back.
fn play(
    args: &Args,
    mut couple: Couple,
    planned: &[Planned<'_>],
    filters: &[String],
    report: &Path,
) -> anyhow::Result<(Run, Couple)> {
    let _lock = take_folder(report)?;
    clear_frames(report)?;
    let is_virtual = couple.ends.iter().all(|dut| dut.is_virtual());
    let usual = if is_virtual { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let [a, b] = couple.names.each_ref().map(|name| device::quoted(name));
    let pairing = Pairing {
        duts: couple.names.clone(),
        seed: args.seed,
        command: format!("rocespec pair {a} {b}"),
        repeat: args.source.repeat() + if args.counters { " --counters" } else { "" },
        counters: args.counters,
        jobs: args.jobs.map_or(usual, usize::from),
    };
    let style = output::style(args.verbose);
    let shown = Shown { report, cases: planned.len(), style, strict: args.strict };
    let [a, b] = &mut couple.ends;
    let play = |watch: Watch<'_>| run_watched([&mut **a, &mut **b], planned, &pairing, watch);
    let (mut run, failure) = shown.follow(&mut |_| (), play);
    run.command = command();
    run.filter = filters.to_vec();
    run.complete = filters.is_empty() && args.source.is_built_in() && !stop::asked();
    rocespec_reports::folder::write(&run, &decode::dissect, report)
        .with_context(|| format!("cannot write to {}", report.display()))?;
    match failure {
        Some(error) => Err(error),
        None => Ok((run, couple)),
    }
}
