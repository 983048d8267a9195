//! `cargo xtask publish`: the reports that lie in the repository, made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, bail};

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    let built = rocespec(root, &["help"])?;
    if !built.success() {
        bail!("rocespec cannot be built");
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for (place, device) in args.devices.iter().enumerate() {
        // Below the root, where it runs: reports name the command that made them.
        let folder = Path::new("target/publish").join(place.to_string());
        let status = rocespec(root, &["run", "--dut", device, "--report", text(&folder)?])?;
        if !matches!(status.code(), Some(0 | 1)) {
            bail!("{device}: the run ended with {status}; its report is in {}", folder.display());
        }
        folders.push(folder);
    }
    let published = root.join(PUBLISHED);
    if published.exists() {
        fs::remove_dir_all(&published).with_context(|| format!("cannot clear {}", published.display()))?;
    }
    let target = PUBLISHED;
    let status = rocespec(root, &["defects", "--run", "--report", target])?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("`rocespec defects --run` ended with {status}");
    }
    let mut words = vec!["report", "--small", "--html", target];
    for folder in &folders {
        words.push(text(folder)?);
    }
    let status = rocespec(root, &words)?;
    if !status.success() {
        bail!("`rocespec report` ended with {status}");
    }
    for (name, sweep) in SWEEPS {
        let folder = format!("{PUBLISHED}/sweeps/{name}");
        let status = rocespec(root, &[&["pair"], sweep, &["--report", &folder]].concat())?;
        if !status.success() {
            bail!("the sweep {name} ended with {status}; its report is in {folder}");
        }
    }
    publish_pairs(root, &args.devices)?;
    println!("{PUBLISHED} holds the reports of {}.", args.devices.join(", "));
    Ok(())
}

/// Every ordered pair of the devices, face to face.
fn publish_pairs(root: &Path, devices: &[String]) -> anyhow::Result<()> {
    let folder = Path::new("target/publish/pairs");
    if root.join(folder).exists() {
        fs::remove_dir_all(root.join(folder)).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    let mut words = vec!["pair", "--matrix", "--counters", "--report", text(folder)?];
    words.extend(devices.iter().map(String::as_str));
    let status = rocespec(root, &words)?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("the pairs ended with {status}; their reports are in {}", folder.display());
    }
    let entries = fs::read_dir(root.join(folder)).with_context(|| format!("cannot read {}", folder.display()))?;
    let reports = entries.flatten().map(|entry| entry.path()).filter(|path| path.join("report.json").is_file());
    let mut reports: Vec<PathBuf> = reports.collect();
    reports.sort();
    let target = format!("{PUBLISHED}/pairs");
    let mut words = vec!["report", "--small", "--html", &target];
    for report in &reports {
        words.push(text(report)?);
    }
    let status = rocespec(root, &words)?;
    if !status.success() {
        bail!("`rocespec report` of the pairs ended with {status}");
    }
    Ok(())
}

/// Runs rocespec as it stands here.
fn rocespec(root: &Path, words: &[&str]) -> anyhow::Result<ExitStatus> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["run", "--quiet", "--release", "--package", "rocespec", "--"]).args(words);
    command.status().context("cannot start cargo")
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))
}
