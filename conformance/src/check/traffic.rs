//! The connections between some addresses: packets find theirs, or wait until it is known.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use rocespec_codec::{Info, Qpn, Transport, mad};
use rocespec_model::LinkSpeed;
use rocespec_reports::examination::Paired;
use rustc_hash::FxHashMap;

use super::artefacts::{Artefacts, Kind};
use super::connection::{Connection, EndFacts, Taken};
use super::packet::{Look, Place, Seen, look_at};
use super::senders::Senders;
use super::set_up::{Agreed, SetUp};
use super::ways::{Unmatched, Way};

/// Packets of a way that wait for its other direction to be found.
const WAITING: usize = 64;
/// All packets that wait, in bytes.
const WAITING_BYTES: usize = 32 << 20;
/// Connections that are looked at. More is no traffic, but a scan. The bound is also what lets a quick hash do: with few
/// thousands of keys, those that are made to collide cost some microseconds.
const CONNECTIONS: usize = 1 << 15;

/// Of these everything is told; of those behind them, less.
const IN_FULL: usize = 1 << 10;

/// Who is judged, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only what these addresses send is judged; empty: all.
    pub judge: Vec<IpAddr>,
    /// The capture was made at the ports of these, and misses nothing.
    pub at: Vec<IpAddr>,
    /// Speed of the link, where it is known: pauses are then as long as they say.
    pub speed: Option<LinkSpeed>,
}

impl Options {
    /// What this address sends is judged.
    pub(super) fn judges(&self, address: Ipv6Addr) -> bool {
        self.judge.is_empty() || self.judge.iter().any(|listed| gid(*listed) == address)
    }

    fn is_at(&self, address: Ipv6Addr) -> bool {
        self.at.iter().any(|listed| gid(*listed) == address)
    }
}

/// Connections.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) options: Options,
    pub(super) connections: Vec<Member>,
    /// Which connection a way belongs to, and which of its ends sends there.
    ways: FxHashMap<Way, (usize, usize)>,
    /// The same for UC, which a queue pair of another service may have had the number for.
    unreliable: FxHashMap<Way, (usize, usize)>,
    /// The same for datagrams, which name the queue pair that they come from.
    datagrams: FxHashMap<(Way, Qpn), (usize, usize)>,
    waiting: HashMap<Way, Vec<Stored>>,
    waiting_bytes: usize,
    unmatched: Unmatched,
    set_up: SetUp,
    pub(super) senders: Senders,
    pub(super) artefacts: Artefacts,
}

/// A connection, and the ways that belong to it.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) connection: Connection,
    pub(super) ways: [Option<Way>; 2],
    /// Of datagrams: the sending queue pair of the first way.
    pub(super) source: Option<Qpn>,
    /// The frame with which the connection manager made it.
    pub(super) set_up: Option<u64>,
}

/// A packet that waits.
#[derive(Debug)]
struct Stored {
    number: u64,
    time_ns: u64,
    frame: Box<[u8]>,
    original_len: usize,
    is_cut: bool,
    port: Option<u16>,
    place: Place,
}

impl Traffic {
    pub(super) fn new(options: Options) -> Traffic {
        Traffic { options, ..Traffic::default() }
    }

    /// A packet, in the order of the file.
    pub(super) fn packet(&mut self, seen: &Seen<'_>) {
        let transport = seen.packet.bth.opcode.transport();
        match transport {
            Transport::Ud if mad::is_management(&seen.packet.bth) => {
                if let Some(agreed) = self.set_up.note(seen) {
                    self.agree(&agreed, seen.number);
                }
            }
            Transport::Ud => self.datagram(seen),
            // Nobody connects those of the management, nor the one of multicast.
            _ if matches!(seen.packet.bth.dest_qp.get(), 0 | 1 | 0xff_ffff) => {}
            Transport::Rc | Transport::Uc | Transport::Xrc | Transport::Cnp => self.connected(seen, transport),
            Transport::Rd | Transport::Manufacturer => {}
        }
    }

