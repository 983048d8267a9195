//! A connection of a capture, played again: a scenario in which the tester sends what one end sent, and the device must
//! answer as a right one does.
//!
//! What the tester sends comes from the capture. What the device must answer comes from the reference model, which has
//! the same sent to it: where the captured device was right the two are the same, and where it was not, a right device
//! passes and that one fails. Everything that the captured device did against a rule is noted at its place.

mod faults;
mod heard;
mod memory;
mod origin;
mod play;
mod post;
mod script;
#[cfg(test)]
mod tests;
mod text;
mod write;

use std::net::Ipv6Addr;

use rocespec_codec::{Psn, Qpn, Transport};

use crate::dut::Emulator;
use crate::scenario::Network;

pub use heard::Heard;
pub use play::NotPlayed;

/// Most packets of a connection that are played again.
pub const MOST_PACKETS: usize = 2000;

/// A connection as it was captured.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The capture, as it is named in the scenario.
    pub file: String,
    /// Its number in there.
    pub connection: u32,
    /// RC or UC.
    pub transport: Transport,
    /// Both ends.
    pub ends: [End; 2],
    /// Which of them is the device under test.
    pub device: usize,
    /// The network between them.
    pub network: Network,
    /// Path MTU in bytes, where it was said; else it is inferred.
    pub mtu: Option<u32>,
    /// Which packets belong to it is a guess: then nobody is blamed for them.
    pub guessed: bool,
    /// The packets, in their order.
    pub heard: Vec<Heard>,
    /// Packets of the connection that are not in `heard`: there are more than [`MOST_PACKETS`].
    pub beyond: u64,
    /// Packets that cannot be written as lines.
    pub unreadable: u64,
}

/// One end.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Its address, an IPv4 address as the GID that stands for it.
    pub address: Ipv6Addr,
    /// Its queue pair; the one that it was sent to, or zero where nobody sent to it.
    pub qpn: Qpn,
    /// First PSN of its requests, where the connection manager said it.
    pub start: Option<Psn>,
}

/// A scenario that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The file.
    pub text: String,
    /// What the file does not say, and where it stops, for people.
    pub remarks: Vec<String>,
    /// Rules that the captured device broke.
    pub rules: Vec<&'static str>,
}

/// Makes a scenario, with at most so many steps of the tester and of the device's software. `model` makes a conforming
/// emulator.
///
/// # Errors
/// When nothing can be played, or when what comes out does not pass on the emulator.
pub fn make(exchange: &Exchange, steps: usize, model: &dyn Fn() -> Emulator) -> Result<Made, NotPlayed> {
    let mut script = write::script(exchange, steps);
    if script.lines.is_empty() {
        return Err(NotPlayed::Nothing);
    }
    let answers = play::stimuli(&script, model)?;
    script.take(answers);
    if script.expects_nothing() {
        return Err(NotPlayed::NothingToExpect);
    }
    let made = text::made(exchange, &script);
    play::check(&made.text, model)?;
    Ok(made)
}
