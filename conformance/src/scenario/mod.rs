//! Scenario files: a TOML header and a script. `docs/scenarios.md` is the manual.
//!
//! Reading one finds everything that is wrong with it; what [`parse`] lets through, a runner can run.

mod budget;
mod diagnostics;
mod file;
mod header;
mod link;
mod load;
mod network;
mod object;
mod packet;
mod parse;
mod post;
mod script;
mod stream;
#[cfg(test)]
mod tests;
mod verb;
mod words;

pub use diagnostics::{Diagnostics, FileProblems, Problem};
pub use file::{CAPABILITIES, parse};
pub use header::{Axis, Scenario, Setup, Variant};
pub use link::{DEVICE, PEER};
pub use load::{catalogue, load, load_file, load_folder};
pub use network::Network;
pub use object::{Bind, ObjectVerb};
pub(crate) use packet::cuttable;
pub use script::{
    Action, Alternative, CompletionPattern, LinkStep, Local, MemoryBytes, PacketText, Peer, Post, RandomFault, Remote,
    Step, TesterMemory, Verb, When,
};
pub use stream::{Share, Stream, Take};

/// A time as scripts write it: `100ms`, `4.096us`. `None` for anything else and for more than 600 s.
pub fn duration(text: &str) -> Option<std::time::Duration> {
    words::duration(words::Piece { text, at: 0 }).ok()
}