    fn connected(&mut self, seen: &Seen<'_>, transport: Transport) {
        let way = Way::of(seen.packet);
        if transport == Transport::Uc
            && let Some((at, from)) = self.unreliable.get(&way).copied()
        {
            self.give(at, from, seen);
            return;
        }
        if transport != Transport::Uc
            && let Some((at, from)) = self.ways.get(&way).copied()
        {
            let (at, from) = self.changed_partner(way, at, from, seen, transport).unwrap_or((at, from));
            self.give(at, from, seen);
            return;
        }
        if transport == Transport::Uc {
            // Nothing answers, so nothing tells which other direction belongs to it.
            if let Some(at) = self.open(way, None, Transport::Uc, Paired::OneDirection, seen.number) {
                self.give(at, 0, seen);
            }
            return;
        }
        if self.waiting.len() + self.connections.len() >= CONNECTIONS && !self.waiting.contains_key(&way) {
            self.artefacts.note(Kind::Beyond, seen.number);
            return;
        }
        let partner = if transport == Transport::Cnp { None } else { self.unmatched.note(way, seen) };
        self.wait(way, seen);
        if let Some(partner) = partner {
            self.pair(way, partner, transport);
        } else if self.waiting.get(&way).is_some_and(|waiting| waiting.len() >= WAITING)
            || self.waiting_bytes > WAITING_BYTES
        {
            self.go_alone(way);
        }
    }

    /// A queue pair that was made anew under its old number talks to another one now: it answers nothing that the old one
    /// asked, and what another has asked since.
    fn changed_partner(
        &mut self,
        way: Way,
        at: usize,
        from: usize,
        seen: &Seen<'_>,
        transport: Transport,
    ) -> Option<(usize, usize)> {
        let (psn, connection) = (seen.packet.bth.psn, &self.connections[at].connection);
        if !seen.info.is_some_and(Info::is_response) || !connection.is_idle(from, psn) {
            return None;
        }
        let partner = self.unmatched.asked_last((way.to, way.from), psn)?;
        let is_later = partner.1 > connection.last_frame();
        if !is_later || !self.waiting.contains_key(&partner.0) {
            return None;
        }
        self.unmatched.forget(partner.0);
        self.pair(way, partner.0, transport);
        self.ways.get(&way).copied()
    }

    fn wait(&mut self, way: Way, seen: &Seen<'_>) {
        self.waiting_bytes += seen.frame.len();
        let port = seen.packet.udp.map(|udp| udp.dport).filter(|port| *port != rocespec_codec::ROCE_V2_PORT);
        self.waiting.entry(way).or_default().push(Stored {
            number: seen.number,
            time_ns: seen.time_ns,
            frame: seen.frame.into(),
            original_len: seen.original_len,
            is_cut: seen.is_cut,
            port,
            place: seen.place,
        });
    }

    fn take_waiting(&mut self, way: Way) -> Vec<Stored> {
        let stored = self.waiting.remove(&way).unwrap_or_default();
        self.waiting_bytes -= stored.iter().map(|stored| stored.frame.len()).sum::<usize>();
        stored
    }

    /// Two ways are one connection. At least the first of them waits.
    fn pair(&mut self, way: Way, partner: Way, transport: Transport) {
        if let Some((at, 0)) = self.ways.get(&partner).copied() {
            // It went alone before.
            self.join(at, way);
            return;
        }
        let (one, other) = (self.take_waiting(way), self.take_waiting(partner));
        let is_first = |stored: &[Stored], others: &[Stored]| {
            stored.first().map_or(u64::MAX, |first| first.number)
                < others.first().map_or(u64::MAX, |first| first.number)
        };
        let (ways, stored) =
            if is_first(&one, &other) { ([way, partner], [one, other]) } else { ([partner, way], [other, one]) };
        let [first, second] = stored;
        let frame = first.first().map_or(0, |first| first.number);
        let Some(at) = self.open(ways[0], Some(ways[1]), transport, Paired::Traffic, frame) else { return };
        let mut both: Vec<(usize, Stored)> = first.into_iter().map(|stored| (0, stored)).collect();
        both.extend(second.into_iter().map(|stored| (1, stored)));
        both.sort_by_key(|(_, stored)| stored.number);
        self.replay(at, both.into_iter());
    }

