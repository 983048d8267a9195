//! Scenario files: a TOML header and a script. `docs/scenarios.md` is the manual.
//!
//! Reading one finds everything that is wrong with it; what [`parse`] lets through, a runner can run.

mod diagnostics;
mod file;
mod header;
mod load;
mod network;
mod packet;
mod parse;
mod post;
mod script;
#[cfg(test)]
mod tests;
mod verb;
mod words;

pub use diagnostics::{Diagnostics, FileProblems, Problem};
pub use file::{CAPABILITIES, parse};
pub use header::{Axis, Scenario, Setup, Variant};
pub use load::{catalogue, load, load_folder};
pub use network::Network;
pub use script::{
    Action, Alternative, CompletionPattern, Local, MemoryBytes, PacketText, Post, Step, TesterMemory, Verb, When,
};
