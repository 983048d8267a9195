//! The agent's end of the protocol: who may come in, and exactly one answer to each line.
//!
//! A [`Desk`] takes one connection's bytes apart, lets nothing pass before a right `hello`, and writes the answers. A
//! [`Door`] is where testers come in over the network or a unix socket; [`Door::open`] has every connection heard in a
//! thread of its own and gives the orders of the one tester that is seated to whoever drives the device.

mod desk;
mod door;
mod orders;
mod secret;
#[cfg(test)]
mod tests;

use crate::command::Command;
use crate::reply::{Device, Failure, Reply};

pub use desk::{Desk, Next};
pub use door::{Door, Patience};
pub use orders::{Orders, Went};

/// What carries orders out.
pub trait Service {
    /// Who is there: the answer to `hello`.
    ///
    /// # Errors
    /// When the device does not say.
    fn describe(&mut self) -> Result<Device, Failure>;

    /// Carries out an order of a tester that has said `hello`; never `hello` itself.
    ///
    /// # Errors
    /// When the order cannot be carried out; the session goes on.
    fn carry_out(&mut self, command: Command) -> Result<Reply, Failure>;

    /// The tester is gone: destroys what it made.
    fn leave(&mut self);
}
