//! What the suite notices of deliberate defects, as plain data.

use crate::outcome::Rule;

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
    /// Cases about the rule that fail.
    pub by: Vec<String>,
    /// Other cases that fail.
    pub elsewhere: Vec<String>,
}

/// What came of a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A case about the rule fails.
    Caught,
    /// The ledger does not call the rule tested.
    Open,
    /// No case about the rule fails.
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
