//! `cargo xtask publish`: the reports that lie in the repository, made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Context as _, bail};

use crate::rxe::workspace;

/// Where the reports lie.
const PUBLISHED: &str = "reports/published";

/// Sweeps that lie beside the reports, by the folder of each.
const SWEEPS: [(&str, &[&str]); 3] = [
    ("loss", &["emulator", "emulator", "--sweep", "loss=1e-5,1e-4,1e-3,1e-2"]),
    ("incast", &["emulator", "emulator", "--sweep", "incast=1,2,4,8,16,32", "--runs", "1"]),
    ("rxe", &["rxe:6.1", "rxe:6.1", "--sweep", "loss=1e-5,1e-4,1e-3,1e-2", "--runs", "5"]),
];

/// Run the catalogue on devices, and every pair of them face to face, and write reports/published anew
///
/// The guests of rxe are made by `cargo xtask rxe` before. Nothing is written when a case could not be judged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Devices, as for `rocespec run --dut`.
    #[arg(value_name = "DUT", default_values = ["emulator", "rxe:6.1", "rxe:newest"])]
    devices: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = workspace();
    let built = rocespec(&["help"])?;
    if !built.success() {
        bail!("rocespec cannot be built");
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for (place, device) in args.devices.iter().enumerate() {
        // Below the root, where it runs: reports name the command that made them.
        let folder = Path::new("target/publish").join(place.to_string());
        let status = rocespec(&["run", "--dut", device, "--report", text(&folder)?])?;
        if !matches!(status.code(), Some(0 | 1)) {
            bail!("{device}: the run ended with {status}; its report is in {}", folder.display());
        }
        folders.push(folder);
    }
    let pairs = play_pairs(&root, &args.devices)?;
    let published = root.join(PUBLISHED);
    if published.exists() {
        fs::remove_dir_all(&published).with_context(|| format!("cannot clear {}", published.display()))?;
    }
    let status = rocespec(&["defects", "--run", "--report", PUBLISHED])?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("`rocespec defects --run` ended with {status}");
    }
    report(PUBLISHED, &folders)?;
    for (name, sweep) in SWEEPS {
        let folder = format!("{PUBLISHED}/sweeps/{name}");
        let status = rocespec(&[&["pair"], sweep, &["--report", &folder]].concat())?;
        if !status.success() {
            bail!("the sweep {name} ended with {status}; its report is in {folder}");
        }
    }
    report(&format!("{PUBLISHED}/pairs"), &pairs)?;
    println!("{PUBLISHED} holds the reports of {}.", args.devices.join(", "));
    Ok(())
}

/// Plays every ordered pair of the devices, face to face, and gives the folders of their reports.
fn play_pairs(root: &Path, devices: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let folder = Path::new("target/publish/pairs");
    if root.join(folder).exists() {
        fs::remove_dir_all(root.join(folder)).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    let mut words = vec!["pair", "--matrix", "--counters", "--report", text(folder)?];
    words.extend(devices.iter().map(String::as_str));
    let status = rocespec(&words)?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("the pairs ended with {status}; their reports are in {}", folder.display());
    }
    let entries = fs::read_dir(root.join(folder)).with_context(|| format!("cannot read {}", folder.display()))?;
    let reports = entries.flatten().map(|entry| entry.path()).filter(|path| path.join("report.json").is_file());
    let mut reports: Vec<PathBuf> = reports.collect();
    reports.sort();
    Ok(reports)
}

/// Writes the pages of these report folders, side by side.
fn report(target: &str, folders: &[PathBuf]) -> anyhow::Result<()> {
    let mut words = vec!["report", "--small", "--html", target];
    for folder in folders {
        words.push(text(folder)?);
    }
    let status = rocespec(&words)?;
    if !status.success() {
        bail!("`rocespec report` into {target} ended with {status}");
    }
    Ok(())
}

/// Runs rocespec as it stands here.
fn rocespec(words: &[&str]) -> anyhow::Result<ExitStatus> {
    crate::rocespec().args(words).status().context("cannot start cargo")
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))
}
