//! The wire through libpcap, which reads an interface by code of its own: where it and [`packet`](super::packet) see the
//! same, both are right.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::pcap::{Active, Capture, Direction, Error, Precision};
use rocespec_model::Time;

use super::interface::Interface;
use super::socket::{since_epoch, wait};
use super::stamps::Stamps;
use super::{filled, longest_frame, losses, no_permission, put_together, too_long};
use crate::dut::clock::Clock;
use crate::dut::port::{Medium, Port, PortError, Source};
use crate::dut::{Addresses, DutError};

/// How long a read waits.
const LOOK: Duration = Duration::from_millis(50);
/// Frames that one read gives.
const BATCH: usize = 1024;
/// Room for frames that we have not read, in bytes.
const BUFFER: i32 = 32 << 20;

/// What [`filter::program`](super::filter::program) takes, in the words of libpcap.
fn filter(tester: &Addresses, interface: &Interface) -> String {
    let Addresses { mac, v4, v6 } = tester;
    let own = if *mac == interface.mac { String::new() } else { format!("ether dst {mac} or ") };
    format!(
        "{own}arp or ether proto 0x8915 or ether proto 0x8808 or ether proto 0x8100 or ether proto 0x88a8 or \
         dst host {v4} or dst host {v6} or udp dst port 4791 or (icmp6 and ip6[40] = 135)"
    )
}

/// Our end of the wire at an interface.
///
/// # Errors
/// [`DutError::Unreachable`] when the interface cannot be opened; the text says what to do.
pub(super) fn open(interface: &Interface, tester: &Addresses, clock: Clock) -> Result<Port, DutError> {
    let name = &interface.name;
    let cannot = |error: Error| match error.to_string() {
        text if text.contains("ermission") || text.contains("not permitted") => no_permission(name),
        text => DutError::Unreachable(format!("libpcap cannot open {name}: {text}")),
    };
    let reading = active(interface, BUFFER).map_err(cannot)?;
    reading.direction(Direction::In).map_err(cannot)?;
    // The wait is ours: libpcap's own has no end on some systems.
    let mut reading = reading.setnonblock().map_err(cannot)?;
    reading.filter(&filter(tester, interface), true).map_err(cannot)?;
    // A handle is for one thread; this one only sends.
    let mut sending = active(interface, 1 << 20).map_err(cannot)?;
    sending.filter("less 0", true).map_err(cannot)?;

    let dropped = Arc::new(AtomicU64::new(0));
    let input = Input {
        capture: reading,
        interface: interface.clone(),
        stamps: Stamps::new(clock),
        dropped: Arc::clone(&dropped),
    };
    let output = Output {
        capture: Mutex::new(sending),
        interface: interface.clone(),
        dropped,
        lost_before: losses::of_interface(name),
    };
    Port::open(input, output, tester).map_err(|error| DutError::Unreachable(format!("cannot read {name}: {error}")))
}

fn active(interface: &Interface, buffer: i32) -> Result<Capture<Active>, Error> {
    Capture::from_device(interface.name.as_str())?
        .promisc(true)
        .immediate_mode(true)
        .buffer_size(buffer)
        .snaplen(i32::try_from(longest_frame(interface)).unwrap_or(i32::MAX))
        .precision(Precision::Nano)
        .open()
}

struct Input {
    capture: Capture<Active>,
    interface: Interface,
    stamps: Stamps,
    dropped: Arc<AtomicU64>,
}

impl Source for Input {
    fn read(&mut self, seen: &mut dyn FnMut(Time, &[u8])) -> Result<(), PortError> {
        // What goes wrong here the next read says better.
        let _ = wait(self.capture.as_raw_fd(), LOOK);
        for _ in 0..BATCH {
            match self.capture.next_packet() {
                Ok(packet) => {
                    let (cut, whole) = (packet.data.len(), packet.header.len as usize);
                    if cut < whole {
                        return Err(put_together(&self.interface, whole));
                    }
                    // In the precision that was asked for the second number counts nanoseconds.
                    let stamp = since_epoch(packet.header.ts.tv_sec, packet.header.ts.tv_usec);
                    let time = self.stamps.time(stamp);
                    seen(time, packet.data);
                }
                Err(Error::TimeoutExpired) => break,
                Err(error) => return Err(failed(&self.interface.name, &error)),
            }
        }
        if let Ok(stat) = self.capture.stats() {
            self.dropped.store(u64::from(stat.dropped), Ordering::Release);
        }
        Ok(())
    }
}

struct Output {
    capture: Mutex<Capture<Active>>,
    interface: Interface,
    dropped: Arc<AtomicU64>,
    lost_before: u64,
}

impl Medium for Output {
    fn send(&self, frame: &[u8]) -> Result<(), PortError> {
        if frame.len() > longest_frame(&self.interface) {
            return too_long(&self.interface, frame.len());
        }
        let sent = self.capture.lock().unwrap_or_else(PoisonError::into_inner).sendpacket(filled(frame).as_ref());
        sent.map_err(|error| failed(&self.interface.name, &error))
    }

    fn lost(&self) -> u64 {
        let interface = losses::of_interface(&self.interface.name).saturating_sub(self.lost_before);
        self.dropped.load(Ordering::Acquire) + interface
    }
}

fn failed(interface: &str, error: &Error) -> PortError {
    PortError::Failed(format!("{interface}, through libpcap: {error}"))
}
