//! The wire through `AF_PACKET`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rocespec_model::Time;

use super::interface::Interface;
use super::socket::PacketSocket;
use super::stamps::Stamps;
use super::{filled, filter, losses, no_permission, too_long};
use crate::dut::clock::Clock;
use crate::dut::port::{Medium, Port, PortError, Source};
use crate::dut::{Addresses, DutError};

/// How long a read waits.
const LOOK: Duration = Duration::from_millis(50);
/// Frames that one read gives: it must come back although a device never pauses.
const BATCH: usize = 1024;
/// Longest frame that the kernel can give: one that it put together has up to 64 KiB behind its headers.
const LONGEST: usize = (64 << 10) + 256;
/// Where the VLAN tag stands.
const TAG: usize = 12;
/// How long the interface's queue may be full.
const QUEUE_LIMIT: Duration = Duration::from_secs(1);

/// Our end of the wire at an interface. The tester's addresses are nobody else's; the interface's own MAC may be taken.
///
/// # Errors
/// [`DutError::Unreachable`] when the socket cannot be had; the text says what to do.
pub(super) fn open(interface: &Interface, tester: &Addresses, clock: Clock) -> Result<Port, DutError> {
    let (input, output) = ends(interface, tester, clock)?;
    Port::open(input, output, tester)
        .map_err(|error| DutError::Unreachable(format!("cannot read {}: {error}", interface.name)))
}

/// The two ends of a socket at an interface: where frames come from and where they go to. `us` are our addresses.
///
/// # Errors
/// As of [`open`].
pub(crate) fn ends(interface: &Interface, us: &Addresses, clock: Clock) -> Result<(Input, Output), DutError> {
    Ok(ends_of(open_socket(interface, us)?, interface, clock))
}

pub(super) fn open_socket(interface: &Interface, tester: &Addresses) -> Result<PacketSocket, DutError> {
    let mut filter = filter::program(tester, interface.mac);
    PacketSocket::open(interface, &mut filter).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => no_permission(&interface.name),
        _ => DutError::Unreachable(format!("cannot open a raw socket on {}: {error}", interface.name)),
    })
}

pub(super) fn ends_of(socket: PacketSocket, interface: &Interface, clock: Clock) -> (Input, Output) {
    let socket = Arc::new(socket);
    let input = Input {
        socket: Arc::clone(&socket),
        interface: interface.clone(),
        stamps: Stamps::new(clock),
        buffer: vec![0; LONGEST],
    };
    let output = Output {
        socket,
        interface: interface.clone(),
        dropped: AtomicU64::new(0),
        lost_before: losses::of_interface(&interface.name),
    };
    (input, output)
}

pub(crate) struct Input {
    socket: Arc<PacketSocket>,
    interface: Interface,
    stamps: Stamps,
    buffer: Vec<u8>,
}

impl Input {
    fn failed(&self, error: &io::Error) -> PortError {
        failed(&self.interface.name, error)
    }
}

impl Source for Input {
    fn read(&mut self, seen: &mut dyn FnMut(Time, &[u8])) -> Result<(), PortError> {
        match self.socket.wait(LOOK) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(self.failed(&error)),
        }
        for _ in 0..BATCH {
            // Room for the tag that the kernel took out.
            let arrival = match self.socket.receive(&mut self.buffer[4..]) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                Err(error) => return Err(self.failed(&error)),
            };
            let time = self.stamps.time(arrival.stamp);
            if arrival.is_own {
                continue;
            }
            if arrival.is_cut || arrival.length > super::longest_frame(&self.interface) {
                return Err(super::put_together(&self.interface, arrival.length));
            }
            let frame = match arrival.tag {
                Some((protocol, information)) if arrival.length >= TAG => {
                    self.buffer.copy_within(4..4 + TAG, 0);
                    self.buffer[TAG..TAG + 2].copy_from_slice(&protocol.to_be_bytes());
                    self.buffer[TAG + 2..TAG + 4].copy_from_slice(&information.to_be_bytes());
                    &self.buffer[..4 + arrival.length]
                }
                _ => &self.buffer[4..4 + arrival.length],
            };
            seen(time, frame);
        }
        Ok(())
    }
}

pub(crate) struct Output {
    socket: Arc<PacketSocket>,
    interface: Interface,
    dropped: AtomicU64,
    /// What the interface had lost before we came.
    lost_before: u64,
}

impl Medium for Output {
    fn send(&self, frame: &[u8]) -> Result<(), PortError> {
        let started = Instant::now();
        let frame = filled(frame);
        loop {
            let Err(error) = self.socket.send(&frame) else { return Ok(()) };
            match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::EINTR) if started.elapsed() < QUEUE_LIMIT => {
                    thread::sleep(Duration::from_millis(1));
                }
                Some(libc::EMSGSIZE) => return too_long(&self.interface, frame.len()),
                _ => return Err(failed(&self.interface.name, &error)),
            }
        }
    }

    /// Frames that the socket had no room for, and those that the interface itself counts as lost or damaged.
    fn lost(&self) -> u64 {
        let now = self.socket.take_drops();
        let dropped = self.dropped.fetch_add(now, Ordering::AcqRel) + now;
        dropped + losses::of_interface(&self.interface.name).saturating_sub(self.lost_before)
    }
}

fn failed(interface: &str, error: &io::Error) -> PortError {
    PortError::Failed(match error.raw_os_error() {
        Some(libc::ENETDOWN) => format!("{interface} went down: `ip link set dev {interface} up`"),
        Some(libc::ENXIO | libc::ENODEV) => format!("{interface} is gone"),
        Some(libc::ENOBUFS | libc::EAGAIN) => format!("{interface} takes no more frames: its queue stays full"),
        _ => format!("{interface}: {error}"),
    })
}
