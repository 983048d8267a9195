//! What the connection manager's messages say of connections.

use std::collections::HashMap;
use std::net::Ipv6Addr;

use rocespec_codec::mad::{self, Mad, Message, Rep, Req, TransportService};
use rocespec_codec::{Mtu, Transport};

use super::packet::Seen;

/// Requests that wait for their reply.
const LIMIT: usize = 4096;

/// A connection as its two ends agreed on it.
#[derive(Debug, Clone)]
pub(super) struct Agreed {
    /// Who asked for it, and who took it.
    pub(super) ends: [Ipv6Addr; 2],
    pub(super) transport: Transport,
    pub(super) req: Box<Req>,
    pub(super) rep: Box<Rep>,
}

impl Agreed {
    /// Path MTU in bytes.
    pub(super) fn mtu(&self) -> Option<usize> {
        Mtu::from_code(self.req.path_mtu).map(Mtu::bytes)
    }
}

/// Watches the connection manager.
#[derive(Debug, Default)]
pub(super) struct SetUp {
    /// By who asked whom, and the number that the asking end gave the connection.
    asked: HashMap<(Ipv6Addr, Ipv6Addr, u32), Box<Req>>,
}

impl SetUp {
    /// A datagram of the management queue pair. Gives the connection when it is agreed on.
    pub(super) fn note(&mut self, seen: &Seen<'_>) -> Option<Agreed> {
        if seen.is_cut {
            return None;
        }
        let (from, to) = (seen.packet.net.src_gid(), seen.packet.net.dst_gid());
        match mad::of(seen.packet).as_ref().and_then(Mad::message)? {
            Message::Req(req) => {
                if self.asked.len() < LIMIT {
                    self.asked.insert((from, to, req.local_comm_id), Box::new(req));
                }
                None
            }
            Message::Rep(rep) => {
                let req = self.asked.remove(&(to, from, rep.remote_comm_id))?;
                let transport = match (req.transport, req.extended_transport) {
                    (TransportService::RC, _) => Transport::Rc,
                    (TransportService::UC, _) => Transport::Uc,
                    (TransportService::EXTENDED, 1) => Transport::Xrc,
                    _ => return None,
                };
                Some(Agreed { ends: [to, from], transport, req, rep: Box::new(rep) })
            }
            Message::Rej(rej) => {
                self.asked.remove(&(to, from, rej.remote_comm_id));
                None
            }
            _ => None,
        }
    }
}
