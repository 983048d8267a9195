//! Somebody's own device as a process on this machine, see `docs/bring-your-own-device.md`: one that listens on two sockets
//! ([`socket`]), or one that is started for the run ([`exec`]).

pub mod exec;
pub mod socket;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::Prepared;

/// How long a device may take for an order. Its software is on this machine.
const ORDER_LIMIT: Duration = Duration::from_secs(5);

/// Who does what the device's own software is to do.
#[derive(Debug)]
enum Software<W> {
    /// An agent, who is met here.
    Agent(W),
    /// Nobody: it was done before the run.
    Prepared(Prepared),
}
