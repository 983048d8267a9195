//! A Linux guest with the software RoCE device `rxe`, in QEMU: a real device without hardware.
//!
//! `cargo xtask rxe VERSION` makes the guest. Its Ethernet frames and its agent's lines come over two sockets that QEMU
//! inherits; its console is read from QEMU's standard error. Nothing is left in the file system, and QEMU ends with us.

mod console;
mod guest;
mod neighbour;
mod qemu;
#[cfg(test)]
mod tests;
mod wire;

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;

use super::control_client::{ControlClient, ControlError};
use super::{Addresses, Dut, DutError, Stamped, Waker};
use crate::profile::Profile;
use guest::Guest;
use qemu::Qemu;
use wire::{Received, Wire};

/// How long the guest may take from QEMU's start to the agent's first answer, on a busy machine.
const BOOT_LIMIT: Duration = Duration::from_secs(90);
/// How long the agent may take for an order. Moving a queue pair to RTR resolves the peer's address.
const CONTROL_LIMIT: Duration = Duration::from_secs(20);
/// The driver's counter of packets that it handed to its network interface.
const SENT: &str = "sent_pkts";
/// How long a frame may take from there to us.
const BEHIND: Duration = Duration::from_millis(200);
/// How often a wait for frames looks at the console.
const LOOK: Duration = Duration::from_millis(20);

/// A guest that runs.
#[derive(Debug)]
pub struct Vm {
    guest: Guest,
    profile: Profile,
    tester: Addresses,
    device: Device,
    origin: Instant,
    machine: Machine,
    /// Lost frames that were told of.
    reported: u64,
}

/// What is made anew by a restart. The order is that of the drops: first the machine, then the ends of its wires.
#[derive(Debug)]
struct Machine {
    qemu: Qemu,
    wire: Wire,
    control: ControlClient,
}

impl Vm {
    /// Boots a guest and waits until its agent answers. `name` is a version as `cargo xtask rxe` takes it, or a folder with
    /// a `guest.toml`.
    ///
    /// # Errors
    /// [`DutError::Unreachable`] when there is no such guest, when QEMU is missing or when the guest does not come up; the
    /// text says what to do or what the console said.
    pub fn start(name: &str, profile: Profile) -> Result<Vm, DutError> {
        let guest = guest::find(name)?;
        let tester = guest.tester()?;
        let origin = Instant::now();
        let (machine, device) = boot(&guest, &tester, origin)?;
        Ok(Vm { guest, profile, tester, device, origin, machine, reported: 0 })
    }

    /// Kernel release of a guest, `6.1.0-57-amd64`, without booting it.
    ///
    /// # Errors
    /// When there is no such guest; the text says what to do.
    pub fn release(name: &str) -> Result<String, DutError> {
        Ok(guest::find(name)?.release)
    }

    /// The crash as the console tells it, if there was one.
    fn check_alive(&self) -> Result<(), DutError> {
        match self.machine.qemu.death() {
            Some(how) => Err(DutError::Crash(how)),
            None => Ok(()),
        }
    }
}

fn boot(guest: &Guest, tester: &Addresses, origin: Instant) -> Result<(Machine, Device), DutError> {
    let unreachable = |what: &str, error: &dyn std::fmt::Display| DutError::Unreachable(format!("{what}: {error}"));
    let pair = || UnixStream::pair().map_err(|error| unreachable("cannot make a socket", &error));
    let (wire, wire_of_qemu) = pair()?;
    let (control, control_of_qemu) = pair()?;
    let qemu = Qemu::start(guest, wire_of_qemu, control_of_qemu)
        .map_err(|error| unreachable(&format!("cannot run {}", guest.qemu.display()), &error))?;
    let mut wire = Wire::new(wire, tester, origin).map_err(|error| unreachable("the wire", &error))?;
    let mut control = ControlClient::new(control).map_err(|error| unreachable("the control stream", &error))?;
    match control.call(&Command::hello(), BOOT_LIMIT, &mut || qemu.death().is_none()) {
        Ok(Reply::Device(device)) => {
            // What the guest sent while it came up is nobody's traffic.
            wire.drain(&mut |_| {});
            Ok((Machine { qemu, wire, control }, device))
        }
        Ok(other) => Err(DutError::Unreachable(format!("the agent answers `hello` with {other:?}"))),
        Err(error) => {
            let how = qemu.death().unwrap_or_else(|| format!("{error}; {}", qemu.last_words()));
            Err(DutError::Unreachable(format!("the guest {} did not come up: {how}", guest.name())))
        }
    }
}

impl Dut for Vm {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        let Machine { qemu, control, .. } = &mut self.machine;
        match control.call(command, CONTROL_LIMIT, &mut || !qemu.is_dead()) {
            Ok(reply) => Ok(reply),
            Err(ControlError::Refused(failure)) => Err(DutError::Refused(failure)),
            Err(error) => {
                let how = qemu.death().unwrap_or_else(|| qemu.last_words());
                Err(DutError::Crash(format!("{error}; {how}")))
            }
        }
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        if frame.len() > super::stream::MAX_SENT {
            let message = format!("a frame of {} bytes does not fit on QEMU's wire", frame.len());
            return Err(DutError::Unreachable(message));
        }
        match self.machine.wire.send(frame) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.machine.qemu.wait_for_last_words();
                self.check_alive()?;
                Err(DutError::Crash(format!("the wire is gone: {error}; {}", self.machine.qemu.last_words())))
            }
        }
    }

    /// Ethernet housekeeping (ARP, neighbour discovery, multicast reports) is answered or dropped here, not given to `seen`.
    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        loop {
            let now = self.now();
            let left = until - now;
            match self.machine.wire.receive(left.min(LOOK)) {
                Ok(Received::Frame) => {
                    let mut last = now;
                    self.machine.wire.drain(&mut |stamped| {
                        last = last.max(stamped.time);
                        seen(stamped);
                    });
                    return Ok(last);
                }
                Ok(Received::Woken) => return Ok(now),
                Ok(Received::Nothing) => {}
                // That is no fault of the device.
                Err(error) if self.machine.wire.is_garbled() => return Err(DutError::Unreachable(error)),
                Err(error) => {
                    self.machine.qemu.wait_for_last_words();
                    self.check_alive()?;
                    return Err(DutError::Crash(format!("{error}; {}", self.machine.qemu.last_words())));
                }
            }
            if self.machine.qemu.is_dead() {
                self.machine.qemu.wait_for_last_words();
                self.check_alive()?;
            }
            let now = self.now();
            if now >= until {
                return Ok(now);
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn tester(&self) -> &Addresses {
        &self.tester
    }

    /// Frames that the driver counts as sent and that the wire has not brought, a moment later either.
    fn lost_frames(&mut self) -> Result<u64, DutError> {
        let sent = match self.control(&Command::Counters {})? {
            Reply::Counters(counters) => counters.get(SENT).copied().unwrap_or_default(),
            other => return Err(DutError::Unreachable(format!("the agent answers `counters` with {other:?}"))),
        };
        let deadline = Instant::now() + BEHIND;
        loop {
            let lost = sent.saturating_sub(self.machine.wire.brought()).saturating_sub(self.reported);
            if lost == 0 || Instant::now() >= deadline {
                self.reported += lost;
                return Ok(lost);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.machine.qemu.kill();
        self.reported = 0;
        (self.machine, self.device) = boot(&self.guest, &self.tester, self.origin)?;
        Ok(())
    }

    fn waker(&self) -> Option<Waker> {
        Some(self.machine.wire.waker())
    }
}
