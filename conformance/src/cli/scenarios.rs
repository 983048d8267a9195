//! The catalogue that a command works on.

use std::path::PathBuf;

use anyhow::bail;

use super::device::quoted;
use crate::scenario::{self, Scenario};

/// Which catalogue.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// Take the scenarios from this folder, or this one file, instead of the built-in catalogue.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

impl Source {
    /// Loads it. Every fault of every file is reported at once.
    pub(super) fn load(&self) -> anyhow::Result<Vec<Scenario>> {
        let Some(folder) = &self.scenarios else {
            return Ok(scenario::catalogue()?);
        };
        let scenarios = match folder.is_file() {
            true => vec![scenario::load_file(folder)?],
            false => scenario::load_folder(folder)?,
        };
        if scenarios.is_empty() {
            bail!("there is no scenario below {}: a scenario is a file that ends in .toml", folder.display());
        }
        Ok(scenarios)
    }

    /// True for the catalogue that comes with the tool.
    pub(super) fn is_built_in(&self) -> bool {
        self.scenarios.is_none()
    }

    /// The words that choose the same catalogue again.
    pub(super) fn repeat(&self) -> String {
        self.scenarios
            .as_ref()
            .map(|folder| format!(" --scenarios {}", quoted(&folder.to_string_lossy())))
            .unwrap_or_default()
    }
}
