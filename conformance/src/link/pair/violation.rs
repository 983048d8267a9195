//! An invariant that does not hold.

use std::fmt;

use rocespec_model::Time;

use crate::link::End;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// When it was seen.
    pub time: Time,
    /// At which end.
    pub end: End,
    /// The rule of the ledger that is broken, where a packet breaks one.
    pub rule: Option<&'static str>,
    /// The packet that shows it, in the notation.
    pub packet: Option<String>,
    /// What is wrong, in a sentence.
    pub sentence: String,
    /// The last packets before it, oldest first, each with its time and direction.
    pub before: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.time, self.end, self.sentence)?;
        if let Some(rule) = self.rule {
            write!(f, " [{rule}]")?;
        }
        if let Some(packet) = &self.packet {
            write!(f, "\n  {packet}")?;
        }
        if !self.before.is_empty() {
            f.write_str("\nbefore it:")?;
        }
        self.before.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Violation {}
