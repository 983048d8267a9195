//! A Linux guest with the software RoCE device `rxe`, in QEMU: a real device without hardware.
//!
//! `cargo xtask rxe VERSION` makes the guest. Its Ethernet frames and its agent's lines come over two sockets that QEMU
//! inherits; its console is read from QEMU's standard error. Nothing is left in the file system, and QEMU ends with us.

mod guest;
mod qemu;
#[cfg(test)]
mod tests;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::clock::Clock;
use super::control_client::ControlClient;
use super::port;
use super::remote::{Line, Place, Remote};
use super::{Addresses, DutError};
use crate::profile::Profile;
use guest::Guest;

/// How long the guest may take from QEMU's start to the agent's first answer, on a busy machine.
const BOOT_LIMIT: Duration = Duration::from_secs(90);
/// The driver's counter of packets that it handed to its network interface.
const SENT: &str = "sent_pkts";

/// Boots a guest and waits until its agent answers. `name` is a version as `cargo xtask rxe` takes it, or a folder with
/// a `guest.toml`.
///
/// # Errors
/// [`DutError::Unreachable`] when there is no such guest, when QEMU is missing or when the guest does not come up; the
/// text says what to do or what the console said.
pub fn start(name: &str, profile: Profile) -> Result<Remote, DutError> {
    boot(guest::find(name)?, profile)
}

/// Boots a guest in the place of the tester: it has the tester's addresses, and at the other end is a device with those that
/// a guest has otherwise.
///
/// # Errors
/// As [`start`].
pub fn start_as_tester(name: &str, profile: Profile) -> Result<Remote, DutError> {
    boot(guest::find(name)?.turned(), profile)
}

fn boot(guest: Guest, profile: Profile) -> Result<Remote, DutError> {
    let tester = guest.tester()?;
    Remote::start(Box::new(Vm { guest, tester }), profile, Clock::new())
}

/// Addresses of a guest's own place, and of the tester's.
///
/// # Errors
/// When there is no such guest; the text says what to do.
pub fn places(name: &str) -> Result<[Addresses; 2], DutError> {
    let guest = guest::find(name)?;
    let here = guest.clone().turned().tester()?;
    Ok([here, guest.tester()?])
}

/// Kernel release of a guest, `6.1.0-57-amd64`, without booting it.
///
/// # Errors
/// When there is no such guest; the text says what to do.
pub fn release(name: &str) -> Result<String, DutError> {
    Ok(guest::find(name)?.release)
}

/// A guest to be booted.
#[derive(Debug)]
struct Vm {
    guest: Guest,
    tester: Addresses,
}

impl Place for Vm {
    fn name(&self) -> String {
        format!("the guest {}", self.guest.name())
    }

    fn tester(&self) -> &Addresses {
        &self.tester
    }

    fn connect(&mut self, clock: Clock) -> Result<Line, DutError> {
        let unreachable = |what: &str, error: &dyn std::fmt::Display| DutError::Unreachable(format!("{what}: {error}"));
        let pair = || UnixStream::pair().map_err(|error| unreachable("cannot make a socket", &error));
        let (wire, wire_of_qemu) = pair()?;
        let (control, control_of_qemu) = pair()?;
        let qemu = qemu::start(&self.guest, wire_of_qemu, control_of_qemu)
            .map_err(|error| unreachable(&format!("cannot run {}", self.guest.qemu.display()), &error))?;
        let port =
            port::stream::open(wire.into(), &self.tester, clock).map_err(|error| unreachable("the wire", &error))?;
        let control = ControlClient::new(control.into()).map_err(|error| unreachable("the control stream", &error))?;
        Ok(Line { life: Box::new(qemu), port, control: control.into() })
    }

    fn patience(&self) -> Duration {
        BOOT_LIMIT
    }

    fn sent_counter(&self) -> Option<&'static str> {
        Some(SENT)
    }
}
