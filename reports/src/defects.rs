//! What the suite notices of deliberate defects, as plain data.

use serde::Serialize;

use crate::outcome::{Rule, Verdict};

/// The catalogue against every defect of the model, and against every policy that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defects {
    /// Name and version of the tool.
    pub tool: String,
    /// One for each defect and each policy.
    pub behaviours: Vec<Behaviour>,
}

/// A defect or a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// For `--dut emulator:NAME`.
    pub name: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// The rule that it breaks; `None` for a policy.
    pub rule: Option<Rule>,
    /// What came of it.
    pub notice: Notice,
    /// Cases about the rule that notice it.
    pub by: Vec<Sighting>,
    /// Other cases that notice it.
    pub elsewhere: Vec<Sighting>,
}

/// A case that notices a behaviour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// Id of the case.
    pub case: String,
    /// How it says so.
    pub manner: Manner,
}

/// How a case says that it noticed something, the faintest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Manner {
    /// A finding that changes no verdict: the rule is information, or leaves a choice.
    #[serde(rename = "remark")]
    Remark,
    /// A recommendation is not followed.
    #[serde(rename = "LOOSE")]
    Loose,
    /// A demand is not met.
    #[serde(rename = "FAIL")]
    Fail,
    /// The device dies.
    #[serde(rename = "CRASH")]
    Crash,
}

impl Manner {
    /// All, the loudest first.
    pub const ALL: [Manner; 4] = [Manner::Crash, Manner::Fail, Manner::Loose, Manner::Remark];

    /// That of a case with this verdict.
    pub const fn of(verdict: Verdict) -> Manner {
        match verdict {
            Verdict::Crash => Manner::Crash,
            Verdict::Fail => Manner::Fail,
            Verdict::Loose => Manner::Loose,
            _ => Manner::Remark,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Manner::Remark => "remark",
            Manner::Loose => "LOOSE",
            Manner::Fail => "FAIL",
            Manner::Crash => "CRASH",
        }
    }
}

/// The loudest, and of several the first.
pub fn loudest(sightings: &[Sighting]) -> Option<&Sighting> {
    let manner = sightings.iter().map(|sighting| sighting.manner).max()?;
    sightings.iter().find(|sighting| sighting.manner == manner)
}

/// What came of a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A case about the rule notices it.
    Caught,
    /// The ledger does not call the rule tested.
    Open,
    /// No case about the rule notices it.
    Missed,
    /// A policy that fails nowhere.
    Quiet,
    /// A policy that fails: a false alarm.
    Alarm,
}

impl Notice {
    /// All, in the order of a summary.
    pub const ALL: [Notice; 5] = [Notice::Caught, Notice::Open, Notice::Missed, Notice::Quiet, Notice::Alarm];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Notice::Caught => "caught",
            Notice::Open => "open",
            Notice::Missed => "missed",
            Notice::Quiet => "quiet",
            Notice::Alarm => "alarm",
        }
    }
}
