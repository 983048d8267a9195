//! A port with its queue pairs: frames in, frames and events out.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use rocespec_codec::MacAddr;

use crate::config::Config;
use crate::context::Context;
use crate::counters::{Counter, Counters};
use crate::egress;
use crate::ingress;
use crate::memory::Memory;
use crate::qp::Qp;
use crate::responder;
use crate::time::Time;
use crate::verbs::{AsyncEvent, QpHandle};

/// What comes to an endpoint.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An Ethernet frame, without its frame check sequence.
    Frame(&'a [u8]),
    /// The time that [`Endpoint::next_timeout`] named has come.
    Timeout,
}

/// What an endpoint gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// An Ethernet frame, without its frame check sequence, padded to 60 bytes.
    Frame(Vec<u8>),
    /// Something to tell the software.
    Event(AsyncEvent),
}

/// A port with its queue pairs and its memory.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) config: Config,
    pub(crate) neighbours: BTreeMap<Ipv6Addr, MacAddr>,
    pub(crate) memory: Memory,
    pub(crate) qps: BTreeMap<QpHandle, Qp>,
    pub(crate) qps_created: u32,
    pub(crate) events: VecDeque<AsyncEvent>,
    pub(crate) counters: Counters,
    order: u64,
    ip_id: u16,
}

impl Endpoint {
    /// An endpoint without queue pairs.
    pub fn new(config: Config) -> Self {
        Endpoint {
            config,
            neighbours: BTreeMap::new(),
            memory: Memory::default(),
            qps: BTreeMap::new(),
            qps_created: 0,
            events: VecDeque::new(),
            counters: Counters::new(),
            order: 0,
            ip_id: 0,
        }
    }

    /// What it was made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Says where frames to a GID go. Without, they go to where the peer's own came from.
    pub fn add_neighbour(&mut self, gid: Ipv6Addr, mac: MacAddr) {
        self.neighbours.insert(gid, mac);
    }

    /// Takes a frame, or notes that time has passed. Never fails: what is not for this endpoint is counted and dropped.
    pub fn handle(&mut self, now: Time, input: Input<'_>) {
        let Input::Frame(frame) = input else { return };
        self.counters.count(Counter::FramesReceived);
        let mut room = Vec::new();
        match ingress::admit(&self.config, &self.qps, frame, &mut room) {
            Ok((handle, packet)) => {
                let (qps, mut context) = self.split(now);
                if let Some(qp) = qps.get_mut(&handle) {
                    qp.last_link = Some(packet.eth.clone());
                    responder::receive(qp, &packet, &mut context);
                }
            }
            Err(reason) => self.counters.count(reason),
        }
    }

    /// The next frame whose time has come, or the next event. To be called until it gives none.
    pub fn poll_output(&mut self, now: Time) -> Option<Output> {
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        loop {
            let (due, _, handle) = self.first_due()?;
            if due > now {
                return None;
            }
            let (qps, mut context) = self.split(now);
            let qp = qps.get_mut(&handle)?;
            if let Some(packet) = responder::next_packet(qp, &mut context) {
                qp.frames_sent += 1;
                self.ip_id = self.ip_id.wrapping_add(1);
                self.counters.count(Counter::FramesSent);
                let qp = &self.qps[&handle];
                return Some(Output::Frame(egress::frame(&self.config, &self.neighbours, qp, self.ip_id, &packet)));
            }
        }
    }

    /// When [`Endpoint::poll_output`] will next have a frame, or has had one to give since.
    pub fn next_timeout(&self) -> Option<Time> {
        self.first_due().map(|(due, ..)| due)
    }

    /// Destroys all queue pairs and all memory. Neighbours and counters stay; handles, numbers and keys begin anew.
    pub fn reset(&mut self) {
        let fresh = Endpoint::new(self.config.clone());
        let old = core::mem::replace(self, fresh);
        self.neighbours = old.neighbours;
        self.counters = old.counters;
    }

    /// All counters by name.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter()
    }

    fn first_due(&self) -> Option<(Time, u64, QpHandle)> {
        let fronts = self.qps.values().filter_map(|qp| {
            let (due, order) = qp.responder.outbox.front()?;
            Some((due, order, qp.handle))
        });
        fronts.min()
    }

    pub(crate) fn split(&mut self, now: Time) -> (&mut BTreeMap<QpHandle, Qp>, Context<'_>) {
        let context = Context {
            memory: &mut self.memory,
            policy: self.config.policy,
            defects: self.config.defects,
            counters: &mut self.counters,
            events: &mut self.events,
            due: now + self.config.response_delay,
            order: &mut self.order,
        };
        (&mut self.qps, context)
    }
}
