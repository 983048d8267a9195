//! Results as plain data. The JSON report is exactly this; `docs/report-schema.md` describes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::bytes::Bytes;

/// Version of the JSON report. Grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// Who was tested. Two devices with each other: both in one, in the words of their [`pair`](Run::pair).
    pub device: Device,
    /// The two devices, where they were tested with each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[Device; 2]>,
    /// Seed of everything that was chosen at random.
    pub seed: u64,
    /// The command line. Empty where none is known, as in reports of earlier versions.
    #[serde(default)]
    pub command: String,
    /// Which scenarios were asked for, as on the command line; empty = all.
    #[serde(default)]
    pub filter: Vec<String>,
    /// The whole catalogue that comes with the tool was run to its end.
    #[serde(default)]
    pub complete: bool,
    /// The rules that the cases and their findings name, in the order of their ids.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What was noticed about the device on the way, and is no matter of a rule.
    #[serde(default)]
    pub observations: Vec<Observation>,
    /// One for each scenario and variant, in the order of their ids.
    pub cases: Vec<Case>,
}

/// Something to know about the device. Never a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// What was looked at: `queue pair numbers`.
    pub subject: String,
    /// What was seen.
    pub seen: String,
}

/// A rule of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// `rc.responder.gap-nak`.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// What it asks for.
    pub statement: String,
    /// Compliance id or section.
    pub source: String,
}

/// The device under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// As named on the command line: `rxe:6.1`.
    pub dut: String,
    /// Name of its profile.
    pub profile: String,
    /// What it says of itself: kernel release, firmware version.
    pub system: String,
}

/// One scenario in one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Id of the scenario: its path, `rc/responder/psn-gap`.
    pub scenario: String,
    /// What was varied, by axis: `ip` = `v6`.
    pub variant: BTreeMap<String, String>,
    /// One sentence.
    pub title: String,
    /// Prose: what it tests and why.
    #[serde(default)]
    pub about: String,
    /// How binding it is.
    pub level: Level,
    /// Rules that it is about.
    pub rules: Vec<String>,
    /// The judgement.
    pub verdict: Verdict,
    /// Why, in one line. Empty on a plain PASS.
    pub reason: String,
    /// What was found, the first cause first.
    pub findings: Vec<Finding>,
    /// The scenario file, as named in messages.
    #[serde(default)]
    pub file: String,
    /// The script as it stands in its file.
    pub script: String,
    /// Line of the scenario file at which the script begins, 1 = first.
    pub script_line: u32,
    /// Every frame and event of the case in order.
    pub trace: Vec<TraceLine>,
    /// How the trace differs from the golden one; `None` when it was not compared.
    #[serde(default)]
    pub golden: Option<Golden>,
    /// Time that it took on the device's clock, in nanoseconds.
    pub duration_ns: u64,
    /// Its frames, as a path relative to the report folder.
    pub pcapng: Option<String>,
    /// The command that repeats this one case.
    pub repeat: String,
}

impl Case {
    /// Scenario and variant: `rc/responder/psn-gap[ip=v6,start_psn=0xfffffe]`.
    pub fn id(&self) -> String {
        match self.variant_name() {
            name if name.is_empty() => self.scenario.clone(),
            name => format!("{}[{name}]", self.scenario),
        }
    }

    /// Is it one of two devices with each other? The command that repeats it says so.
    pub fn is_pair(&self) -> bool {
        self.repeat.starts_with("rocespec pair ")
    }

    /// What was varied, as it stands in the brackets of the id; empty where nothing is.
    pub fn variant_name(&self) -> String {
        let values: Vec<String> = self.variant.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        values.join(",")
    }

    /// The rules that it is about and those that its findings and its differences from the golden trace name; some may
    /// come twice.
    pub fn cited(&self) -> impl Iterator<Item = &str> {
        let differences = self.golden.iter().flat_map(|golden| &golden.differences);
        let findings = self.findings.iter().map(|finding| &finding.rule);
        self.rules.iter().chain(findings).chain(differences.filter_map(|d| d.rule.as_ref())).map(String::as_str)
    }

    /// What it belongs to: the folders of the scenario, at most two. `rc/responder`, `icrc`.
    pub fn area(&self) -> &str {
        let folders = self.scenario.rfind('/').map_or("", |end| &self.scenario[..end]);
        let area = match folders.match_indices('/').nth(1) {
            Some((end, _)) => &folders[..end],
            None => folders,
        };
        if area.is_empty() { "(none)" } else { area }
    }
}

/// A line of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceLine {
    /// Since the start of the case, in nanoseconds on the device's clock.
    pub time_ns: u64,
    /// Who acts.
    pub actor: Actor,
    /// Packet in the notation with symbolic numbers, or what was done.
    pub text: String,
    /// Line of the scenario file that caused it, where one did.
    pub line: Option<u32>,
    /// Number of the frame in the pcapng file, 1 = first; `None` when it is no frame.
    pub frame: Option<u32>,
    /// The frame itself, from the Ethernet header to the byte before the FCS; `None` when it is no frame.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// Who acts in a trace line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The tester sends a frame.
    Tester,
    /// The device sends a frame.
    Device,
    /// The device's own software does something.
    Software,
}

