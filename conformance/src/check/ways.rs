//! Who talks to whom: which two directions of a capture are one connection.
//!
//! A packet names the queue pair that it goes to and not the one that it comes from. Two ways belong together when the
//! connection manager says so, or when the responses on one answer requests on the other.

use std::collections::HashMap;
use std::net::Ipv6Addr;

use rocespec_codec::{Psn, Qpn, Roce};

use super::packet::Seen;

/// One direction: the packets from an address to a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Way {
    /// Who sends; an IPv4 address as the GID that stands for it.
    pub(super) from: Ipv6Addr,
    /// Who receives.
    pub(super) to: Ipv6Addr,
    /// The receiving queue pair.
    pub(super) qpn: Qpn,
}

impl Way {
    /// That of a packet.
    pub(super) fn of(packet: &Roce<'_>) -> Way {
        Way { from: packet.net.src_gid(), to: packet.net.dst_gid(), qpn: packet.bth.dest_qp }
    }
}

/// What is known of a way whose other direction is not.
#[derive(Debug, Clone, Default)]
struct Unpaired {
    packets: u64,
    /// The first and the last PSN of its requests.
    asked: Option<(Psn, Psn)>,
    /// The first and the last PSN that its responses answer.
    answered: Option<(Psn, Psn)>,
    /// Number of the frame of its last request.
    asked_in: u64,
}

/// PSNs that a range may be off: what was sent before the capture began, and what was not captured.
const SLACK: i32 = 64;

impl Unpaired {
    /// Another packet of it.
    fn note(&mut self, seen: &Seen<'_>) {
        self.packets += 1;
        let psn = seen.packet.bth.psn;
        match seen.info {
            Some(info) if info.is_request() => {
                self.asked_in = seen.number;
                widen(&mut self.asked, psn);
            }
            Some(info) if info.is_response() => widen(&mut self.answered, psn),
            _ => {}
        }
    }

    /// The responses of the one are about requests of the other.
    fn fits(&self, other: &Unpaired) -> bool {
        answers(self.answered, other.asked) || answers(other.answered, self.asked)
    }
}

/// Takes a PSN into a range, its first and its last one.
pub(super) fn widen(range: &mut Option<(Psn, Psn)>, psn: Psn) {
    *range = Some(match *range {
        None => (psn, psn),
        Some((first, last)) if psn.since(first) < 0 => (psn, last),
        Some((first, last)) if psn.since(last) > 0 => (first, psn),
        Some(range) => range,
    });
}

fn answers(answered: Option<(Psn, Psn)>, asked: Option<(Psn, Psn)>) -> bool {
    let (Some(answered), Some(asked)) = (answered, asked) else { return false };
    // A READ is asked for at its first PSN and answered up to its last.
    answered.0.since(asked.0) >= -SLACK && answered.0.since(asked.1) <= SLACK
}

/// Ways that have no other direction yet, by the two addresses.
#[derive(Debug, Default)]
pub(super) struct Unmatched {
    ways: HashMap<(Ipv6Addr, Ipv6Addr), HashMap<Qpn, Unpaired>>,
}

/// Ways between two addresses among which a partner is looked for. With more of them a match says nothing.
const CANDIDATES: usize = 4096;
/// As few are looked through for each packet; more only for some of them, so that many ways do not cost their square.
const FEW: usize = 32;
/// As few are looked through for a response that answers nothing.
const SEVERAL: usize = 256;

impl Unmatched {
    /// Notes a packet of a way without partner, and gives the partner when there is exactly one that fits. Both are then
    /// taken out.
    pub(super) fn note(&mut self, way: Way, seen: &Seen<'_>) -> Option<Way> {
        let own = self.ways.entry((way.from, way.to)).or_default();
        if own.len() >= CANDIDATES && !own.contains_key(&way.qpn) {
            return None;
        }
        let unpaired = own.entry(way.qpn).or_default();
        unpaired.note(seen);
        let unpaired = unpaired.clone();
        let others = self.ways.get(&(way.to, way.from))?;
        if others.len() > FEW && !unpaired.packets.is_power_of_two() {
            return None;
        }
        let is_itself = |qpn: Qpn| way.from == way.to && qpn == way.qpn;
        let mut fitting = others.iter().filter(|(qpn, facts)| !is_itself(**qpn) && facts.fits(&unpaired));
        let (qpn, _) = fitting.next()?;
        if fitting.next().is_some() {
            // More packets will tell.
            return None;
        }
        let partner = Way { from: way.to, to: way.from, qpn: *qpn };
        self.forget(partner);
        self.forget(way);
        Some(partner)
    }

    /// The way between these addresses that a request came on last, of those that have asked for this PSN, and the number
    /// of the frame of that request.
    pub(super) fn asked_last(&self, addresses: (Ipv6Addr, Ipv6Addr), psn: Psn) -> Option<(Way, u64)> {
        let asks =
            |facts: &Unpaired| facts.asked.is_some_and(|(first, last)| psn.since(first) >= 0 && psn.since(last) <= 0);
        let ways = self.ways.get(&addresses).filter(|ways| ways.len() <= SEVERAL)?;
        let (qpn, facts) = ways.iter().filter(|(_, facts)| asks(facts)).max_by_key(|(_, facts)| facts.asked_in)?;
        Some((Way { from: addresses.0, to: addresses.1, qpn: *qpn }, facts.asked_in))
    }

    /// The partner of a way was found otherwise.
    pub(super) fn forget(&mut self, way: Way) {
        if let Some(own) = self.ways.get_mut(&(way.from, way.to)) {
            own.remove(&way.qpn);
        }
    }
}
