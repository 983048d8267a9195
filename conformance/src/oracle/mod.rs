//! The oracle: what is asked of every frame that a device sends, whatever the script says.
//!
//! A rule looks at a frame and yields a [`Breach`]. One file per family of rules: what a frame is on its own ([`lint`]),
//! and what it is after those before it ([`Stream`]).

mod lint;
mod stream;

pub use lint::{Ends, lint, source_port, undecodable};
pub use stream::{Stream, StreamConfig};

use rocespec_reports::outcome::Level;

/// A rule that a frame breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Id of the rule in the ledger.
    pub rule: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What the rule asks for.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Why this is a fault.
    pub why: &'static str,
}
