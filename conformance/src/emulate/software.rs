//! The emulator in real time, and the software beside it that testers talk to.

use std::net::Ipv6Addr;

use rocespec_control::serve::Service;
use rocespec_control::{Command, Device, ErrorCode, Failure, QpState, Reply, limits};

use super::LOOK;
use super::neighbours::Neighbours;
use super::quota::Quota;
use crate::dut::clock::Clock;
use crate::dut::port::{Port, PortError};
use crate::dut::{Addresses, Dut, DutError, Emulator};

/// The system's number for an answer that did not come, as a driver gives it when nobody has the peer's address.
const ETIMEDOUT: i32 = 110;

/// Of a path that names none.
const HOP_LIMIT: u8 = 64;

/// An emulator whose virtual time follows the monotonic clock.
pub(super) struct Station {
    emulator: Emulator,
    pub(super) own: Addresses,
    /// What the emulator's time is moved along with.
    clock: Clock,
    quota: Quota,
}

impl Station {
    pub(super) fn new(emulator: Emulator, own: Addresses) -> Station {
        Station { emulator, own, clock: Clock::new(), quota: Quota::default() }
    }

    /// The station with what its software needs to look around.
    pub(super) fn with<'s>(&'s mut self, port: Option<&'s Port>, neighbours: &'s Neighbours) -> Software<'s> {
        Software { station: self, port, neighbours }
    }

    /// Waits until the emulator or its tester does something, at most a moment, and has the emulator live through it.
    ///
    /// # Errors
    /// When the wire is of no more use.
    pub(super) fn go_on(&mut self, port: &Port) -> Result<(), PortError> {
        self.catch_up(port)?;
        let now = self.clock.now();
        let wait = self.emulator.next_timeout().map_or(LOOK, |next| next - now);
        port.receive(wait.min(LOOK))?;
        let mut frames = Vec::new();
        port.drain(&mut |stamped| frames.push(stamped.frame.to_vec()));
        for frame in frames {
            self.catch_up(port)?;
            self.emulator.transmit(&frame).map_err(impossible)?;
        }
        self.catch_up(port)
    }

    /// Has the emulator live until now, and sends what it sends.
    fn catch_up(&mut self, port: &Port) -> Result<(), PortError> {
        let now = self.clock.now();
        loop {
            let mut sent = Ok(());
            let mut any = false;
            let reached = self.emulator.advance(now, &mut |stamped| {
                any = true;
                if sent.is_ok() {
                    sent = port.send(stamped.frame);
                }
            });
            sent?;
            if reached.map_err(impossible)? >= now && !any {
                return Ok(());
            }
        }
    }
}

/// A device in memory does not break.
fn impossible(error: DutError) -> PortError {
    PortError::Failed(error.to_string())
}

/// What carries a tester's orders out.
pub(super) struct Software<'s> {
    station: &'s mut Station,
    port: Option<&'s Port>,
    neighbours: &'s Neighbours,
}

impl Software<'_> {
    /// Finds out where the peer is that an order names, as the software of a real device has to.
    fn meet_peer(&mut self, command: &Command) -> Result<(), Failure> {
        let peer = match command {
            Command::ModifyQp { attributes, .. } if attributes.state != Some(QpState::Init) => attributes.remote_gid,
            Command::PostSend { request, .. } => request.remote_gid,
            _ => None,
        };
        let (Some(gid), Some(port)) = (peer, self.port) else { return Ok(()) };
        let is_group = gid.to_ipv4_mapped().map_or(gid.is_multicast(), |v4| v4.is_multicast());
        if is_group {
            return Ok(());
        }
        match self.neighbours.find(gid, port, &self.station.own) {
            Some(mac) => {
                self.station.emulator.meet(gid, mac);
                Ok(())
            }
            None => Err(nobody_has(gid)),
        }
    }
}

fn nobody_has(gid: Ipv6Addr) -> Failure {
    let address = gid.to_ipv4_mapped().map_or(gid.to_string(), |v4| v4.to_string());
    let message = format!("nobody on the wire answers for {address}");
    Failure { code: ErrorCode::Refused, message, errno: Some(ETIMEDOUT) }
}

/// What the protocol lets testers leave out.
fn fill_in(command: &mut Command) {
    let Command::ModifyQp { attributes: a, .. } = command else { return };
    match a.state {
        Some(QpState::Init) => {
            a.pkey_index.get_or_insert(0);
            // Rights are of connections. One of datagrams has a Q_Key instead.
            if a.qkey.is_none() {
                a.access.get_or_insert_default();
            }
        }
        Some(QpState::Rtr) => {
            a.gid_index.get_or_insert(0);
            a.hop_limit.get_or_insert(HOP_LIMIT);
        }
        _ => {}
    }
}

impl Service for Software<'_> {
    fn describe(&mut self) -> Result<Device, Failure> {
        Ok(self.station.emulator.device().clone())
    }

    fn carry_out(&mut self, mut command: Command) -> Result<Reply, Failure> {
        limits::check(&command)?;
        fill_in(&mut command);
        self.station.quota.allows(&command)?;
        self.meet_peer(&command)?;
        if let Some(port) = self.port {
            // A wire that is gone is seen by the one who reads it.
            let _ = self.station.catch_up(port);
        }
        match self.station.emulator.control(&command) {
            Ok(reply) => {
                self.station.quota.note(&command, &reply);
                Ok(reply)
            }
            Err(DutError::Refused(failure)) => Err(failure),
            Err(error) => Err(Failure { code: ErrorCode::Refused, message: error.to_string(), errno: None }),
        }
    }

    /// The emulator begins anew. Its time catches up with the clock before anything comes.
    fn leave(&mut self) {
        self.station.quota = Quota::default();
        // In memory, where nothing can fail.
        let _ = self.station.emulator.restart();
    }
}
