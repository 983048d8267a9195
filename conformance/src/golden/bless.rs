//! Recording golden traces.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rocespec_reports::outcome::{Case, Verdict};

use super::against::{Tolerance, differences};
use super::file::{self, Variants};
use super::recording::Recording;
use super::store::{ENDING, Goldens, GoldensError, path};
use crate::scenario::Scenario;

/// Deepest folder that is looked into for files without a scenario.
const MAX_DEPTH: usize = 16;
/// Times on a device are written in steps of this many nanoseconds: below that they are noise.
const STEP_NS: u64 = 1_000_000;

/// The recordings of a run on their way to be goldens.
#[derive(Debug, Default)]
pub struct Blessing {
    recorded: BTreeMap<String, Variants>,
    refused: Vec<String>,
}

/// What became of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Blessed {
    /// Files that are new or have changed.
    pub written: usize,
    /// Files that already said this.
    pub unchanged: usize,
    /// Cases that were not recorded, since they failed or could not be played.
    pub refused: Vec<String>,
    /// Files that belong to no scenario.
    pub stale: Vec<PathBuf>,
}

impl Blessing {
    /// Takes what a case did. What the device is not known to do wrong and does wrong all the same is no golden. Where the
    /// golden that there is, or another variant, agrees within the tolerance, it is taken instead.
    pub fn take(&mut self, case: &Case, recording: Recording, goldens: &Goldens, tolerance: Tolerance) {
        match case.verdict {
            Verdict::Pass | Verdict::Loose | Verdict::Xfail => {}
            Verdict::Unsupported => return,
            Verdict::Fail | Verdict::Xpass | Verdict::Inconclusive | Verdict::Crash => {
                self.refused.push(case.id());
                return;
            }
        }
        let variants = self.recorded.entry(case.scenario.clone()).or_default();
        let mut known = goldens.get(&case.scenario, &case.variant_name()).into_iter().chain(variants.values());
        let recording = match known.find(|known| differences(known, &recording, case, tolerance).is_empty()) {
            Some(known) => known.clone(),
            None if tolerance.is_exact() => recording,
            None => rounded(recording),
        };
        variants.insert(case.variant_name(), recording);
    }

    /// Writes the files. Variants that were not run stay, as long as the scenario has them. `whole` says that the whole
    /// catalogue was run: then files of scenarios that are gone are removed, else they are only named.
    ///
    /// # Errors
    /// When a file cannot be written or removed, or a link leads from below `folder` to it.
    pub fn write(
        self,
        folder: &Path,
        profile: &str,
        catalogue: &[Scenario],
        goldens: &Goldens,
        whole: bool,
    ) -> Result<Blessed, GoldensError> {
        let mut blessed = Blessed { refused: self.refused, ..Blessed::default() };
        refuse_links(folder, &folder.join(profile))?;
        for (scenario, recorded) in self.recorded {
            let known = goldens.variants(&scenario).cloned().unwrap_or_default();
            let names = catalogue.iter().filter(|known| known.id == scenario).flat_map(|known| known.variants(true));
            let names: Vec<String> = names.map(|variant| variant.name()).collect();
            let kept = known.iter().filter(|(variant, _)| names.contains(variant));
            let mut variants: Variants = kept.map(|(variant, known)| (variant.clone(), known.clone())).collect();
            variants.extend(recorded);
            if variants == known {
                blessed.unchanged += 1;
                continue;
            }
            let path = path(folder, profile, &scenario);
            refuse_links(folder, &path)?;
            let write = || {
                fs::create_dir_all(path.parent().unwrap_or(folder))?;
                fs::write(&path, file::write(&variants))
            };
            write().map_err(|source| GoldensError::Write { path: path.display().to_string(), source })?;
            blessed.written += 1;
        }
        stale(&folder.join(profile), "", catalogue, 0, &mut blessed.stale);
        if whole {
            for path in &blessed.stale {
                fs::remove_file(path)
                    .map_err(|source| GoldensError::Write { path: path.display().to_string(), source })?;
            }
        }
        Ok(blessed)
    }
}

/// With times in whole steps.
fn rounded(mut recording: Recording) -> Recording {
    for line in &mut recording.lines {
        line.time_ns = line.time_ns.saturating_add(STEP_NS / 2) / STEP_NS * STEP_NS;
    }
    recording
}

/// What a link below the folder leads to is not ours to write.
fn refuse_links(folder: &Path, path: &Path) -> Result<(), GoldensError> {
    let is_link = |place: &&Path| place.symlink_metadata().is_ok_and(|found| found.is_symlink());
    match path.ancestors().take_while(|place| *place != folder).find(is_link) {
        Some(link) => Err(GoldensError::Link(link.display().to_string())),
        None => Ok(()),
    }
}

/// Golden files below a folder that belong to no scenario. Links, and what cannot be looked into, are passed over.
fn stale(folder: &Path, prefix: &str, catalogue: &[Scenario], depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if kind.is_dir() && depth < MAX_DEPTH {
            stale(&path, &format!("{prefix}{name}/"), catalogue, depth + 1, found);
        } else if let Some(stem) = name.strip_suffix(ENDING).filter(|_| kind.is_file()) {
            let id = format!("{prefix}{stem}");
            if !catalogue.iter().any(|scenario| scenario.id == id) {
                found.push(path);
            }
        }
    }
}
