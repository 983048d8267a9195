//! `rocespec run`

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rocespec_reports::outcome::Run;
use rocespec_reports::{folder, json, junit, terminal};

use super::{Outcome, device, output, scenarios};
use crate::run::{self, Done, Options};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run the scenarios whose id contains this, `rc/responder`; with a variant in brackets, that one case. Default: all.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    #[command(flatten)]
    device: device::Choice,

    #[command(flatten)]
    source: scenarios::Source,

    /// Run every combination of what a scenario varies, instead of each value once.
    #[arg(long)]
    all: bool,

    /// Write the report to this folder: report.json, junit.xml, report.txt and a pcapng file for each case.
    #[arg(long, value_name = "DIR", default_value = "report")]
    report: PathBuf,

    /// Also write the JUnit file here.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Also write the JSON file here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Exit with 1 on LOOSE as well.
    #[arg(long)]
    strict: bool,

    /// Seed of what the tester chooses at random. The same seed gives the same bytes.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Show the packets of every case, not only of those that failed.
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let planned = run::plan(&catalogue, &args.filters, args.all)?;
    prepare_folder(&args.report)?;
    let mut dut = args.device.start()?;
    let options =
        Options { seed: args.seed, dut: args.device.dut.clone(), repeat: args.device.repeat() + &args.source.repeat() };

    let style = output::style(args.verbose);
    let bar = progress(planned.len());
    let mut failure = None;
    let mut done = |done: &mut Done| {
        if let Err(error) = write_frames(&args.report, done) {
            failure.get_or_insert(error);
        }
        let line = terminal::case(&done.case, &style);
        bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            if let Err(error) = write!(out, "{line}") {
                failure.get_or_insert(error.into());
            }
        });
        bar.inc(1);
    };
    let result = run::run(&mut *dut, &planned, &options, &mut done);
    bar.finish_and_clear();
    drop(dut);
    write_reports(args, &result)?;
    if let Some(error) = failure {
        return Err(error);
    }
    let mut out = std::io::stdout().lock();
    write!(out, "{}", terminal::summary_with_report(&result, Some(&args.report), &style))?;
    Ok(result.exit_code(args.strict))
}

/// A bar on standard error while a person looks at it.
fn progress(cases: usize) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let template = "{bar:30} {pos}/{len} cases, {elapsed} gone, about {eta} left";
    let style = ProgressStyle::with_template(template).expect("a template that is right");
    ProgressBar::with_draw_target(Some(cases as u64), target).with_style(style)
}

/// Where the frames of a run lie inside the report folder.
const FRAMES: &str = "frames";

/// Makes the folder, and clears the frames of an earlier run.
fn prepare_folder(folder: &Path) -> anyhow::Result<()> {
    let frames = folder.join(FRAMES);
    if frames.is_dir() {
        std::fs::remove_dir_all(&frames).with_context(|| format!("cannot clear {}", frames.display()))?;
    }
    std::fs::create_dir_all(&frames).with_context(|| format!("cannot make the report folder {}", folder.display()))
}

fn write_frames(folder: &Path, done: &mut Done) -> anyhow::Result<()> {
    if done.pcapng.is_empty() {
        return Ok(());
    }
    let path = format!("{FRAMES}/{}.pcapng", file_name(&done.case.id()));
    let place = folder.join(&path);
    std::fs::write(&place, &done.pcapng).with_context(|| format!("cannot write {}", place.display()))?;
    done.case.pcapng = Some(path);
    Ok(())
}

/// A case id as a file name: `rc.responder.psn-gap[ip=v6]`.
fn file_name(id: &str) -> String {
    id.replace('/', ".")
}

fn write_reports(args: &Args, run: &Run) -> anyhow::Result<()> {
    folder::write(run, &args.report).with_context(|| format!("cannot write to {}", args.report.display()))?;
    if let Some(path) = &args.junit {
        junit::write(run, &mut create(path)?)?;
    }
    if let Some(path) = &args.json {
        json::write(run, &mut create(path)?)?;
    }
    Ok(())
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?))
}
