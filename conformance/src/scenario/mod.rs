//! Scenario files: a TOML header and a script. `docs/scenarios.md` is the manual.

mod header;
mod script;

pub use header::{Axis, Network, Scenario, Setup, Variant};
pub use script::{Action, Alternative, CompletionPattern, MemoryBytes, PacketText, Step, Verb};
