//! Who else is on the wire: what ARP and neighbour discovery tell.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocespec_codec::{
    Arp, ETHERTYPE_ARP, ETHERTYPE_IPV6, Frame, MacAddr, Neighbor, NeighborMessage, PROTOCOL_ICMPV6, decode,
};
use rocespec_model::Time;

use crate::dut::Addresses;
use crate::dut::port::{Port, PortError, Source};

/// Most addresses that are kept. A wire with more talkers has its first ones known.
const MOST: usize = 4096;
/// How often an address is asked for, and how long each time waits for the answer.
const ASK_TIMES: usize = 3;
const ASK_EVERY: Duration = Duration::from_millis(300);

/// MAC addresses by the GID: an IPv6 address, or an IPv4 address as the one that stands for it.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: Mutex<BTreeMap<Ipv6Addr, MacAddr>>,
    told: Condvar,
}

impl Neighbours {
    /// Takes in what a frame tells.
    fn hear(&self, frame: &[u8]) {
        let Some((gid, mac)) = told_by(frame) else { return };
        let mut known = self.known();
        if known.len() < MOST || known.contains_key(&gid) {
            known.insert(gid, mac);
            self.told.notify_all();
        }
    }

    /// The MAC address of a neighbour. Where nobody has told it, the wire is asked, and the answer waited for.
    pub(super) fn find(&self, gid: Ipv6Addr, port: &Port, own: &Addresses) -> Option<MacAddr> {
        for _ in 0..ASK_TIMES {
            if let Some(mac) = self.known().get(&gid) {
                return Some(*mac);
            }
            port.send(&question(gid, own)).ok()?;
            let unknown = |known: &mut BTreeMap<Ipv6Addr, MacAddr>| !known.contains_key(&gid);
            drop(self.told.wait_timeout_while(self.known(), ASK_EVERY, unknown));
        }
        self.known().get(&gid).copied()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Ipv6Addr, MacAddr>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address that a frame tells, if it tells one.
fn told_by(frame: &[u8]) -> Option<(Ipv6Addr, MacAddr)> {
    // Traffic is not taken apart for nothing. A tag in between shifts what follows by 4 bytes.
    let could_tell = |at: usize| match frame.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]])) {
        Some(ETHERTYPE_ARP) => true,
        Some(ETHERTYPE_IPV6) => frame.get(at + 8) == Some(&PROTOCOL_ICMPV6),
        _ => false,
    };
    if !could_tell(12) && !could_tell(16) {
        return None;
    }
    let (gid, mac) = match decode(frame).ok()? {
        Frame::Arp(arp) => (arp.sender_ip.to_ipv6_mapped(), arp.sender_mac),
        Frame::Neighbor(told) if told.ip.hop_limit == 255 && told.checksum == told.right_checksum() => {
            let whose = match told.message {
                NeighborMessage::Solicitation => told.ip.src,
                NeighborMessage::Advertisement => told.target,
            };
            (whose, told.link?.mac)
        }
        _ => return None,
    };
    let is_nobody = gid.is_unspecified() || gid.to_ipv4_mapped().is_some_and(|v4| v4.is_unspecified());
    (!is_nobody && !gid.is_multicast() && mac.0[0] & 1 == 0).then_some((gid, mac))
}

/// Asks who has an address.
fn question(gid: Ipv6Addr, own: &Addresses) -> Vec<u8> {
    let frame = match gid.to_ipv4_mapped() {
        Some(v4) => Frame::Arp(Arp::request(own.mac, own.v4, v4)),
        None => Frame::Neighbor(Neighbor::solicitation(own.mac, own.v6, gid)),
    };
    let mut bytes = vec![0; frame.encoded_len()];
    let length = frame.encode(&mut bytes).map_or(0, <[u8]>::len);
    bytes.truncate(length);
    bytes
}

/// A wire that is listened to for addresses on the way.
pub(super) struct Learning<S> {
    wire: S,
    neighbours: Arc<Neighbours>,
}

impl<S: Source> Learning<S> {
    pub(super) fn new(wire: S, neighbours: &Arc<Neighbours>) -> Learning<S> {
        Learning { wire, neighbours: Arc::clone(neighbours) }
    }
}

impl<S: Source> Source for Learning<S> {
    fn read(&mut self, seen: &mut dyn FnMut(Time, &[u8])) -> Result<(), PortError> {
        let neighbours = &self.neighbours;
        self.wire.read(&mut |time, frame| {
            neighbours.hear(frame);
            seen(time, frame);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn addresses() -> Addresses {
        let v6 = "fd00::9".parse().unwrap();
        Addresses { mac: MAC, v4: Ipv4Addr::new(10, 0, 0, 9), v6 }
    }

    #[test]
    fn questions_tell_who_asks() {
        let own = addresses();
        for gid in [own.v4.to_ipv6_mapped(), own.v6] {
            // Somebody with our address asks for another one of the same family.
            let other =
                if gid == own.v6 { "fd00::1".parse().unwrap() } else { Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped() };
            assert_eq!(told_by(&question(other, &own)), Some((gid, MAC)));
        }
    }

    #[test]
    fn what_is_wrong_tells_nothing_and_stumps_are_no_trouble() {
        let own = addresses();
        let mut damaged = question("fd00::1".parse().unwrap(), &own);
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert_eq!(told_by(&damaged), None, "its checksum is wrong");
        // A probe for duplicates comes from nobody.
        let probe = Addresses { v4: Ipv4Addr::UNSPECIFIED, v6: Ipv6Addr::UNSPECIFIED, ..addresses() };
        assert_eq!(told_by(&question(own.v4.to_ipv6_mapped(), &probe)), None);
        assert_eq!(told_by(&question(own.v6, &probe)), None);
        for gid in [own.v6, own.v4.to_ipv6_mapped()] {
            let whole = question(gid, &own);
            for length in 0..whole.len() {
                let _ = told_by(&whole[..length]);
            }
        }
    }

    #[test]
    fn a_crowd_is_not_kept() {
        let neighbours = Neighbours::default();
        for number in 1..MOST as u32 + 100 {
            let asks = Addresses { v4: number.into(), ..addresses() };
            neighbours.hear(&question(Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped(), &asks));
        }
        assert_eq!(neighbours.known().len(), MOST);
    }
}
