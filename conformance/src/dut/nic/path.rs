//! Does the way to the device lose frames, or change their order? Nobody tells us, and a device that did not get a frame
//! looks like one that did not answer it. So when a case went wrong we ping the device's host: what happens to pings may
//! have happened to frames of the case.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rocespec_codec::MacAddr;
use rocespec_control::{Device, Gid, GidKind};

use super::filter;
use super::interface::Interface;
use super::socket::PacketSocket;
use crate::dut::port::echo::{ICMP_HEADER, IPV4_HEADER, REPLY, REQUEST, echo};
use crate::dut::{Addresses, nearest_gid};

/// Pings of a trial: of a way that loses 3 % each way, one trial in 200 000 sees nothing.
const PINGS: u16 = 200;
/// They go in groups, for a host need not have room for all.
const GROUP: u16 = 8;
const PAUSE: Duration = Duration::from_micros(500);
/// How long the last answers may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// What our pings are told by.
const OURS: u16 = 0x5243;
const PADDING: [u8; 32] = [0x5a; 32];
/// Where the ICMP message begins.
const MESSAGE: usize = 14 + IPV4_HEADER;

/// Pings that got lost or came in another order. Zero where the device's host answers none: that says nothing.
pub(super) fn losses(interface: &Interface, tester: &Addresses, device: &Device) -> u64 {
    let fits = |gid: &Gid| gid.kind == GidKind::RoceV2 && gid.gid.to_ipv4_mapped().is_some();
    let nearest = nearest_gid(device, tester.v4.to_ipv6_mapped(), fits);
    let Some(address) = nearest.and_then(|gid| gid.gid.to_ipv4_mapped()) else { return 0 };
    let Ok(mac) = device.mac.parse::<MacAddr>() else { return 0 };
    let Ok(socket) = PacketSocket::open(interface, &mut filter::pings(tester)) else { return 0 };
    let mut answers = Answers::default();
    for number in 0..PINGS {
        if socket.send(&ping(mac, tester, address, number)).is_err() {
            return 0;
        }
        if number % GROUP == GROUP - 1 {
            answers.take(&socket, PAUSE);
        }
    }
    let deadline = Instant::now() + PATIENCE;
    while answers.count < u64::from(PINGS) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        answers.take(&socket, left);
    }
    match answers.count {
        0 => 0,
        count => u64::from(PINGS).saturating_sub(count) + answers.late,
    }
}

fn ping(mac: MacAddr, tester: &Addresses, device: Ipv4Addr, number: u16) -> Vec<u8> {
    let rest = [&OURS.to_be_bytes()[..], &number.to_be_bytes(), &PADDING].concat();
    echo(&mac.0, tester, device, REQUEST, &rest)
}

#[derive(Debug, Default)]
struct Answers {
    count: u64,
    /// Those that came after one that had been sent later.
    late: u64,
    /// The number that comes next, if nothing is lost.
    next: u16,
}

impl Answers {
    /// Takes what is there, and waits for it at most this long.
    fn take(&mut self, socket: &PacketSocket, limit: Duration) {
        let mut buffer = [0; 256];
        if !matches!(socket.wait(limit), Ok(true)) {
            return;
        }
        // Somebody who answers more often than asked must not keep us here.
        for _ in 0..2 * PINGS {
            let Ok(Some(arrival)) = socket.receive(&mut buffer) else { return };
            let frame = &buffer[..arrival.length.min(buffer.len())];
            let Some(message) = frame.get(MESSAGE..MESSAGE + ICMP_HEADER) else { continue };
            let ours = message[0] == REPLY && u16::from_be_bytes([message[4], message[5]]) == OURS;
            if !ours || arrival.is_own {
                continue;
            }
            let number = u16::from_be_bytes([message[6], message[7]]);
            self.count += 1;
            if number < self.next {
                self.late += 1;
            }
            self.next = self.next.max(number.saturating_add(1));
        }
    }
}
