//! A real device behind an Ethernet interface, with an agent on its host: `docs/real-nic.md`.
//!
//! Frames go through a raw socket (`packet`) or through libpcap (`pcap`, with the feature `live`); both are a
//! `Port` and serve the emulator at an interface as well.

mod filter;
pub(crate) mod interface;
mod losses;
pub(crate) mod options;
pub(crate) mod packet;
mod path;
#[cfg(feature = "live")]
mod pcap;
mod socket;
mod stamps;
#[cfg(test)]
mod tests;

use std::net::{TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use rocespec_codec::Mtu;
use rocespec_control::{Command, Device, VERSION};

use self::interface::Interface;
use self::options::{Capture, Options};
use super::clock::Clock;
use super::control_client::ControlClient;
use super::port::{Port, PortError};
use super::remote::{Control, Line, OutOfSight, Place, Remote};
use super::{Addresses, DutError, Prepared};
use crate::profile::Profile;

/// How long a connection to the agent may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long the agent may take for its first answer. It may have to wait for the last tester's things to go.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most bytes around the payload of a packet, behind the Ethernet header: IPv6, UDP, BTH, XRCETH, RETH, immediate, pad, ICRC.
const HEADERS: usize = 40 + 8 + 12 + 4 + 16 + 4 + 3 + 4;
/// Longest packet of RoCE, with a path MTU of 4096.
const LONGEST_PACKET: usize = 4096 + HEADERS;
/// MTU of an interface with room for it.
pub(crate) const ROOMY_MTU: usize = 4200;
/// Ethernet header and two VLAN tags.
const ETHERNET: usize = 14 + 2 * 4;

/// Connects to the device. `words` is what stands behind `nic:`; with `prepared` queue pairs it needs no agent.
///
/// # Errors
/// [`DutError::Unreachable`] when something is missing or not ready; the text says what to do.
pub fn start(words: &str, prepared: Option<Prepared>, profile: Profile) -> Result<Remote, DutError> {
    let options = Options::parse(words)?;
    if options.agent.is_some() == prepared.is_some() {
        return Err(DutError::Unreachable(
            "--dut nic: who drives the device? Start rocespec-agent on its host and say agent=HOST:PORT, or give its queue \
             pairs with --qp FILE"
                .to_owned(),
        ));
    }
    let interface = Interface::find(&options.interface)?;
    let tester = options.tester(interface.mac);
    Remote::start(Box::new(Nic { options, prepared, interface, tester }), profile, Clock::new())
}

/// A device to be connected to.
#[derive(Debug)]
struct Nic {
    options: Options,
    prepared: Option<Prepared>,
    interface: Interface,
    tester: Addresses,
}

impl Nic {
    fn open(&self, clock: Clock) -> Result<Port, DutError> {
        match self.options.capture {
            Capture::Packet => packet::open(&self.interface, &self.tester, clock),
            #[cfg(feature = "live")]
            Capture::Pcap => pcap::open(&self.interface, &self.tester, clock),
            #[cfg(not(feature = "live"))]
            Capture::Pcap => Err(DutError::Unreachable(
                "capture=pcap needs libpcap: build with `cargo build --release --features live`, or leave it out"
                    .to_owned(),
            )),
        }
    }

    fn software(&self) -> Result<Control, DutError> {
        if let Some(prepared) = &self.prepared {
            return Ok(Control::Prepared(prepared.clone()));
        }
        let agent = self.options.agent.as_deref().unwrap_or_default();
        let failed = |why: &dyn std::fmt::Display| {
            DutError::Unreachable(format!(
                "cannot reach the agent at {agent}: {why}; does `rocespec-agent --listen` run there, and does the firewall \
                 let us in?"
            ))
        };
        let addresses = agent.to_socket_addrs().map_err(|error| failed(&error))?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                Ok(stream) => return Ok(ControlClient::new(stream.into()).map_err(|error| failed(&error))?.into()),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| failed(&"the name has no address"), |error| failed(&error)))
    }
}

impl Place for Nic {
    fn name(&self) -> String {
        format!("the device behind {}", self.interface.name)
    }

    fn tester(&self) -> &Addresses {
        &self.tester
    }