    /// A way that waits is the other direction of a connection.
    fn join(&mut self, at: usize, way: Way) {
        self.ways.insert(way, (at, 1));
        let member = &mut self.connections[at];
        member.ways[1] = Some(way);
        member.connection.is_with(way.qpn);
        let stored = self.take_waiting(way);
        self.replay(at, stored.into_iter().map(|stored| (1, stored)));
    }

    /// The other direction of a way is not found.
    fn go_alone(&mut self, way: Way) {
        let stored = self.take_waiting(way);
        let mut transport = Transport::Cnp;
        for stored in &stored {
            stored.look(|seen| transport = seen.packet.bth.opcode.transport());
            if transport != Transport::Cnp {
                break;
            }
        }
        let frame = stored.first().map_or(0, |first| first.number);
        if let Some(at) = self.open(way, None, transport, Paired::OneDirection, frame) {
            self.replay(at, stored.into_iter().map(|stored| (0, stored)));
        }
    }

    fn replay(&mut self, at: usize, stored: impl Iterator<Item = (usize, Stored)>) {
        for (from, stored) in stored {
            stored.look(|seen| self.give(at, from, seen));
        }
    }

    fn give(&mut self, at: usize, from: usize, seen: &Seen<'_>) {
        let Some(member) = self.connections.get_mut(at) else { return };
        let is_received = self.senders.note(member.connection.sender(from), seen);
        if member.connection.packet(from, seen, is_received) == Taken::Copy {
            self.artefacts.note(Kind::Copies, seen.number);
        }
    }

    fn datagram(&mut self, seen: &Seen<'_>) {
        let (way, source) = (Way::of(seen.packet), seen.packet.ext.deth.src_qp);
        let back = Way { from: way.to, to: way.from, qpn: source };
        if let Some((at, from)) = self.datagrams.get(&(way, source)).copied() {
            self.give(at, from, seen);
        } else if let Some((at, 0)) = self.datagrams.get(&(back, way.qpn)).copied() {
            self.datagrams.insert((way, source), (at, 1));
            let member = &mut self.connections[at];
            member.ways[1] = Some(way);
            member.connection.paired = Paired::Traffic;
            self.give(at, 1, seen);
        } else if self.connections.len() >= CONNECTIONS {
            self.artefacts.note(Kind::Beyond, seen.number);
        } else {
            let at = self.connections.len();
            let ends = [self.end(way.from, Some(source)), self.end(way.to, Some(way.qpn))];
            let connection = Connection::new(Transport::Ud, Paired::OneDirection, ends, None);
            self.add(connection, [Some(way), None], Some(source), None);
            self.datagrams.insert((way, source), (at, 0));
            self.give(at, 0, seen);
        }
    }

    fn end(&mut self, address: Ipv6Addr, qpn: Option<Qpn>) -> EndFacts {
        EndFacts {
            address,
            qpn,
            sends_from: None,
            max_rd_atomic: None,
            is_whole: self.options.is_at(address),
            is_judged: self.options.judges(address),
            sender: self.senders.of(address),
        }
    }

    fn add(&mut self, mut connection: Connection, ways: [Option<Way>; 2], source: Option<Qpn>, set_up: Option<u64>) {
        if self.connections.len() >= IN_FULL {
            connection.one_of_many();
        }
        self.connections.push(Member { connection, ways, source, set_up });
    }

    /// A connection of a way, and of the one back where it is known. `frame`: the first packet of it.
    fn open(&mut self, way: Way, back: Option<Way>, transport: Transport, paired: Paired, frame: u64) -> Option<usize> {
        let at = self.connections.len();
        if at >= CONNECTIONS {
            self.artefacts.note(Kind::Beyond, frame);
            return None;
        }
        let ends = [self.end(way.from, back.map(|back| back.qpn)), self.end(way.to, Some(way.qpn))];
        let connection = Connection::new(transport, paired, ends, None);
        self.add(connection, [Some(way), back], None, None);
        if transport == Transport::Uc {
            self.unreliable.insert(way, (at, 0));
            return Some(at);
        }
        self.ways.insert(way, (at, 0));
        if let Some(back) = back {
            self.ways.insert(back, (at, 1));
        }
        Some(at)
    }

