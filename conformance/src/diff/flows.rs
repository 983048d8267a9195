//! Which packets of a capture belong to one connection, and which end sent them.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use rocespec_codec::mad::{self, Message};
use rocespec_codec::{Header, Info, Net, PKey, Psn, Roce, Transport};

use super::side::{Conversation, Packet, Role, Stream, Who};

/// How many responses of a sender are tried to find whom they answer.
const MOST_TRIES: u8 = 16;
/// How many senders are looked at for that, the latest first.
const MOST_LOOKED_AT: usize = 256;
/// How far a response may be from the last request that it may answer, in PSNs.
const NEAR: u32 = 1 << 16;

/// Where packets go: all of one sender of one connection have it in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    src: Ipv6Addr,
    dst: Ipv6Addr,
    qpn: u32,
    /// Known in UD and RD only.
    src_qpn: Option<u32>,
    /// RoCE v1 is another connection than v2.
    is_v1: bool,
    /// Identifier of the connection manager's message that announced the queue pair: its number may be used again.
    comm_id: Option<u32>,
}

/// One sender of a connection.
#[derive(Debug)]
pub(super) struct Flow {
    key: Key,
    transport: Transport,
    partner: Option<usize>,
    /// First PSN of its requests: announced by the connection manager, or seen.
    first_request: Option<Psn>,
    first_response: Option<Psn>,
    last_request: Option<Psn>,
    tries: u8,
    /// That of its first packet which is no congestion notification.
    pub(super) source_port: Option<u16>,
    /// Those of its first packet.
    pub(super) hop_limit: u8,
    pub(super) pkey: PKey,
    packets: Vec<Packet>,
}

/// A queue pair and where it is.
type Address = (Ipv6Addr, u32);

/// All senders of a capture.
#[derive(Debug, Default)]
pub(super) struct Flows {
    all: Vec<Flow>,
    by_key: HashMap<Key, usize>,
    /// Senders without a partner, by the two addresses.
    alone: HashMap<(Ipv6Addr, Ipv6Addr), BTreeSet<usize>>,
    /// First PSN that goes to a queue pair, and the identifier of the message that said so.
    announced: HashMap<Address, (Psn, u32)>,
    /// Queue pairs that the connection manager connected.
    connected: HashMap<Address, Address>,
    /// Queue pairs that ask for a connection, by the identifier of the request.
    asking: HashMap<(Ipv6Addr, u32), u32>,
}

impl Flows {
    /// Sorts in a packet; `write` makes it of what is known of its sender.
    pub(super) fn add(&mut self, seen: &Roce<'_>, write: impl FnOnce(&Flow) -> Packet) {
        self.hear(seen);
        let at = self.flow(seen);
        let flow = &mut self.all[at];
        let (transport, psn) = (seen.bth.opcode.transport(), seen.bth.psn);
        if transport != Transport::Cnp {
            flow.source_port = flow.source_port.or(seen.udp.map(|udp| udp.sport));
            if flow.transport == Transport::Cnp {
                flow.transport = transport;
            }
            if seen.bth.opcode.info().is_some_and(Info::is_response) {
                flow.first_response.get_or_insert(psn);
                if flow.partner.is_none() && flow.tries < MOST_TRIES {
                    flow.tries += 1;
                    self.pair_by_answer(at, psn);
                }
            } else {
                flow.first_request.get_or_insert(psn);
                flow.last_request = Some(psn);
            }
        }
        let packet = write(&self.all[at]);
        self.all[at].packets.push(packet);
    }

    /// The sender of this packet.
    fn flow(&mut self, seen: &Roce<'_>) -> usize {
        let (opcode, qpn) = (seen.bth.opcode, seen.bth.dest_qp.get());
        let src_qpn = opcode.headers().contains(&Header::Deth).then_some(seen.ext.deth.src_qp.get());
        let is_v1 = matches!(seen.net, Net::Grh(_));
        let key = self.key(seen.net.src_gid(), seen.net.dst_gid(), qpn, src_qpn, is_v1);
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        let at = self.all.len();
        self.all.push(Flow {
            key,
            transport: opcode.transport(),
            partner: None,
            first_request: self.announced.get(&(key.dst, qpn)).map(|(psn, _)| *psn),
            first_response: None,
            last_request: None,
            tries: 0,
            source_port: None,
            hop_limit: seen.net.hop_limit(),
            pkey: seen.bth.pkey,
            packets: Vec::new(),
        });
        self.by_key.insert(key, at);
        match self.partner_by_name(&key) {
            Some(partner) => self.pair(at, partner),
            None => {
                self.alone.entry((key.src, key.dst)).or_default().insert(at);
            }
        }
        at
    }

    fn key(&self, src: Ipv6Addr, dst: Ipv6Addr, qpn: u32, src_qpn: Option<u32>, is_v1: bool) -> Key {
        let comm_id = self.announced.get(&(dst, qpn)).filter(|_| src_qpn.is_none()).map(|(_, comm_id)| *comm_id);
        Key { src, dst, qpn, src_qpn, is_v1, comm_id }
    }

    /// The other direction, where it is known without a look at the traffic.
    fn partner_by_name(&self, key: &Key) -> Option<usize> {
        let (qpn, src_qpn) = match key.src_qpn {
            Some(src_qpn) => (src_qpn, Some(key.qpn)),
            None => (self.connected.get(&(key.dst, key.qpn)).filter(|(address, _)| *address == key.src)?.1, None),
        };
        let found = *self.by_key.get(&self.key(key.dst, key.src, qpn, src_qpn, key.is_v1))?;
        self.all[found].partner.is_none().then_some(found)
    }