    fn connect(&mut self, clock: Clock) -> Result<Line, DutError> {
        // Somebody may have changed its MTU or its link since.
        self.interface = Interface::find(&self.options.interface)?;
        refuse_addresses_of_this_host(&self.tester, ["ip4=", "ip6="])?;
        let port = self.open(clock)?;
        let control = self.software()?;
        Ok(Line { life: Box::new(OutOfSight), port, control })
    }

    fn hello(&self) -> Command {
        Command::Hello { version: VERSION, token: self.options.token() }
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn lost_on_the_way(&self, device: &Device) -> u64 {
        if self.options.echo { path::losses(&self.interface, &self.tester, device) } else { 0 }
    }

    fn check(&self, device: &Device) -> Result<(), DutError> {
        let needed = device.active_mtu as usize + HEADERS;
        if self.interface.mtu >= needed {
            return Ok(());
        }
        let (name, mtu, path) = (&self.interface.name, self.interface.mtu, device.active_mtu);
        Err(DutError::Unreachable(format!(
            "the device's port has a path MTU of {path}, and {name} has an MTU of {mtu}, which is too small for its packets: \
             `ip link set dev {name} mtu {}` (and the same for switches on the way), or give the device's interface a \
             smaller MTU",
            needed.max(ROOMY_MTU)
        )))
    }
}

/// The largest path MTU whose packets all go through the interface.
pub(crate) fn path_mtu(interface: &Interface) -> Option<Mtu> {
    Mtu::ALL.into_iter().rfind(|mtu| mtu.bytes() + HEADERS <= interface.mtu)
}

/// The kernel would answer beside us. The options are those that name the addresses.
pub(crate) fn refuse_addresses_of_this_host(own: &Addresses, options: [&str; 2]) -> Result<(), DutError> {
    // Only an address of one's own can be bound.
    let v4 = UdpSocket::bind((own.v4, 0)).is_ok().then(|| format!("{} ({})", own.v4, options[0]));
    let v6 = UdpSocket::bind((own.v6, 0)).is_ok().then(|| format!("{} ({})", own.v6, options[1]));
    match v4.or(v6) {
        None => Ok(()),
        Some(address) => Err(DutError::Unreachable(format!(
            "{address} is an address of this host, and its kernel would answer beside us: take one that nobody has, in the \
             network of the other side"
        ))),
    }
}

fn no_permission(interface: &str) -> DutError {
    let program = std::env::current_exe().map_or_else(|_| "rocespec".to_owned(), |path| path.display().to_string());
    DutError::Unreachable(format!(
        "raw frames on {interface} need the capability CAP_NET_RAW: run as root, or once `sudo setcap cap_net_raw+ep {program}`"
    ))
}

/// Longest frame that an interface can bring as it was on the wire.
fn longest_frame(interface: &Interface) -> usize {
    interface.mtu + ETHERNET
}

/// What a frame comes to that is too long for the interface. One that is longer than any packet of RoCE has to be gets lost on
/// its way: no port has to take it, and scenarios that send such know that.
fn too_long(interface: &Interface, length: usize) -> Result<(), PortError> {
    if length > LONGEST_PACKET + ETHERNET {
        return Ok(());
    }
    let Interface { name, mtu, .. } = interface;
    Err(PortError::Failed(format!(
        "a frame of {length} bytes does not fit through {name}, whose MTU is {mtu}: `ip link set dev {name} mtu {ROOMY_MTU}`"
    )))
}

/// A frame as Ethernet can carry it: a NIC fills what is too short, but the kernel takes none without a whole header.
fn filled(frame: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const HEADER: usize = 14;
    const SHORTEST: usize = 60;
    if frame.len() >= HEADER {
        return frame.into();
    }
    let mut filled = frame.to_vec();
    filled.resize(SHORTEST, 0);
    filled.into()
}

fn put_together(interface: &Interface, length: usize) -> PortError {
    let Interface { name, mtu, .. } = interface;
    PortError::Failed(format!(
        "{name} gave a frame of {length} bytes although its MTU is {mtu}: it puts frames together. Turn that off: \
         `ethtool -K {name} gro off lro off rx-gro-hw off`"
    ))
}