    /// The connection manager has made a connection, with this frame.
    fn agree(&mut self, agreed: &Agreed, frame: u64) {
        let at = self.connections.len();
        if at >= CONNECTIONS {
            return;
        }
        let qpns = [agreed.req.local_qpn, agreed.rep.local_qpn];
        let [asking, taking] = agreed.ends;
        let ways = [Way { from: asking, to: taking, qpn: qpns[1] }, Way { from: taking, to: asking, qpn: qpns[0] }];
        // Each end says from where the other one is to send.
        let psns = [agreed.rep.starting_psn, agreed.req.starting_psn];
        // What the taking end can answer at once bounds what the asking end may ask for.
        let depths = [agreed.rep.responder_resources, agreed.rep.initiator_depth];
        let mut end = |at: usize| EndFacts {
            sends_from: Some(psns[at]),
            max_rd_atomic: Some(usize::from(depths[at])).filter(|depth| *depth > 0),
            ..self.end(agreed.ends[at], Some(qpns[at]))
        };
        let ends = [end(0), end(1)];
        let connection = Connection::new(agreed.transport, Paired::ConnectionManager, ends, agreed.mtu());
        self.add(connection, ways.map(Some), None, Some(frame));
        for (from, way) in ways.into_iter().enumerate() {
            self.unmatched.forget(way);
            // What came before belonged to whoever had the number.
            if self.waiting.contains_key(&way) {
                self.go_alone(way);
            }
            self.ways.insert(way, (at, from));
            if agreed.transport == Transport::Uc {
                self.unreliable.insert(way, (at, from));
            }
        }
    }

    /// Nothing more comes: what waits is alone.
    pub(super) fn finish(&mut self) {
        let mut ways: Vec<Way> = self.waiting.keys().copied().collect();
        ways.sort_by_key(|way| self.waiting[way].first().map(|first| first.number));
        let (notified, others): (Vec<Way>, Vec<Way>) = ways.into_iter().partition(|way| self.is_only_notified(*way));
        others.into_iter().for_each(|way| self.go_alone(way));
        // CNPs belong to the one connection of their two addresses that is heard in one direction.
        let mut heard = self.heard_in_one_direction();
        for way in notified {
            let Some(at) = heard.get_mut(&(way.to, way.from)).and_then(Option::take) else {
                self.go_alone(way);
                continue;
            };
            self.join(at, way);
        }
        for member in &self.connections {
            for end in [0, 1] {
                if member.connection.is_answered(end) {
                    self.senders.is_answered(member.connection.sender(end));
                }
            }
        }
    }

    /// Nothing but CNPs came on it.
    fn is_only_notified(&self, way: Way) -> bool {
        let mut is_cnp = true;
        for stored in self.waiting.get(&way).into_iter().flatten() {
            stored.look(|seen| is_cnp &= seen.packet.bth.opcode.transport() == Transport::Cnp);
        }
        is_cnp
    }

    /// By who sends to whom: the connection that is heard in this direction only; `None` where there are several.
    fn heard_in_one_direction(&self) -> HashMap<(Ipv6Addr, Ipv6Addr), Option<usize>> {
        let mut heard = HashMap::new();
        for (at, member) in self.connections.iter().enumerate() {
            if let ([Some(way), None], None) = (member.ways, member.source) {
                heard.entry((way.from, way.to)).and_modify(|known| *known = None).or_insert(Some(at));
            }
        }
        heard
    }
}

impl Stored {
    fn look(&self, then: impl FnOnce(&Seen<'_>)) {
        if let Look::Roce { packet, right_icrc, is_cut } =
            look_at(&self.frame, self.original_len, self.is_cut, self.port, None)
        {
            then(&Seen {
                number: self.number,
                time_ns: self.time_ns,
                packet: &packet,
                info: packet.bth.opcode.info(),
                is_cut,
                right_icrc,
                frame: &self.frame,
                original_len: self.original_len,
                place: self.place,
            });
        }
    }
}

/// An address as packets are asked for it.
fn gid(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}
