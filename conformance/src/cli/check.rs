//! `rocespec check`

use std::io::Write as _;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rocespec_model::LinkSpeed;
use rocespec_reports::examination::{CaptureFile, Examination, Findings, SCHEMA};
use rocespec_reports::outcome::Level;
use rocespec_reports::{folder, terminal};

use super::input::Input;
use super::{Outcome, output, run};
use crate::check::{Check, Options};
use crate::ledger::{Ledger, Rule};

/// Examine capture files: what broke first, by which rule, and what is only an artefact of the capture.
///
/// Finds the connections of each file, also when it begins in their middle or holds one direction only, and judges what
/// their ends send. docs/check.md explains what is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 no rule at level `must` is broken, 1 one is, 2 a file cannot be \
                  read to its end, or an address that is to be judged sends nothing in it.")]
pub(super) struct Args {
    /// pcap or pcapng files, also packed with gzip or zstd; `-` is standard input. Each is judged on its own.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Judge only what this address sends. Can be given more than once.
    #[arg(long, value_name = "ADDRESS")]
    judge: Vec<IpAddr>,

    /// The capture was made at the port of this address, and misses nothing: what is not in it was not sent. Can be given
    /// more than once.
    #[arg(long, value_name = "ADDRESS")]
    at: Vec<IpAddr>,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,

    /// Speed of the link in Gbit/s, so that the time for which pauses last can be told.
    #[arg(long, value_name = "GBITS", value_parser = speed)]
    speed: Option<LinkSpeed>,

    /// Processors that are used at most; without this all of them. What is found is the same.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Also write a folder with HTML pages, JSON and text.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Show every finding that is kept, and every connection.
    #[arg(short, long)]
    verbose: bool,

    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

pub(super) fn run(args: &Args) -> Outcome {
    let files: Vec<CaptureFile> = args.files.iter().map(|path| examine(args, path)).collect();
    let examination = Examination {
        schema: SCHEMA,
        tool: concat!("rocespec ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: run::command(),
        rules: rules(&files),
        files,
    };
    if let Some(folder) = &args.report {
        folder::write_examination(&examination, folder)
            .with_context(|| format!("cannot write the report to {}", folder.display()))?;
    }
    match args.format {
        output::Format::Json => output::json(&examination)?,
        output::Format::Text => {
            let text = terminal::examination(&examination, &output::style(args.verbose));
            std::io::stdout().lock().write_all(text.as_bytes())?;
        }
    }
    for address in args.strangers(&examination.files) {
        eprintln!("rocespec: {address} sends nothing that belongs to a connection of {}", files_named(&args.files));
    }
    Ok(code(args, &examination))
}

/// Examines a file as far as it can be read.
fn examine(args: &Args, path: &Path) -> CaptureFile {
    let options = Options { judge: args.judge.clone(), at: args.at.clone(), speed: args.speed };
    let mut check = Check::new(options, &args.port);
    let error = read(path, &mut check, args.jobs).err();
    let (file, _) = check.finish();
    CaptureFile { name: path.display().to_string(), error: error.map(|error| format!("{error:#}")), ..file }
}

fn read(path: &Path, check: &mut Check, jobs: Option<NonZeroUsize>) -> anyhow::Result<()> {
    let input = Input::open_silently(path)?;
    let bar = input.bar.clone();
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = jobs.map_or_else(all, NonZeroUsize::get);
    let result = check.read(input, jobs);
    bar.finish_and_clear();
    Ok(result?)
}

/// `this file` or `these files`.
fn files_named(files: &[PathBuf]) -> &'static str {
    if files.len() == 1 { "this file" } else { "these files" }
}

/// The rules that findings name.
fn rules(files: &[CaptureFile]) -> Vec<rocespec_reports::outcome::Rule> {
    let told = || files.iter().flat_map(findings).flat_map(|found| &found.first);
    let named = |id: &str| told().any(|finding| finding.rule == id);
    let ledger = Ledger::embedded();
    let mut rules: Vec<_> = ledger.rules().iter().filter(|rule| named(&rule.id)).map(Rule::for_report).collect();
    rules.sort_by(|one, other| one.id.cmp(&other.id));
    rules
}

/// What was found in each connection, and in frames that belong to none.
fn findings(file: &CaptureFile) -> impl Iterator<Item = &Findings> {
    file.connections.iter().map(|connection| &connection.findings).chain([&file.loose])
}

impl Args {
    /// Addresses that were named and sent nothing in any of the files: of them nothing can be said.
    fn strangers(&self, files: &[CaptureFile]) -> Vec<IpAddr> {
        let ends = || files.iter().flat_map(|file| &file.connections).flat_map(|connection| &connection.ends);
        let sends = |address: &&IpAddr| {
            let address = address.to_canonical().to_string();
            ends().any(|end| !end.silent && end.address == address)
        };
        self.judge.iter().chain(&self.at).filter(|address| !sends(address)).copied().collect()
    }
}

/// Exit code.
fn code(args: &Args, examination: &Examination) -> u8 {
    if examination.files.iter().any(|file| file.error.is_some()) {
        return 2;
    }
    let mut counts = examination.files.iter().flat_map(findings).flat_map(|found| &found.counts);
    if counts.any(|broken| broken.level == Level::Must) {
        return 1;
    }
    if args.strangers(&examination.files).is_empty() { 0 } else { 2 }
}

fn speed(text: &str) -> Result<LinkSpeed, String> {
    let gigabits: u64 = text.parse().map_err(|_| "a whole number of Gbit/s, such as 100".to_owned())?;
    LinkSpeed::from_bits_per_second(gigabits.saturating_mul(1_000_000_000))
        .ok_or_else(|| "no link has this speed".to_owned())
}
