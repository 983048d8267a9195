//! `rocespec report`

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rocespec_reports::outcome::Run;
use rocespec_reports::{claim, folder, html, json, markdown};

use super::{Outcome, decode, pair};

/// Write the HTML report of one run again, or of several runs side by side.
///
/// Several runs get a page with a column for each and a row for each case, a README.md that says the same in short, and a
/// folder each for their own pages. Runs of `rocespec pair` become a matrix of pairs, as that command writes it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Earlier runs: report folders, or JSON reports, which may be compressed with gzip.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// Where to write; other files there stay.
    #[arg(long, value_name = "DIR")]
    html: PathBuf,

    /// Leave out what is large: no capture files, no report.txt, report.json compressed.
    #[arg(long)]
    small: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut runs: Vec<Run> = args.runs.iter().map(|place| read(place)).collect::<anyhow::Result<_>>()?;
    if let [run] = &mut runs[..] {
        write(args, run, &args.runs[0], &args.html)?;
        return Ok(0);
    }
    let places = html::folders(&runs);
    for ((run, from), place) in runs.iter_mut().zip(&args.runs).zip(&places) {
        write(args, run, from, &args.html.join(place))?;
    }
    let placed: Vec<(String, Run)> = places.into_iter().zip(runs).collect();
    if placed.iter().all(|(_, run)| run.pair.is_some()) {
        pair::write_matrix(&placed, &args.html)?;
        return Ok(0);
    }
    html::write_matrix(&placed, &args.html).with_context(|| cannot_write(&args.html))?;
    let readme = args.html.join("README.md");
    fs::write(&readme, markdown::summary(&placed)).with_context(|| cannot_write(&readme))?;
    Ok(0)
}

fn read(place: &Path) -> anyhow::Result<Run> {
    let in_folder = [folder::JSON, folder::JSON_GZ].map(|name| place.join(name));
    let path = match place.is_dir() {
        true => in_folder.iter().find(|path| path.exists()).unwrap_or(&in_folder[0]),
        false => place,
    };
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    json::read(file).with_context(|| path.display().to_string())
}

/// Writes the report of a run, with those of its frames that are there.
fn write(args: &Args, run: &mut Run, from: &Path, to: &Path) -> anyhow::Result<()> {
    claim::claim(to).with_context(|| cannot_write(to))?;
    let from = if from.is_dir() { from } else { from.parent().unwrap_or(from) };
    for case in &mut run.cases {
        let is_there = |path: &String| !args.small && html::is_inside(path) && from.join(path).is_file();
        case.pcapng = case.pcapng.take().filter(is_there);
        let Some(path) = &case.pcapng else { continue };
        let (source, target) = (from.join(path), to.join(path));
        // Copied onto itself a file would be emptied.
        if !target.exists() || fs::canonicalize(&source)? != fs::canonicalize(&target)? {
            fs::create_dir_all(target.parent().unwrap_or(to)).with_context(|| cannot_write(to))?;
            fs::copy(&source, &target).with_context(|| cannot_write(&target))?;
        }
    }
    let write = if args.small { folder::write_small } else { folder::write };
    write(run, &decode::dissect, to).with_context(|| cannot_write(to))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write to {}", path.display())
}
