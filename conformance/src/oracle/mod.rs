//! The oracle: what is asked of every frame that a device sends, whatever the script says.
//!
//! An [`Oracle`] stands at the port of the device and knows one of its queue pairs. It is told of every packet that comes
//! in and judges every one that goes out; a [`Port`] is told of pauses. A rule that is broken yields a [`Breach`]. One file
//! per family of rules: what a frame is on its own (`lint/`), what it is after those before it (`stream/`), what answers
//! marks of congestion, and what a pause forbids.
//!
//! It needs neither a script nor a device: decoded packets of both directions and their times are enough.

mod congestion;
pub mod counters;
mod lint;
mod pause;
mod stream;
#[cfg(test)]
mod tests;

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::{Ethernet, Info, MacAddr, PKey, Psn, Qpn, Roce, Transport, icrc};
use rocespec_model::Time;
use rocespec_reports::outcome::Level;

pub(crate) use congestion::is_sequence_nak;
pub(crate) use lint::icrc as wrong_icrc;
pub use lint::undecodable;
pub use pause::{Port, PortConfig};
pub(crate) use stream::is_read_like;
pub use stream::{FAR, OTHER_PAYLOAD, StreamConfig};

use congestion::Congestion;
use stream::Stream;

/// A rule that a frame breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Id of the rule in the ledger.
    pub rule: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What the rule asks for.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Why this is a fault.
    pub why: &'static str,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected {}, saw {}: {}", self.expected, self.seen, self.why)
    }
}

/// The two ends of a connection, as the device that is judged sees them.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// Queue pair of the device.
    pub own_qpn: Qpn,
    /// Queue pair that it sends to.
    pub peer_qpn: Qpn,
    /// What its IP headers have to say; `None` when that is not known.
    pub path: Option<Path>,
    /// Where frames for the device have to go; `None` when that is not known.
    pub station: Option<Station>,
    /// Partition of the connection; `None` when that is not known.
    pub pkey: Option<PKey>,
}

/// What a frame has to say for a port to take it.
#[derive(Debug, Clone, Copy)]
pub struct Station {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Id of the VLAN that it is in.
    pub vlan: Option<u16>,
}

impl Station {
    fn takes(&self, eth: &Ethernet) -> bool {
        let mut tags = eth.tags.iter().map(|tag| tag.tci & 0xfff);
        eth.dst == self.mac && tags.next() == self.vlan && tags.next().is_none()
    }
}

/// What the IP header of a packet has to say.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Address of the device; an IPv4 address as the GID that stands for it.
    pub own: Ipv6Addr,
    /// Address that it sends to.
    pub peer: Ipv6Addr,
}

impl Ends {
    /// The same connection as the other end sees it.
    fn reversed(&self) -> Ends {
        let path = self.path.map(|path| Path { own: path.peer, peer: path.own });
        Ends { own_qpn: self.peer_qpn, peer_qpn: self.own_qpn, path, station: None, pkey: self.pkey }
    }
}

/// What is known of a queue pair before the first packet.
#[derive(Debug, Clone, Copy)]
pub struct OracleConfig {
    /// Where it sends to and from.
    pub ends: Ends,
    /// What its packets have to be in their order.
    pub stream: StreamConfig,
    /// How far the times of the two directions may be off against each other, and how exact each is. A packet that
    /// leaves the device within this time after another came may have left before it.
    pub skew: Duration,
}

/// Judges what the device sends from one queue pair.
#[derive(Debug, Clone)]
pub struct Oracle {
    ends: Ends,
    stream: Stream,
    congestion: Congestion,
    /// Of its requests and of its responses.
    source_ports: [Option<u16>; 2],
}

impl Oracle {
    /// A queue pair that has sent and received nothing.
    pub fn new(config: OracleConfig) -> Oracle {
        Oracle {
            ends: config.ends,
            stream: Stream::new(config.stream, config.skew),
            congestion: Congestion::default(),
            source_ports: [None; 2],
        }
    }

