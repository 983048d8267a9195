//! `rocespec run`

use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rocespec_reports::outcome::Run;
use rocespec_reports::{folder, json, junit, terminal};

use super::{Outcome, decode, device, output, scenarios, stop};
use crate::profile::Profile;
use crate::run::{self, Done, Options};
use crate::scenario::Scenario;

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

    /// Write the report to this folder: index.html with a page for each case, report.json, junit.xml, report.txt and a
    /// pcapng file for each case.
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

    /// Show every case with its packets, not only those that need a look.
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let planned = run::plan(&catalogue, &args.filters, args.all)?;
    let _lock = prepare_folder(&args.report)?;
    // What cannot be written is said before the device has worked for it.
    let junit = args.junit.as_deref().map(create).transpose()?;
    let json = args.json.as_deref().map(create).transpose()?;
    let mut dut = args.device.start()?;
    warn_of_stale_deviations(dut.profile(), &catalogue);
    stop::on_signals();
    let options =
        Options { seed: args.seed, dut: args.device.dut.clone(), repeat: args.device.repeat() + &args.source.repeat() };

    let style = output::style(args.verbose);
    let mut flow = terminal::Flow::new(style);
    let bar = progress(planned.len());
    let mut bad = 0usize;
    let mut failure = None;
    let mut done = |done: &mut Done| {
        if let Err(error) = write_frames(&args.report, done) {
            failure.get_or_insert(error);
        }
        let told = flow.case(&done.case);
        if !told.is_empty() {
            bar.suspend(|| {
                if let Err(error) = print(&mut std::io::stdout().lock(), &told) {
                    failure.get_or_insert(error);
                }
            });
        }
        if done.case.verdict.exit_code(args.strict) != 0 {
            bad += 1;
            bar.set_message(format!(", {bad} to look at"));
        }
        bar.inc(1);
    };
    let result = run::run_until(&mut *dut, &planned, &options, &stop::asked, &mut done);
    bar.finish_and_clear();
    drop(dut);
    print(&mut std::io::stdout().lock(), &flow.finish())?;
    write_reports(args, &result, junit, json)?;
    if let Some(error) = failure {
        return Err(error);
    }
    print(&mut std::io::stdout().lock(), &terminal::summary_with_report(&result, Some(&args.report), &style))?;
    if stop::asked() {
        eprintln!("rocespec: stopped; the report holds what was run until then, the rest is INCONCLUSIVE in it");
    }
    Ok(result.exit_code(args.strict))
}

/// Prints. A reader who has seen enough (`rocespec run | head`) changes nothing about the verdict.
pub(super) fn print(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}

/// A deviation that names no scenario excuses nothing: most likely its name is misspelt or the scenario has gone.
fn warn_of_stale_deviations(profile: &Profile, catalogue: &[Scenario]) {
    for deviation in &profile.deviations {
        if !catalogue.iter().any(|scenario| scenario.id == deviation.scenario) {
            eprintln!("rocespec: the profile {} names {:?}, which is no scenario", profile.name, deviation.scenario);
        }
    }
}

/// A bar on standard error while a person looks at it.
pub(super) fn progress(cases: usize) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let template = "{bar:30} {pos}/{len} cases{msg}, {elapsed} gone, about {eta} left";
    let style = ProgressStyle::with_template(template).expect("a template that is right");
    ProgressBar::with_draw_target(Some(cases as u64), target).with_style(style)
}

/// Where the frames of a run lie inside the report folder.
const FRAMES: &str = "frames";

/// Makes the folder, takes it for this run, and clears the frames of an earlier one. Other files stay. The folder is ours
/// as long as what comes back lives.
fn prepare_folder(folder: &Path) -> anyhow::Result<File> {
    let frames = folder.join(FRAMES);
    std::fs::create_dir_all(&frames).with_context(|| format!("cannot make the report folder {}", folder.display()))?;
    let lock = lock(folder)?;
    let clear = || -> std::io::Result<()> {
        for entry in std::fs::read_dir(&frames)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "pcapng") {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    };
    clear().with_context(|| format!("cannot clear {}", frames.display()))?;
    Ok(lock)
}

/// Keeps a second run out of a folder. Where the file system has no locks, nothing is locked.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let file = File::open(folder).with_context(|| format!("cannot open the report folder {}", folder.display()))?;
    // SAFETY: the descriptor is open as long as `file` lives.
    let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if taken != 0 && std::io::Error::last_os_error().kind() == ErrorKind::WouldBlock {
        bail!("another run writes to {}; choose another folder with --report", folder.display());
    }
    Ok(file)
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
pub(super) fn file_name(id: &str) -> String {
    id.replace('/', ".")
}

fn write_reports(args: &Args, run: &Run, junit: Option<Place>, json: Option<Place>) -> anyhow::Result<()> {
    folder::write(run, &decode::dissect, &args.report)
        .with_context(|| format!("cannot write to {}", args.report.display()))?;
    if let Some((mut file, path)) = junit {
        junit::write(run, &mut file).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some((mut file, path)) = json {
        json::write(run, &mut file).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// An open file and how it is called.
type Place = (BufWriter<File>, PathBuf);

fn create(path: &Path) -> anyhow::Result<Place> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((BufWriter::new(file), path.to_owned()))
}
