//! `rocespec compare`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rocespec_model::{Defects, Policy};

use super::run::progress;
use super::{Outcome, device, output, scenarios, stop};
use crate::dut::Emulator;
use crate::run::compare::{self, Compared, Options};
use crate::run::{self, Planned};
use crate::scenario::{self, Scenario};
use summary::Summary;

mod known;
mod summary;
mod text;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Compare on the scenarios whose id contains this; `random/17` is one made sequence. Default: the whole catalogue, or
    /// with --random nothing of it.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    #[command(flatten)]
    device: device::Choice,

    #[command(flatten)]
    source: scenarios::Source,

    /// Every combination of what a scenario varies, instead of each value once.
    #[arg(long)]
    all: bool,

    /// Also compare on so many request sequences made from the seed: right and wrong packets, one at a time.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    random: u64,

    /// Make sequences in which the device sends the requests and the tester answers, right or wrong.
    #[arg(long, requires = "random")]
    requester: bool,

    /// Seed of the sequences and of what the tester chooses. The same seed gives the same bytes.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// The explanations of known differences. Default: those that come with the tool for the device's profile.
    #[arg(long, value_name = "FILE")]
    differences: Option<PathBuf>,

    /// The policy that the model takes where the standard leaves a choice; `rocespec defects` lists them.
    #[arg(long, value_name = "POLICY", default_value = "plain")]
    policy: String,

    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,

    /// Write compare.txt, compare.json, and of the cases that differ the frames and, where it was made, the scenario.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Show every case that differs, not only those that nobody has explained.
    #[arg(short, long)]
    verbose: bool,
}

const AFTER_HELP: &str = "\
The sender's side of each script goes to the reference model and to the device. What the two send, and what their software \
sees, is held against each other. Every difference is a freedom of the standard, a deviation of the device, or unexplained; \
docs/compare.md says how to explain one.

Exit codes: 0 no difference is unexplained, 1 some are, 2 it could not be compared.";

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let made = made(args)?;
    let planned = plan(args, &catalogue, &made)?;
    let Some(policy) = Policy::named(&args.policy) else {
        bail!("the model has no policy {:?}; `rocespec defects` lists them", args.policy);
    };
    let mut model = Emulator::new(policy, Defects::NONE, device::built_in("emulator")?);
    let mut dut = args.device.start()?;
    let explanations = known::explanations(args.differences.as_deref(), &dut.profile().name)?;
    if let Some(folder) = &args.report {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the report folder {}", folder.display()))?;
    }
    stop::on_signals();
    let options = Options { seed: args.seed, repeat: repeat(args), explanations: &explanations };
    let bar = progress(planned.len(), "cases");
    let mut summary = Summary::new(dut.as_ref(), &args.device.dut, args.seed, &explanations);
    let mut failure = None;
    let mut done = |compared: Compared| {
        if args.format == output::Format::Text && text::is_shown(&compared, args.verbose) {
            let shown = text::case(&compared);
            bar.suspend(|| failure = failure.take().or(print(&shown).err()));
        }
        if let Some(error) = args.report.as_deref().and_then(|folder| write_case(folder, args.seed, &compared).err()) {
            failure.get_or_insert(error);
        }
        summary.add(compared);
        bar.inc(1);
    };
    compare::compare((&mut model, dut.as_mut()), &planned, &options, &stop::asked, &mut done);
    bar.finish_and_clear();
    let full = args.filters.is_empty();
    if let Some(folder) = &args.report {
        write_report(folder, &summary, full)?;
    }
    match args.format {
        output::Format::Text => print(&text::summary(&summary, full))?,
        output::Format::Json => output::json(&summary)?,
    }
    if let Some(error) = failure {
        return Err(error);
    }
    if stop::asked() {
        eprintln!("rocespec: stopped; {} of {} cases were compared", summary.cases.len(), planned.len());
    }
    Ok(summary.exit_code())
}

fn print(text: &str) -> anyhow::Result<()> {
    super::run::print(&mut std::io::stdout().lock(), text)
}

/// The sequences that are asked for: the first ones of the seed, and those that filters name.
fn made(args: &Args) -> anyhow::Result<Vec<Scenario>> {
    let prefix = if args.requester { compare::REQUESTER } else { compare::RESPONDER };
    let named = args.filters.iter().filter(|filter| compare::is_made(filter)).cloned();
    (0..args.random)
        .map(|number| format!("{prefix}{number}"))
        .chain(named)
        .map(|id| {
            let text = compare::script(args.seed, &id).with_context(|| format!("{id:?}: a sequence has a number"))?;
            Ok(scenario::parse(&id, &id, &text)?)
        })
        .collect()
}

fn plan<'s>(args: &Args, catalogue: &'s [Scenario], made: &'s [Scenario]) -> anyhow::Result<Vec<Planned<'s>>> {
    let filters: Vec<String> = args.filters.iter().filter(|filter| !compare::is_made(filter)).cloned().collect();
    let mut planned = match made.is_empty() || !filters.is_empty() {
        true => run::plan(catalogue, &filters, args.all)?,
        false => Vec::new(),
    };
    planned.extend(run::plan(made, &[], false)?);
    Ok(planned)
}

/// The words that choose the same comparison again, but for the case and the seed.
fn repeat(args: &Args) -> String {
    let mut words = args.device.repeat() + &args.source.repeat();
    if let Some(file) = &args.differences {
        words += &format!(" --differences {}", device::quoted(&file.to_string_lossy()));
    }
    if args.policy != "plain" {
        words += &format!(" --policy {}", args.policy);
    }
    words
}

/// The frames of a case that differs and, where it was made, the scenario.
fn write_case(folder: &Path, seed: u64, compared: &Compared) -> anyhow::Result<()> {
    if compared.differences.is_empty() {
        return Ok(());
    }
    let script = compare::script(seed, &compared.case).unwrap_or_default();
    for (ending, bytes) in [("pcapng", &compared.pcapng[..]), ("toml", script.as_bytes())] {
        if !bytes.is_empty() {
            let place = folder.join(format!("{}.{ending}", super::run::file_name(&compared.case)));
            std::fs::write(&place, bytes).with_context(|| format!("cannot write {}", place.display()))?;
        }
    }
    Ok(())
}

fn write_report(folder: &Path, summary: &Summary<'_>, full: bool) -> anyhow::Result<()> {
    let mut shown: String = summary.cases.iter().filter(|case| text::is_shown(case, true)).map(text::case).collect();
    shown += &text::summary(summary, full);
    let json = serde_json::to_vec_pretty(summary)?;
    for (name, bytes) in [("compare.txt", shown.as_bytes()), ("compare.json", &json)] {
        let place = folder.join(name);
        std::fs::write(&place, bytes).with_context(|| format!("cannot write {}", place.display()))?;
    }
    Ok(())
}
