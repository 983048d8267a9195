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
use crate::qps::Qps;
use crate::schedule::Schedule;
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
    pub(crate) qps: Qps,
    pub(crate) events: VecDeque<AsyncEvent>,
    pub(crate) counters: Counters,
    /// The latest time that a caller named.
    pub(crate) now: Time,
    pub(crate) schedule: Schedule,
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
            qps: Qps::default(),
            events: VecDeque::new(),
            counters: Counters::new(),
            now: Time::ZERO,
            schedule: Schedule::default(),
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
    ///
    /// Timers that ran out by `now` act first. Time does not run backwards: an earlier `now` than the latest one stands
    /// for the latest one.
    pub fn handle(&mut self, now: Time, input: Input<'_>) {
        self.pass(now);
        let Input::Frame(frame) = input else { return };
        self.counters.count(Counter::FramesReceived);
        let mut room = Vec::new();
        match ingress::admit(&self.config, &self.qps, frame, &mut room) {
            Ok((handle, packet)) => {
                self.with_qp(handle, |qp, cx| qp.receive(&packet, cx));
            }
            Err(reason) => self.counters.count(reason),
        }
    }

    /// The next frame whose time has come, or the next event. To be called until it gives none.
    pub fn poll_output(&mut self, now: Time) -> Option<Output> {
        self.pass(now);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Output::Event(event));
            }
            let (_, handle) = self.schedule.first_turn(|_| true).filter(|(turn, _)| turn.due <= self.now)?;
            let mut packet = None;
            self.with_qp(handle, |qp, cx| packet = qp.next_packet(cx));
            if let (Some(packet), Some(qp)) = (packet, self.qps.get(handle)) {
                self.ip_id = self.ip_id.wrapping_add(1);
                self.counters.count(Counter::FramesSent);
                let frame = egress::frame(&self.config, &self.neighbours, &self.memory, qp, self.ip_id, &packet);
                return Some(Output::Frame(frame));
            }
        }
    }

    /// When [`Endpoint::poll_output`] will next have a frame or a timer runs out, or has had reason to since.
    pub fn next_timeout(&self) -> Option<Time> {
        let turn = self.schedule.first_turn(|_| true).map(|(turn, _)| turn.due);
        let alarm = self.schedule.first_alarm().map(|(alarm, _)| alarm);
        turn.into_iter().chain(alarm).min()
    }

    /// Destroys all queue pairs and all memory. Neighbours and counters stay; handles, numbers and keys begin anew.
    pub fn reset(&mut self) {
        let fresh = Endpoint::new(self.config.clone());
        let old = core::mem::replace(self, fresh);
        self.neighbours = old.neighbours;
        self.counters = old.counters;
        self.now = old.now;
    }

    /// All counters by name.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter()
    }

    /// Lets time pass: timers that ran out act, in the order in which they do.
    fn pass(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some((_, handle)) = self.schedule.first_alarm().filter(|(alarm, _)| *alarm <= self.now) {
            self.with_qp(handle, Qp::on_alarm);
        }
    }

    /// Does something with a queue pair, and notes what it waits for afterwards.
    pub(crate) fn with_qp<R>(
        &mut self,
        handle: QpHandle,
        act: impl FnOnce(&mut Qp, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let qp = self.qps.get_mut(handle)?;
        let mut cx = Context {
            memory: &mut self.memory,
            capabilities: self.config.capabilities,
            policy: &self.config.policy,
            defects: self.config.defects,
            now: self.now,
            counters: &mut self.counters,
            events: &mut self.events,
            due: self.now + self.config.response_delay,
            order: &mut self.order,
        };
        let result = act(qp, &mut cx);
        qp.settle(&mut cx);
        let (class, turn, alarm) = (qp.class(), qp.next_turn(), qp.next_alarm());
        self.schedule.settle(handle, &mut qp.place, class, turn, alarm);
        Some(result)
    }
}
