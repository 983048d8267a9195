//! `--dut`: from a name to a device.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::dut::{Dut, Emulator, Prepared, foreign, nic, vm};
use crate::ledger::Ledger;
use crate::profile::Profile;
use crate::scenario::CAPABILITIES;

/// Profiles that come with the tool.
const PROFILES: [(&str, &str); 6] = [
    ("device", include_str!("../../../fixtures/profiles/device.toml")),
    ("emulator", include_str!("../../../fixtures/profiles/emulator.toml")),
    ("nic", include_str!("../../../fixtures/profiles/nic.toml")),
    ("rxe", include_str!("../../../fixtures/profiles/rxe.toml")),
    ("rxe-6.1", include_str!("../../../fixtures/profiles/rxe-6.1.toml")),
    ("rxe-7.3", include_str!("../../../fixtures/profiles/rxe-7.3.toml")),
];

/// Cases at once on a guest, see docs/performance.md.
const GUEST_JOBS: usize = 8;

/// Which device.
#[derive(Debug, clap::Args)]
pub(super) struct Choice {
    /// The device under test: `emulator`, `emulator:DEFECT,…`, `rxe:6.1`, `rxe:newest`, or `rxe:FOLDER` with a guest
    /// that `cargo xtask rxe` made; `socket:wire=PATH,control=PATH`, a simulator that listens on unix sockets; `exec:COMMAND`,
    /// one that is started, see docs/bring-your-own-device.md; `nic:IFACE,agent=HOST:PORT`, a real one behind a network
    /// interface, see docs/real-nic.md.
    #[arg(long, value_name = "DEVICE", default_value = "emulator")]
    pub(super) dut: String,

    /// Its profile: a name that comes with the tool, or a file. Default: the one that belongs to the device.
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,

    /// Queue pairs that were made before the run, for a device without a control channel: a TOML file, see
    /// docs/bring-your-own-device.md.
    #[arg(long, value_name = "FILE")]
    pub(super) qp: Option<PathBuf>,
}

impl Choice {
    /// The words that choose the same device again.
    pub(super) fn repeat(&self) -> String {
        let mut words = String::new();
        if self.dut != "emulator" {
            words += &format!(" --dut {}", quoted(&self.dut));
        }
        if let Some(profile) = &self.profile {
            words += &format!(" --profile {}", quoted(profile));
        }
        if let Some(file) = &self.qp {
            words += &format!(" --qp {}", quoted(&file.display().to_string()));
        }
        words
    }

    /// Starts the device.
    pub(super) fn start(&self) -> anyhow::Result<Box<dyn Dut>> {
        let (kind, rest) = self.dut.split_once(':').unwrap_or((&self.dut, ""));
        match kind {
            "emulator" | "rxe" if self.qp.is_some() => {
                bail!("--qp is for socket:, exec: and nic:; {kind} makes its own queue pairs")
            }
            "emulator" => {
                let profile = self.profile("emulator")?;
                if profile.capabilities.is_empty() {
                    bail!("the emulator can do what its profile says, and {} lists no capabilities", profile.name);
                }
                Ok(Box::new(Emulator::named(rest, profile)?))
            }
            "rxe" => {
                let guest = if rest.is_empty() { "6.1" } else { rest };
                let profile = self.profile(rxe_profile(&vm::release(guest)?))?;
                Ok(Box::new(vm::start(guest, profile)?))
            }
            "socket" => Ok(Box::new(foreign::socket::start(rest, self.prepared()?, self.profile("device")?)?)),
            "exec" => Ok(Box::new(foreign::exec::start(rest, self.prepared()?, self.profile("device")?)?)),
            "nic" => Ok(Box::new(nic::start(rest, self.prepared()?, self.profile("nic")?)?)),
            _ => bail!(
                "there is no device {:?}: take emulator, emulator:DEFECT, rxe:VERSION, socket:wire=PATH,control=PATH, \
                 exec:COMMAND or nic:IFACE,agent=HOST:PORT",
                self.dut
            ),
        }
    }

    /// The profile that belongs to a guest with rxe.
    pub(super) fn rxe_profile(guest: &str) -> anyhow::Result<Profile> {
        built_in(rxe_profile(&vm::release(guest)?))
    }

