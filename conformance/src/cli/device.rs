//! `--dut`: from a name to a device.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::dut::{Dut, Emulator, Vm};
use crate::profile::Profile;

/// Profiles that come with the tool.
const PROFILES: [(&str, &str); 4] = [
    ("emulator", include_str!("../../../fixtures/profiles/emulator.toml")),
    ("rxe", include_str!("../../../fixtures/profiles/rxe.toml")),
    ("rxe-6.1", include_str!("../../../fixtures/profiles/rxe-6.1.toml")),
    ("rxe-7.3", include_str!("../../../fixtures/profiles/rxe-7.3.toml")),
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
            "rxe" => {
                let guest = if rest.is_empty() { "6.1" } else { rest };
                let profile = self.profile(rxe_profile(&Vm::release(guest)?))?;
                Ok(Box::new(Vm::start(guest, profile)?))
            }
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

/// The profile of a kernel release, `6.1.0-57-amd64`: that of its series, or the general one.
fn rxe_profile(release: &str) -> &'static str {
    let is_series = |profile: &str| {
        let rest = profile.strip_prefix("rxe-").and_then(|series| release.strip_prefix(series));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    PROFILES.iter().map(|(name, _)| *name).find(|name| is_series(name)).unwrap_or("rxe")
}

/// A profile that comes with the tool.
pub(super) fn built_in(name: &str) -> anyhow::Result<Profile> {
    let (_, text) = PROFILES.iter().find(|(known, _)| *known == name).context("no such profile")?;
    Ok(Profile::parse(name, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_gets_the_profile_of_its_series() {
        assert_eq!(rxe_profile("6.1.0-57-amd64"), "rxe-6.1");
        assert_eq!(rxe_profile("7.3.4+deb13-amd64"), "rxe-7.3");
        assert_eq!(rxe_profile("6.12.118+deb13-amd64"), "rxe");
        assert_eq!(rxe_profile("somebody's"), "rxe");
    }

    #[test]
    fn every_profile_reads_and_its_deviations_are_of_this_catalogue() {
        let catalogue = crate::scenario::catalogue().unwrap();
        for (name, _) in PROFILES {
            let profile = built_in(name).unwrap();
            for deviation in &profile.deviations {
                let scenario = catalogue.iter().find(|scenario| scenario.id == deviation.scenario);
                let scenario = scenario.unwrap_or_else(|| panic!("{name}: no scenario {}", deviation.scenario));
                assert!(
                    scenario.rules.contains(&deviation.rule),
                    "{name}: {} is not about {}",
                    scenario.id,
                    deviation.rule
                );
                assert!(deviation.frames.len() >= 2, "{name}: show the frames of {}", scenario.id);
            }
        }
    }
}
