//! `--dut`: from a name to a device.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::dut::{Dut, Emulator, Vm};
use crate::profile::Profile;

/// Profiles that come with the tool.
const PROFILES: [(&str, &str); 2] = [
    ("emulator", include_str!("../../../fixtures/profiles/emulator.toml")),
    ("rxe-6.1", include_str!("../../../fixtures/profiles/rxe-6.1.toml")),
];

/// Which device.
#[derive(Debug, clap::Args)]
pub(super) struct Choice {
    /// The device under test: `emulator`, `emulator:DEFECT,…`, `rxe:6.1`, `rxe:newest`, or `rxe:FOLDER` with a guest
    /// that `cargo xtask rxe` made.
    #[arg(long, value_name = "DEVICE", default_value = "emulator")]
    pub(super) dut: String,

    /// Its profile: a name that comes with the tool, or a file. Default: the one that belongs to the device.
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,
}

impl Choice {
    /// The words that choose the same device again.
    pub(super) fn repeat(&self) -> String {
        let mut words = String::new();
        if self.dut != "emulator" {
            words += &format!(" --dut '{}'", self.dut);
        }
        if let Some(profile) = &self.profile {
            words += &format!(" --profile '{profile}'");
        }
        words
    }

    /// Starts the device.
    pub(super) fn start(&self) -> anyhow::Result<Box<dyn Dut>> {
        let (kind, rest) = self.dut.split_once(':').unwrap_or((&self.dut, ""));
        match kind {
            "emulator" => Ok(Box::new(Emulator::named(rest, self.profile("emulator")?)?)),
            "rxe" => Ok(Box::new(Vm::start(if rest.is_empty() { "6.1" } else { rest }, self.profile("rxe-6.1")?)?)),
            _ => bail!("there is no device {:?}: take emulator, emulator:DEFECT or rxe:VERSION", self.dut),
        }
    }

    /// The profile named on the command line, or this one.
    fn profile(&self, usual: &str) -> anyhow::Result<Profile> {
        let name = self.profile.as_deref().unwrap_or(usual);
        if PROFILES.iter().any(|(known, _)| *known == name) {
            return built_in(name);
        }
        let known = || PROFILES.map(|(known, _)| known).join(", ");
        Profile::load(&PathBuf::from(name)).with_context(|| format!("no profile {name:?}; built in are {}", known()))
    }
}

/// A profile that comes with the tool.
pub(super) fn built_in(name: &str) -> anyhow::Result<Profile> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name).context("no such profile")?;
    Ok(Profile::parse(name, text)?)
}
