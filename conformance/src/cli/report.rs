//! `rocespec report`

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rocespec_reports::outcome::Run;
use rocespec_reports::{folder, html, json};

use super::{Outcome, decode};

/// Write the HTML report of one run again, or of several runs side by side.
///
/// Reads the report.json of each run. Several runs get a page with a column for each and a row for each case, and a folder
/// each for their own pages.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Report folders of earlier runs.
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,

    /// Where to write; other files there stay.
    #[arg(long, value_name = "DIR")]
    html: PathBuf,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut runs: Vec<Run> = args.runs.iter().map(|folder| read(folder)).collect::<anyhow::Result<_>>()?;
    if let ([folder], [run]) = (&args.runs[..], &mut runs[..]) {
        write(run, folder, &args.html)?;
        return Ok(0);
    }
    let places = html::folders(&runs);
    for ((run, from), place) in runs.iter_mut().zip(&args.runs).zip(&places) {
        write(run, from, &args.html.join(place))?;
    }
    let placed: Vec<(String, Run)> = places.into_iter().zip(runs).collect();
    html::write_matrix(&placed, &args.html).with_context(|| cannot_write(&args.html))?;
    Ok(0)
}

fn read(folder: &Path) -> anyhow::Result<Run> {
    let path = folder.join(folder::JSON);
    let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    json::read(file).with_context(|| path.display().to_string())
}

/// Writes the report of a run, with those of its frames that are there.
fn write(run: &mut Run, from: &Path, to: &Path) -> anyhow::Result<()> {
    for case in &mut run.cases {
        case.pcapng = case.pcapng.take().filter(|path| html::is_inside(path) && from.join(path).is_file());
        let Some(path) = &case.pcapng else { continue };
        let (source, target) = (from.join(path), to.join(path));
        // Copied onto itself a file would be emptied.
        if !target.exists() || fs::canonicalize(&source)? != fs::canonicalize(&target)? {
            fs::create_dir_all(target.parent().unwrap_or(to)).with_context(|| cannot_write(to))?;
            fs::copy(&source, &target).with_context(|| cannot_write(&target))?;
        }
    }
    folder::write(run, &decode::dissect, to).with_context(|| cannot_write(to))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write to {}", path.display())
}