    /// A packet for the queue pair has come to the device. It may be wrong in any way: what a right device may have made of
    /// it is allowed, what it must have made of it is asked for only when the packet is right.
    pub fn received(&mut self, now: Time, packet: &Roce<'_>) {
        // Damaged ones never come to the queue pair.
        if icrc::verify(packet) {
            self.received_whole(now, packet);
        }
    }

    /// A packet has come whose ICRC was looked at already, and is right.
    pub fn received_whole(&mut self, now: Time, packet: &Roce<'_>) {
        let mut breaches = lint::lint(packet, &self.ends.reversed()).into_iter();
        let is_right = breaches.all(|breach| breach.level != Level::Must);
        self.take(now, packet, is_right);
    }

    /// As [`Oracle::received_whole`], when another oracle judged the packet as it was sent and found nothing. Then nothing
    /// in it keeps its receiver from taking it.
    pub fn received_right(&mut self, now: Time, packet: &Roce<'_>) {
        self.take(now, packet, true);
    }

    fn take(&mut self, now: Time, packet: &Roce<'_>, is_right: bool) {
        let is_right = is_right && self.ends.station.is_none_or(|station| station.takes(&packet.eth));
        self.congestion.received(packet, self.stream.is_behind_a_gap(packet));
        self.stream.received(now, packet, is_right);
    }

    /// The device has sent a packet, from whatever queue pair: every rule that it breaks.
    pub fn sent(&mut self, now: Time, packet: &Roce<'_>) -> Vec<Breach> {
        let right_icrc = icrc::compute(packet);
        let mut breaches = Vec::from_iter(lint::icrc(packet, right_icrc));
        breaches.extend(self.sent_with(now, packet, right_icrc));
        breaches
    }

    /// As [`Oracle::sent`], when the ICRC that belongs to the packet is known. Whether the packet has it is not judged.
    pub fn sent_with(&mut self, now: Time, packet: &Roce<'_>, right_icrc: u32) -> Vec<Breach> {
        let mut breaches = lint::lint(packet, &self.ends);
        let transport = packet.bth.opcode.transport();
        // XRC has a queue pair for each direction.
        if packet.bth.dest_qp != self.ends.peer_qpn && transport != Transport::Xrc {
            return breaches;
        }
        // A congestion notification stands outside of the exchange.
        if transport == Transport::Cnp {
            breaches.extend(self.congestion.sent_cnp(packet, self.stream.is_whole()));
            return breaches;
        }
        if transport != Transport::Ud {
            // The order of the one kind among the other means nothing, nor does that of datagrams.
            let is_response = packet.bth.opcode.info().is_some_and(Info::is_response);
            let known = &mut self.source_ports[usize::from(is_response)];
            let port = packet.udp.map(|udp| udp.sport);
            breaches.extend(lint::source_port(*known, port));
            *known = known.or(port);
        }
        self.congestion.sent(packet);
        breaches.extend(self.stream.sent(now, packet, right_icrc));
        breaches
    }

    /// UDP source port of the first request, or else response, that the queue pair sent; `None` for datagrams.
    pub fn source_port(&self) -> Option<u16> {
        self.source_ports.into_iter().flatten().next()
    }

    /// The PSN of the next new request that the queue pair sends, where it is known.
    pub fn next_psn(&self) -> Option<Psn> {
        self.stream.next_psn()
    }

    /// Gaps in what was seen of the queue pair, where not everything is: packets that were lost before, or not captured.
    pub fn gaps(&self) -> u64 {
        self.stream.gaps()
    }

    /// Packets that were certainly sent and received, and not seen.
    pub fn missing(&self) -> u64 {
        self.stream.missing()
    }

    /// The path MTU is known now, in bytes.
    pub fn set_mtu(&mut self, mtu: usize) {
        self.stream.set_mtu(mtu);
    }
}

/// A breach of a rule that is demanded.
fn must(rule: &'static str, expected: String, seen: String, why: &'static str) -> Breach {
    Breach { rule, level: Level::Must, expected, seen, why }
}