    /// Cases at once that suit it: the emulator computes, a guest mostly waits.
    pub(super) fn jobs(&self) -> usize {
        match self.dut.split(':').next() {
            Some("rxe") => GUEST_JOBS,
            // Nobody knows how much at once is too much for it.
            Some("socket" | "exec" | "nic") => 1,
            _ => thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The queue pairs of `--qp`.
    fn prepared(&self) -> anyhow::Result<Option<Prepared>> {
        let Some(file) = &self.qp else { return Ok(None) };
        let prepared = read(file).and_then(|text| Prepared::parse(&text).map_err(anyhow::Error::msg));
        prepared.map(Some).with_context(|| format!("cannot use the queue pairs of {}", file.display()))
    }

    /// The profile named on the command line, or this one.
    fn profile(&self, usual: &str) -> anyhow::Result<Profile> {
        let name = self.profile.as_deref().unwrap_or(usual);
        if PROFILES.iter().any(|(known, _)| *known == name) {
            return built_in(name);
        }
        let path = Path::new(name);
        if !path.exists() {
            let known = PROFILES.map(|(known, _)| known).join(", ");
            bail!("there is no profile and no file {name:?}; built in are {known}");
        }
        let text = read(path).with_context(|| format!("cannot read the profile {name}"))?;
        let stem = path.file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        if !is_name(&stem) {
            bail!(
                "the profile {name} would be called {stem:?}: name the file with letters, digits, '.', '-' and '_', not \
                 beginning with '.'"
            );
        }
        let mut profile = Profile::parse(name, &text).map_err(|error| anyhow::anyhow!("{error}"))?;
        profile.name = stem;
        check(&profile).with_context(|| format!("the profile {name} is not right"))?;
        Ok(profile)
    }
}

/// Can a profile be called so? Its golden traces lie in a folder of its name.
fn is_name(stem: &str) -> bool {
    !stem.starts_with('.') && stem.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !stem.is_empty()
}

/// Largest profile, in bytes.
const MAX_PROFILE: u64 = 1 << 20;

/// The text of a file. A pipe would keep us waiting, a device would never end.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    if !path.is_file() {
        bail!("it is not a file");
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_PROFILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_PROFILE {
        bail!("it has more than {MAX_PROFILE} bytes");
    }
    Ok(text)
}

/// Capabilities that no scenario needs by name: they follow from its network.
const NETWORK_CAPABILITIES: [&str; 3] = ["ipv4", "ipv6", "rocev2"];

/// What would make every verdict wrong without a word: no time to answer, capabilities and rules with a slip in them.
fn check(profile: &Profile) -> anyhow::Result<()> {
    let known = || CAPABILITIES.iter().chain(&NETWORK_CAPABILITIES);
    for capability in &profile.capabilities {
        if !known().any(|known| known == capability) {
            let known: Vec<&str> = known().copied().collect();
            bail!("there is no capability {capability:?}; take some of {}", known.join(", "));
        }
    }
    let timing = profile.timing;
    let longest = Duration::from_secs(600);
    for (name, time, least) in [
        ("response_ms", timing.response, 1),
        ("silence_ms", timing.silence, 1),
        ("settle_ms", timing.settle, 0),
        ("slack_ms", timing.slack, 0),
    ] {
        if time < Duration::from_millis(least) || time > longest {
            bail!("{name} = {} is out of range; take {least} to {}", time.as_millis(), longest.as_millis());
        }
    }
    if let Some(port) = profile.port
        && port.speed_gbps.get() > FASTEST_GBPS
    {
        bail!("speed_gbps = {} is out of range; take 1 to {FASTEST_GBPS}", port.speed_gbps);
    }
    for capability in ["pfc", "pause"].into_iter().filter(|capability| profile.can(capability)) {
        let Some(port) = profile.port else {
            bail!("{capability:?} needs the speed of the link: say speed_gbps under [port]");
        };
        if port.tester_us.is_none() && !timing.slack.is_zero() {
            bail!("{capability:?} asks for times of microseconds: say under [port] how late the tester is, tester_us");
        }
    }
    for deviation in &profile.deviations {
        if Ledger::embedded().get(&deviation.rule).is_none() {
            let (scenario, rule) = (&deviation.scenario, &deviation.rule);
            bail!("the deviation of {scenario} names the rule {rule:?}, which `rocespec rules` does not know");
        }
    }
    Ok(())
}

/// Fastest link that a profile may name, in Gb/s.
const FASTEST_GBPS: u32 = 1600;

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
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
    fn a_word_comes_back_out_of_a_shell() {
        for word in ["rxe:6.1", "it's", "'", "a b; $(c) \"d\" \\ \n"] {
            let shell = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(shell.unwrap().stdout, word.as_bytes());
        }
    }

    #[test]
    fn a_kernel_gets_the_profile_of_its_series() {
        assert_eq!(rxe_profile("6.1.0-57-amd64"), "rxe-6.1");
        assert_eq!(rxe_profile("7.3.4+deb13-amd64"), "rxe-7.3");
        assert_eq!(rxe_profile("6.12.118+deb13-amd64"), "rxe");
        assert_eq!(rxe_profile("somebody's"), "rxe");
    }

    #[test]
    fn a_profile_with_pauses_says_how_fast_its_link_is_and_how_late_the_tester() {
        let said = |port: &str, slack: u32| {
            let times = format!("response_ms = 1\nsilence_ms = 1\nsettle_ms = 1\nslack_ms = {slack}\n");
            let text = format!("title = 'x'\ncapabilities = ['rc', 'pfc', 'vlan']\n[timing]\n{times}{port}");
            check(&Profile::parse("x", &text).unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(said("[port]\nspeed_gbps = 100\n", 0), Ok(()));
        assert!(said("", 0).unwrap_err().contains("speed_gbps"));
        assert!(said("[port]\nspeed_gbps = 100\n", 1).unwrap_err().contains("tester_us"));
        assert_eq!(said("[port]\nspeed_gbps = 100\ntester_us = 80\n", 1), Ok(()));
        assert_eq!(said("[port]\nspeed_gbps = 1600\n", 0), Ok(()));
        assert!(said("[port]\nspeed_gbps = 1601\n", 0).unwrap_err().contains("take 1 to 1600"));
    }

    #[test]
    fn every_profile_reads_and_its_deviations_are_of_this_catalogue() {
        let catalogue = crate::scenario::catalogue().unwrap();
        for (name, _) in PROFILES {
            let profile = built_in(name).unwrap();
            check(&profile).unwrap();
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
