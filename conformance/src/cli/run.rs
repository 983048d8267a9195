//! `rocespec run`

use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rocespec_reports::claim::{self, FRAMES};
use rocespec_reports::outcome::{Case, Run};
use rocespec_reports::terminal::{self, Style};
use rocespec_reports::{folder, json, junit};

use super::{Outcome, decode, device, goldens, output, scenarios, stop};
use crate::profile::Profile;
use crate::run::{self, Done, Options, Watch};
use crate::scenario::Scenario;

/// Most cases at once.
pub(super) const MOST_JOBS: i64 = 256;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run the scenarios of this folder, `rc/responder`, or whose id contains this; with values of the variant in brackets,
    /// `psn-gap[ip=v6]`, the cases that have them. Default: all.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    #[command(flatten)]
    device: device::Choice,

    #[command(flatten)]
    source: scenarios::Source,

    /// Run every combination of what a scenario varies, instead of each value once.
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    goldens: goldens::Args,

    /// Write the report to this folder: index.html with a page for each area, report.json, junit.xml, report.txt and a
    /// pcapng file for each case.
    #[arg(long, value_name = "DIR", default_value = "report")]
    report: PathBuf,

    /// Also write the JUnit file here.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Also write the JSON file here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Cases at once. They change how long the run takes and nothing else. Default: what suits the device.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,

    /// Compare the device's own counters with the wire in every case, and call LOOSE what they say wrongly. Nothing else may
    /// use the device; cases run one at a time where they would share it.
    #[arg(long)]
    counters: bool,

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

impl Args {
    /// Is every scenario that comes with the tool run?
    fn is_whole(&self) -> bool {
        self.filters.is_empty() && self.source.is_built_in()
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let planned = run::plan(&catalogue, &args.filters, args.all)?;
    // What cannot be written is said before the device has worked for it; what an earlier run wrote stays until this one can
    // begin.
    let _lock = take_folder(&args.report)?;
    let junit = args.junit.as_deref().map(open).transpose()?;
    let json = args.json.as_deref().map(open).transpose()?;
    let mut dut = args.device.start()?;
    let mut goldens =
        args.goldens.open((&args.device.dut, args.seed), dut.profile(), &catalogue, args.source.is_built_in())?;
    warn_of_stale_deviations(dut.profile(), &catalogue);
    clear_frames(&args.report)?;
    junit.iter().chain(&json).try_for_each(empty)?;
    stop::on_signals();
    let counters = if args.counters { " --counters" } else { "" };
    let options = Options {
        seed: args.seed,
        counters: args.counters,
        dut: args.device.dut.clone(),
        repeat: args.device.repeat() + &args.source.repeat() + &args.goldens.repeat() + counters,
        jobs: args.jobs.map_or_else(|| args.device.jobs(), usize::from),
    };

    let style = output::style(args.verbose);
    let shown = Shown { report: &args.report, cases: planned.len(), style, strict: args.strict };
    let (mut result, failure) =
        shown.follow(&mut |done| goldens.look(done), |watch| run::run_watched(&mut *dut, &planned, &options, watch));
    drop(dut);
    result.command = command();
    result.filter.clone_from(&args.filters);
    result.complete = args.is_whole() && !stop::asked();
    write_reports(args, &result, junit, json)?;
    if let Some(error) = failure {
        return Err(error);
    }
    print(&mut std::io::stdout().lock(), &terminal::summary_with_report(&result, Some(&args.report), &style))?;
    if let Some(remark) = goldens.remark() {
        print(&mut std::io::stdout().lock(), &remark)?;
    }
    if let Some(blessed) = goldens.finish(&catalogue, result.complete)? {
        print(&mut std::io::stdout().lock(), &blessed)?;
    }
    if stop::asked() {
        eprintln!("rocespec: stopped; the report holds what was run until then, the rest is INCONCLUSIVE in it");
    }
    Ok(result.exit_code(args.strict))
}

/// The command line, as a shell takes it.
pub(super) fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let words = std::env::args_os().skip(1).map(|word| {
        let word = word.to_string_lossy().into_owned();
        if !word.is_empty() && word.chars().all(plain) { word } else { device::quoted(&word) }
    });
    std::iter::once("rocespec".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
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

/// How a run is shown while it goes on, and where its frames go.
pub(super) struct Shown<'a> {
    pub(super) report: &'a Path,
    pub(super) cases: usize,
    pub(super) style: Style,
    pub(super) strict: bool,
}

impl Shown<'_> {
    /// Shows the run that `play` makes. `look` sees each result before it is shown. Gives what could not be written, too.
    pub(super) fn follow(
        &self,
        look: &mut dyn FnMut(&mut Done),
        play: impl FnOnce(Watch<'_>) -> Run,
    ) -> (Run, Option<anyhow::Error>) {
        let mut flow = terminal::Flow::new(self.style);
        let bar = progress(self.cases, "cases");
        let mut failure = None;
        let mut done = |done: &mut Done| {
            if let Err(error) = write_frames(self.report, done) {
                failure.get_or_insert(error);
            }
            look(done);
            let told = flow.case(&done.case);
            if !told.is_empty() {
                bar.suspend(|| {
                    if let Err(error) = print(&mut std::io::stdout().lock(), &told) {
                        failure.get_or_insert(error);
                    }
                });
            }
        };
        let mut bad = 0usize;
        let mut finished = |case: &Case| {
            if case.verdict.exit_code(self.strict) != 0 {
                bad += 1;
                bar.set_message(format!(", {bad} to look at"));
            }
            bar.inc(1);
        };
        let run = play(Watch { stop: &stop::asked, finished: &mut finished, done: &mut done });
        bar.finish_and_clear();
        if let Err(error) = print(&mut std::io::stdout().lock(), &flow.finish()) {
            failure.get_or_insert(error);
        }
        (run, failure)
    }
}

/// A bar on standard error while a person looks at it. `what` is what it counts.
pub(super) fn progress(count: usize, what: &str) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let template = format!("{{bar:30}} {{pos}}/{{len}} {what}{{msg}}, {{elapsed}} gone, about {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("a template that is right");
    ProgressBar::with_draw_target(Some(count as u64), target).with_style(style)
}

/// Makes the folder and takes it for this run. It is ours as long as what comes back lives.
pub(super) fn take_folder(folder: &Path) -> anyhow::Result<File> {
    let cannot = || format!("cannot use the report folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let lock = lock(folder)?;
    claim::claim(folder).with_context(cannot)?;
    Ok(lock)
}

/// Clears the frames of an earlier run. Other files stay.
pub(super) fn clear_frames(folder: &Path) -> anyhow::Result<()> {
    let frames = folder.join(FRAMES);
    claim::clear(&frames, "pcapng").with_context(|| format!("cannot clear {}", frames.display()))
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

/// Opens a file to be written. What it holds stays until it is [emptied](empty).
fn open(path: &Path) -> anyhow::Result<Place> {
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok((BufWriter::new(file), path.to_owned()))
}

/// Empties what is a file; a pipe or a terminal holds nothing.
fn empty((file, path): &Place) -> anyhow::Result<()> {
    let file = file.get_ref();
    let empty = || if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) };
    empty().with_context(|| format!("cannot write {}", path.display()))
}
