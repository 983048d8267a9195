//! Somebody's own device as a process on this machine, see `docs/bring-your-own-device.md`: one that listens on two sockets
//! ([`socket`]), or one that is started for the run ([`exec`]).

pub mod exec;
pub mod socket;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rocespec_codec::MacAddr;

use super::{Addresses, Prepared};

/// The tester's addresses where nobody says otherwise: those that it has towards the emulator.
const TESTER: Addresses = Addresses {
    mac: MacAddr([0x02, 0, 0, 0, 0, 0x01]),
    v4: Ipv4Addr::new(10, 0, 0, 1),
    v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
};

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
