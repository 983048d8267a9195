//! Profiles: what is known of a device before it is tested.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use rocespec_model::LinkSpeed;
use serde::Deserialize;

/// What is known of a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name: that of its file.
    #[serde(skip)]
    pub name: String,
    /// One line.
    pub title: String,
    /// What it can do. A scenario that needs something else is UNSUPPORTED. Left out, it is what the device says of itself.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// How exactly time is kept.
    pub timing: Timing,
    /// Its port, where pauses and rates are to be judged.
    #[serde(default)]
    pub port: Option<Port>,
    /// Where it is known to break a rule.
    #[serde(default, rename = "deviation")]
    pub deviations: Vec<Deviation>,
}

/// What is known of a device's port.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Speed of its link in Gb/s; pauses are counted in 512 bit times of it. 1 to 1600.
    pub speed_gbps: NonZeroU32,
    /// The tester's own delay, in microseconds: a frame has come to the device at most so long after the tester sent it,
    /// and arrivals are stamped at most so late. Left out, it is the slack.
    #[serde(default)]
    pub tester_us: Option<u32>,
}

/// How exactly time is kept on a device.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Longest wait for an expected packet where the script names none.
    #[serde(with = "milliseconds", rename = "response_ms")]
    pub response: Duration,
    /// Length of a silence where the script names none.
    #[serde(with = "milliseconds", rename = "silence_ms")]
    pub silence: Duration,
    /// How long the device may take to send what nobody asked for, at the end of a script.
    #[serde(with = "milliseconds", rename = "settle_ms")]
    pub settle: Duration,
    /// Added to every time limit of a script: the noise of a real clock.
    #[serde(with = "milliseconds", rename = "slack_ms")]
    pub slack: Duration,
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// A known deviation: a failure that is expected, with its reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Id of the scenario that shows it.
    pub scenario: String,
    /// Variants that show it, `axis = value`; empty = all.
    #[serde(default)]
    pub variant: std::collections::BTreeMap<String, String>,
    /// The rule that is broken.
    pub rule: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The exchange that shows it, in the notation.
    pub frames: Vec<String>,
}

/// Why a profile could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read the profile {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a profile.
    #[error("the profile {path} is not right:\n{source}")]
    Parse {
        /// The file.
        path: String,
        /// Why.
        source: Box<toml::de::Error>,
    },
}

impl Profile {
    /// Reads the text of a profile.
    ///
    /// # Errors
    /// When it is not TOML or not a profile.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ProfileError> {
        let mut profile: Profile = toml::from_str(text)
            .map_err(|source| ProfileError::Parse { path: name.to_owned(), source: Box::new(source) })?;
        name.clone_into(&mut profile.name);
        Ok(profile)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// When it cannot be read or is not a profile.
    pub fn load(path: &Path) -> Result<Profile, ProfileError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| ProfileError::Read { path: shown.clone(), source })?;
        let name = path.file_stem().map_or_else(|| shown.clone(), |stem| stem.to_string_lossy().into_owned());
        Profile::parse(&name, &text).map_err(|error| match error {
            ProfileError::Parse { source, .. } => ProfileError::Parse { path: shown, source },
            other => other,
        })
    }

    /// The speed of its link, where it is known.
    pub fn link_speed(&self) -> Option<LinkSpeed> {
        let gigabits = u64::from(self.port?.speed_gbps.get());
        LinkSpeed::from_bits_per_second(gigabits * 1_000_000_000)
    }

    /// How exactly the times of single frames are known, where pauses and rates are judged.
    pub fn precision(&self) -> Duration {
        let tester = self.port.and_then(|port| port.tester_us);
        tester.map_or(self.timing.slack, |tester| Duration::from_micros(tester.into()))
    }

    /// True when it can do this.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }
}
