//! The wire that an emulator stands at.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use rocespec_codec::Mtu;

use super::neighbours::{Learning, Neighbours};
use crate::dut::clock::Clock;
use crate::dut::nic::interface::Interface;
use crate::dut::nic::{self, packet};
use crate::dut::port::{Port, stream};
use crate::dut::{Addresses, DutError};

/// Where a wire comes from.
#[derive(Debug)]
pub struct Wire(Kind);

#[derive(Debug)]
enum Kind {
    /// A unix socket that testers connect to: frames with their length before them.
    Socket(UnixListener),
    /// An Ethernet interface.
    Interface(Interface),
}

impl Wire {
    /// A wire that testers connect to, one after another.
    ///
    /// # Errors
    /// When the socket cannot be set up.
    pub fn socket(listener: UnixListener) -> std::io::Result<Wire> {
        listener.set_nonblocking(true)?;
        Ok(Wire(Kind::Socket(listener)))
    }

    /// What is behind an Ethernet interface, and the largest path MTU that fits through it.
    ///
    /// # Errors
    /// When there is no such interface, or it is not ready, or the host itself has one of the addresses; the text says what
    /// to do.
    pub fn interface(name: &str, own: &Addresses) -> Result<(Wire, Mtu), DutError> {
        let interface = Interface::find(name)?;
        nic::refuse_addresses_of_this_host(own, ["--ip4", "--ip6"])?;
        let mtu = nic::path_mtu(&interface).ok_or_else(|| {
            DutError::Unreachable(format!(
                "{name} has an MTU of {}, which is too small for RoCE: `ip link set dev {name} mtu {}`",
                interface.mtu,
                nic::ROOMY_MTU
            ))
        })?;
        Ok((Wire(Kind::Interface(interface)), mtu))
    }

    /// The other end of it, if somebody is there. Does not wait.
    pub(super) fn connect(&self, own: &Addresses, neighbours: &Arc<Neighbours>) -> Result<Option<Port>, String> {
        let broken = |error: std::io::Error| format!("the wire: {error}");
        match &self.0 {
            Kind::Socket(listener) => {
                let stream = match listener.accept() {
                    Ok((stream, _)) => stream,
                    // Nobody is there, or has gone again. Out of descriptors: perhaps later.
                    Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(broken(error)),
                    Err(_) => return Ok(None),
                };
                let open = || {
                    stream.set_nonblocking(false)?;
                    let (input, output) = stream::ends(stream.into(), Clock::new())?;
                    Port::open(Learning::new(input, neighbours), output, own)
                };
                open().map(Some).map_err(broken)
            }
            Kind::Interface(interface) => {
                let ends = packet::ends(interface, own, Clock::new()).map_err(|error| error.to_string())?;
                Port::open(Learning::new(ends.0, neighbours), ends.1, own).map(Some).map_err(broken)
            }
        }
    }

    /// True where no other end comes after this one.
    pub(super) fn is_for_ever(&self) -> bool {
        matches!(self.0, Kind::Interface(_))
    }
}