    fn pair(&mut self, one: usize, other: usize) {
        if one == other {
            return;
        }
        for (at, partner) in [(one, other), (other, one)] {
            let flow = &mut self.all[at];
            flow.partner = Some(partner);
            if let Some(alone) = self.alone.get_mut(&(flow.key.src, flow.key.dst)) {
                alone.remove(&at);
            }
        }
    }

    /// Finds whom a response answers: the sender in the other direction whose requests were at this PSN.
    fn pair_by_answer(&mut self, at: usize, psn: Psn) {
        let (key, transport) = (self.all[at].key, self.all[at].transport);
        let all = &self.all;
        let Some(alone) = self.alone.get(&(key.dst, key.src)) else { return };
        let distance = |&other: &usize| {
            let flow = &all[other];
            let fits = other != at && flow.transport == transport && flow.key.is_v1 == key.is_v1;
            let distance = psn.since(flow.last_request?).unsigned_abs();
            (fits && distance < NEAR).then_some((distance, other))
        };
        let nearest = alone.iter().rev().take(MOST_LOOKED_AT).filter_map(distance).min();
        if let Some((_, other)) = nearest {
            self.pair(at, other);
        }
    }

    /// Listens to the connection manager.
    fn hear(&mut self, seen: &Roce<'_>) {
        let from = seen.net.src_gid();
        match mad::of(seen).and_then(|mad| mad.message()) {
            Some(Message::Req(req)) => {
                self.announced.insert((from, req.local_qpn.get()), (req.starting_psn, req.local_comm_id));
                self.asking.insert((from, req.local_comm_id), req.local_qpn.get());
            }
            Some(Message::Rep(rep)) => {
                self.announced.insert((from, rep.local_qpn.get()), (rep.starting_psn, rep.local_comm_id));
                let to = seen.net.dst_gid();
                if let Some(&qpn) = self.asking.get(&(to, rep.remote_comm_id)) {
                    let (one, other) = ((from, rep.local_qpn.get()), (to, qpn));
                    self.connected.insert(one, other);
                    self.connected.insert(other, one);
                }
            }
            _ => {}
        }
    }

    /// Pairs what is left over between two addresses, where there is one in each direction.
    fn pair_the_rest(&mut self) {
        let mut rest: HashMap<(Ipv6Addr, Ipv6Addr, Transport, bool), Vec<usize>> = HashMap::new();
        for (at, flow) in self.all.iter().enumerate().filter(|(_, flow)| flow.partner.is_none()) {
            let Key { src, dst, src_qpn: None, is_v1, .. } = flow.key else { continue };
            rest.entry((src, dst, flow.transport, is_v1)).or_default().push(at);
        }
        for (&(src, dst, transport, is_v1), there) in &rest {
            let back = rest.get(&(dst, src, transport, is_v1)).map(Vec::as_slice);
            if let ([one], Some([other])) = (&there[..], back) {
                self.pair(*one, *other);
            }
        }
    }

    /// Every connection, in the order of their first packets.
    pub(super) fn conversations(mut self) -> Vec<Conversation> {
        self.pair_the_rest();
        for at in 0..self.all.len() {
            self.number(at);
        }
        let mut conversations = Vec::new();
        for at in 0..self.all.len() {
            // The later one of two comes with the earlier.
            if self.all[at].partner.is_none_or(|partner| partner > at) {
                conversations.push(self.conversation(at));
            }
        }
        conversations
    }

    /// Counts the PSNs of a sender from the first of the connection: requests from its own first one, responses from the
    /// first request that they may answer.
    fn number(&mut self, at: usize) {
        let flow = &self.all[at];
        let answered = flow.partner.and_then(|partner| self.all[partner].first_request);
        let (requests, responses) = (flow.first_request, answered.or(flow.first_response));
        for packet in &mut self.all[at].packets {
            let origin = if Role::of(packet.head()) == Role::Response { responses } else { requests };
            let count = |psn: i32| origin.map_or(psn, |origin| Psn::new(psn as u32).since(origin));
            packet.psn = packet.psn.map(count);
        }
    }

    fn conversation(&mut self, at: usize) -> Conversation {
        let partner = self.all[at].partner;
        let flow = &self.all[at];
        let its = partner.map(|partner| self.all[partner].key.qpn).or(flow.key.src_qpn);
        let end = |gid: Ipv6Addr, qpn: Option<u32>| {
            let address = IpAddr::V6(gid).to_canonical();
            qpn.map_or_else(|| address.to_string(), |qpn| format!("{address} qp={qpn:#x}"))
        };
        let ends = vec![end(flow.key.src, its), end(flow.key.dst, Some(flow.key.qpn))];
        let transport = match flow.transport {
            Transport::Rc => "RC",
            Transport::Uc => "UC",
            Transport::Rd => "RD",
            Transport::Ud => "UD",
            Transport::Cnp => "CNP",
            Transport::Xrc => "XRC",
            Transport::Manufacturer => "unknown",
        };
        let mut streams = Vec::new();
        for (who, at) in [(Who::A, Some(at)), (Who::B, partner)] {
            if let Some(flow) = at.and_then(|at| self.all.get_mut(at)) {
                streams.extend(Stream::all(who, std::mem::take(&mut flow.packets), flow.key.comm_id.is_some()));
            }
        }
        let mut conversation = Conversation { transport, ends, streams };
        conversation.set_delays();
        conversation
    }
}
