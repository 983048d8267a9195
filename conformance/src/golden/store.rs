//! Where golden traces are: in the program, or in a folder `<profile>/<scenario>.trace`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::file::{self, FileError, Variants};
use super::recording::Recording;

/// How the name of a golden file ends.
pub(super) const ENDING: &str = ".trace";
/// Largest golden file, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Most bytes that the golden traces of a profile may take in memory.
const MAX_HELD: usize = 128 << 20;

include!(concat!(env!("OUT_DIR"), "/goldens.rs"));

/// The golden traces of one profile.
#[derive(Debug, Clone, Default)]
pub struct Goldens {
    /// What stands in front of their names.
    folder: String,
    /// By scenario.
    files: BTreeMap<String, Variants>,
    /// Bytes that they take.
    held: usize,
}

/// Why golden traces could not be had.
#[derive(Debug, thiserror::Error)]
pub enum GoldensError {
    /// A file cannot be read.
    #[error("cannot read the golden trace {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no golden trace.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no such folder.
    #[error("there is no folder {0} with golden traces; --bless makes it")]
    NoFolder(String),
    /// What is to be written lies behind a link.
    #[error(
        "{0} is a link: golden traces are not written through links; name the folder that it leads to with --goldens"
    )]
    Link(String),
    /// The files of a profile stand for too much.
    #[error("the golden traces in {0} stand for more than 128 MiB; record them again with --bless")]
    TooMuch(String),
    /// A file cannot be written or removed.
    #[error("cannot write the golden trace {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Goldens {
    /// Those that are built into this program.
    ///
    /// # Errors
    /// When one is wrong; the tests of this crate see that it is not.
    pub fn built_in(profile: &str) -> Result<Goldens, GoldensError> {
        let mut goldens = Goldens { folder: format!("goldens/{profile}"), ..Goldens::default() };
        for (path, text) in GOLDENS {
            if let Some(scenario) = path.strip_prefix(profile).and_then(|rest| rest.strip_prefix('/')) {
                goldens.add(scenario, text)?;
            }
        }
        Ok(goldens)
    }

    /// Those of these scenarios in a folder.
    ///
    /// # Errors
    /// When the folder is not there, a file cannot be read, is larger than 4 MiB, or is no golden trace, or when all of them
    /// would take more than 128 MiB.
    pub fn of_folder<'i>(
        folder: &Path,
        profile: &str,
        scenarios: impl IntoIterator<Item = &'i str>,
    ) -> Result<Goldens, GoldensError> {
        if !folder.is_dir() {
            return Err(GoldensError::NoFolder(folder.display().to_string()));
        }
        let name = folder.join(profile).display().to_string();
        let mut goldens = Goldens { folder: name, ..Goldens::default() };
        for scenario in scenarios {
            let path = path(folder, profile, scenario);
            if path.is_file() {
                let text =
                    read(&path).map_err(|source| GoldensError::Read { path: path.display().to_string(), source })?;
                goldens.add(scenario, &text)?;
            }
        }
        Ok(goldens)
    }

    fn add(&mut self, scenario: &str, text: &str) -> Result<(), GoldensError> {
        let variants = file::read(&self.name(scenario), text)?;
        self.held += variants.values().map(Recording::size).sum::<usize>();
        if self.held > MAX_HELD {
            return Err(GoldensError::TooMuch(self.folder.clone()));
        }
        self.files.insert(scenario.to_owned(), variants);
        Ok(())
    }

    /// The golden of a case. `variant` is what stands in the brackets of its id.
    pub fn get(&self, scenario: &str, variant: &str) -> Option<&Recording> {
        self.files.get(scenario)?.get(variant)
    }

    /// All variants of a scenario that there are.
    pub(super) fn variants(&self, scenario: &str) -> Option<&Variants> {
        self.files.get(scenario)
    }

    /// The file of a scenario as named in messages.
    pub fn name(&self, scenario: &str) -> String {
        format!("{}/{scenario}{ENDING}", self.folder)
    }
}

/// The file of a scenario.
pub(super) fn path(folder: &Path, profile: &str, scenario: &str) -> PathBuf {
    folder.join(profile).join(format!("{scenario}{ENDING}"))
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(std::io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    Ok(text)
}