/// A rule that was broken, or not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule in the ledger.
    pub rule: String,
    /// How binding it is.
    pub level: Level,
    /// In a run of two devices the one that it is about: that broke the rule or, where the end did not come out right, whose
    /// software saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Line of the scenario file whose expectation was not met, where one was.
    pub line: Option<u32>,
    /// Frame that broke the rule: its number in the pcapng file, 1 = first.
    pub frame: Option<u32>,
    /// That frame as a packet in the notation; `None` when what was missed is a frame.
    #[serde(default)]
    pub packet: Option<String>,
    /// When, in nanoseconds since the start of the case.
    pub time_ns: u64,
    /// What the rule asks for.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Why this is a fault, in one sentence.
    pub why: String,
}

impl Finding {
    /// Stands in place of a rule where the trace differs from the golden one and the user wants that to be a failure.
    pub const GOLDEN: &str = "golden";

    /// True when it is about the golden trace, not about a rule.
    pub fn is_golden(&self) -> bool {
        self.rule == Self::GOLDEN
    }
}

/// A trace held against the golden one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    /// The golden trace, as named in messages.
    pub name: String,
    /// What differs, in the order of the trace. Empty when nothing does.
    pub differences: Vec<Difference>,
}

/// One thing in which a trace differs from the golden one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Line of the scenario file at which it shows, where there is one.
    pub line: Option<u32>,
    /// The frame that differs; `None` when it is missing or no frame.
    pub frame: Option<u32>,
    /// What differs: the name of a field of the packet, `packet` for a whole one, `time`, `script` for what the tester's
    /// side did, `order`.
    pub subject: String,
    /// What the golden trace has there: the value of the field, the packet, the time since the line before.
    pub golden: String,
    /// What was seen.
    pub seen: String,
    /// The packet of the golden trace; empty when it has none there.
    #[serde(default)]
    pub golden_packet: String,
    /// The packet that was seen; empty when there was none.
    #[serde(default)]
    pub seen_packet: String,
    /// The rule that governs it; `None` when the standard leaves it free.
    pub rule: Option<String>,
    /// Why the difference is there, or may be.
    pub why: String,
}

impl Difference {
    /// True when a rule decides; false when the standard leaves it free.
    pub fn is_governed(&self) -> bool {
        self.rule.is_some()
    }

    /// True when the packet as a whole differs, not something about it.
    pub fn is_whole_packet(&self) -> bool {
        self.subject == "packet"
    }
}

/// How binding a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For the record.
    Info,
    /// Allowed.
    May,
    /// Recommended.
    Should,
    /// Demanded.
    Must,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Info => "info",
            Level::May => "may",
            Level::Should => "should",
            Level::Must => "must",
        })
    }
}

/// Judgement on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// As the rules say.
    Pass,
    /// A recommendation was not followed, or an allowed alternative was taken.
    Loose,
    /// A demand was not met.
    Fail,
    /// A demand was not met, and the profile says so with a reason.
    Xfail,
    /// All is well although the profile says that it is not: the profile is stale.
    Xpass,
    /// The device lacks a capability that the scenario needs.
    Unsupported,
    /// The trace cannot be trusted, or the device could not be reached.
    Inconclusive,
    /// The device died.
    Crash,
}

impl Verdict {
    /// All, in the order of a summary.
    pub const ALL: [Verdict; 8] = [
        Verdict::Pass,
        Verdict::Loose,
        Verdict::Xfail,
        Verdict::Unsupported,
        Verdict::Xpass,
        Verdict::Fail,
        Verdict::Crash,
        Verdict::Inconclusive,
    ];

    /// Exit code that it asks for. `strict` makes LOOSE a failure.
    pub fn exit_code(self, strict: bool) -> u8 {
        match self {
            Verdict::Pass | Verdict::Xfail | Verdict::Unsupported => 0,
            Verdict::Loose => u8::from(strict),
            Verdict::Fail | Verdict::Xpass | Verdict::Crash => 1,
            Verdict::Inconclusive => 2,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "PASS",
            Verdict::Loose => "LOOSE",
            Verdict::Fail => "FAIL",
            Verdict::Xfail => "XFAIL",
            Verdict::Xpass => "XPASS",
            Verdict::Unsupported => "UNSUPPORTED",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Crash => "CRASH",
        })
    }
}

impl Run {
    /// Exit code of the run: that of its failures, else 2 when something is inconclusive, else 0.
    pub fn exit_code(&self, strict: bool) -> u8 {
        let codes = || self.cases.iter().map(|case| case.verdict.exit_code(strict));
        if codes().any(|code| code == 1) { 1 } else { codes().max().unwrap_or(0) }
    }

    /// Says that the run is a part of the catalogue, and which. `None` where it is all of it, or nobody knows.
    pub fn part(&self) -> Option<String> {
        match &self.filter[..] {
            _ if self.complete || self.command.is_empty() => None,
            [] => Some("not the whole built-in catalogue".to_owned()),
            filters => Some(format!("a part of the catalogue: {}", filters.join(" "))),
        }
    }

    /// A rule by its id, where the run describes it.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// How many cases have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

#[cfg(test)]
mod tests {
    use crate::sample;

    #[test]
    fn an_area_is_the_folders_of_a_scenario() {
        let mut case = sample::gap();
        for (scenario, area) in [
            ("rc/responder/psn-gap", "rc/responder"),
            ("icrc/bad", "icrc"),
            ("a/b/c/d", "a/b"),
            ("alone", "(none)"),
            ("", "(none)"),
        ] {
            case.scenario = scenario.to_owned();
            assert_eq!(case.area(), area);
        }
    }
}
