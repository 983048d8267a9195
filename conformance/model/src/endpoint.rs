//! A port with its queue pairs: frames in, frames and events out.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use rocespec_codec::{Frame, MacAddr, Roce, Transport, decode};

use crate::config::Config;
use crate::congestion::{is_marked, notice};
use crate::context::Context;
use crate::counters::{Counter, Counters};
use crate::defect::Defect;
use crate::egress;
use crate::ingress::{self, Recipients};
use crate::memory::{Memory, Owner};
use crate::multicast::Groups;
use crate::pause::PauseConfig;
use crate::port::{self, Port};
use crate::qp::Qp;
use crate::qps::Qps;
use crate::schedule::{Schedule, Turn};
use crate::shared::Shared;
use crate::srq::Srqs;
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

/// Who has a frame to send.
#[derive(Debug, Clone, Copy)]
enum Sender {
    QueuePair(QpHandle),
    /// The notification point.
    Notice,
}

/// A port with its queue pairs and its memory.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) config: Config,
    pub(crate) neighbours: BTreeMap<Ipv6Addr, MacAddr>,
    pub(crate) memory: Memory,
    pub(crate) qps: Qps,
    pub(crate) groups: Groups,
    pub(crate) pds: Shared,
    pub(crate) xrc_domains: Shared,
    pub(crate) srqs: Srqs,
    pub(crate) events: VecDeque<AsyncEvent>,
    pub(crate) counters: Counters,
    /// The latest time that a caller named.
    pub(crate) now: Time,
    pub(crate) schedule: Schedule,
    port: Port,
    order: u64,
    ip_id: u16,
}

impl Endpoint {
    /// An endpoint without queue pairs.
    pub fn new(config: Config) -> Self {
        Endpoint {
            port: Port::new(&config),
            config,
            neighbours: BTreeMap::new(),
            memory: Memory::default(),
            qps: Qps::default(),
            groups: Groups::default(),
            pds: Shared::new(),
            xrc_domains: Shared::new(),
            srqs: Srqs::default(),
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

    /// Sets the port to another flow control. Whatever was paused may go.
    pub fn set_flow_control(&mut self, pause: PauseConfig) {
        self.config.pause = pause;
        self.port.set_gate(port::gate(&self.config));
    }

    /// Takes a frame, or notes that time has passed. Never fails: what is not for this endpoint is counted and dropped.
    ///
    /// Timers that ran out by `now` act first. Time does not run backwards: an earlier `now` than the latest one stands
    /// for the latest one.
    pub fn handle(&mut self, now: Time, input: Input<'_>) {
        self.pass(now);
        let Input::Frame(frame) = input else { return };
        self.counters.count(Counter::FramesReceived);
        if let Some(control) = ingress::mac_control(frame) {
            let is_obeyed = self.port.control(self.now, &control).is_ok();
            return self.counters.count(if is_obeyed { Counter::PauseObeyed } else { Counter::PauseIgnored });
        }
        // rule: pause.link.receive
        if self.config.defects.has(Defect::StopsReceivingWhenPaused) && self.port.is_paused(self.now) {
            return;
        }
        let mut room = Vec::new();
        match ingress::admit(&self.config, &self.qps, &self.groups, frame, &mut room) {
            Ok((Recipients::One(handle), packet)) => self.receive(handle, &packet),
            Ok((Recipients::Members(members), packet)) => {
                for handle in members {
                    self.receive(handle, &packet);
                }
            }
            Err(reason) => self.refuse(reason, frame),
        }
    }

    fn receive(&mut self, handle: QpHandle, packet: &Roce<'_>) {
        let defects = self.config.defects;
        if is_marked(packet, &defects) {
            self.notify(handle, packet);
            // rule: congestion.notification_point.marked-is-taken
            if defects.has(Defect::DropsMarked) {
                return;
            }
        }
        // rule: congestion.reaction_point.one-qp
        if packet.bth.opcode.transport() == Transport::Cnp && defects.has(Defect::SlowsDownEveryQp) {
            for other in self.qps.handles() {
                self.with_qp(other, |qp, cx| qp.pacer.slow_down(cx));
            }
        }
        self.with_qp(handle, |qp, cx| qp.receive(packet, cx));
    }

    fn refuse(&mut self, reason: Counter, frame: &[u8]) {
        self.counters.count(reason);
        // rule: congestion.notification_point.only-valid
        if reason == Counter::DropIcrc
            && self.config.defects.has(Defect::SendsCnpForBadIcrc)
            && let Ok(Frame::Roce(packet)) = decode(frame)
            && let Some(handle) = self.qps.numbered(packet.bth.dest_qp).map(|qp| qp.handle)
            && is_marked(&packet, &self.config.defects)
        {
            self.notify(handle, &packet);
        }
    }

    /// A packet to a queue pair met congestion: a CNP leaves as a response would, unless one did lately.
    ///
    /// rule: congestion.notification_point.cnp-on-ce
    fn notify(&mut self, handle: QpHandle, packet: &Roce<'_>) {
        self.counters.count(Counter::MarkedReceived);
        let Config { defects, response_delay, .. } = self.config;
        let Some(config) = self.config.congestion.notification else { return };
        let Some(qp) = self.qps.get_mut(handle) else { return };
        let (source, destination) = (packet.net.src_gid(), packet.net.dst_gid());
        let leaves = self.port.notification.marked(self.now, &config, &mut qp.pacer.last_cnp, source, destination);
        if !leaves && !defects.has(Defect::SendsCnpForEveryMark) || defects.has(Defect::NeverSendsCnp) {
            return;
        }
        let cnp = notice(qp, packet, &config.cnp, &self.config.gids, &defects);
        self.order += 1;
        let turn = Turn { due: self.now + response_delay, order: self.order };
        self.port.push_notice(turn, handle, cnp, &self.config);
    }

    /// The next frame whose time has come, or the next event. To be called until it gives none.
    pub fn poll_output(&mut self, now: Time) -> Option<Output> {
        self.pass(now);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Output::Event(event));
            }
            let (_, sender) = self.next_sender().filter(|(turn, _)| turn.due <= self.now)?;
            let (handle, packet) = match sender {
                Sender::QueuePair(handle) => (handle, self.with_qp(handle, Qp::next_packet).flatten()),
                Sender::Notice => {
                    let Some((handle, packet)) = self.port.pop_notice() else { continue };
                    (handle, Some(packet))
                }
            };
            if let (Some(packet), Some(qp)) = (packet, self.qps.get(handle)) {
                self.ip_id = self.ip_id.wrapping_add(1);
                self.counters.count(Counter::FramesSent);
                if matches!(sender, Sender::Notice) {
                    self.counters.count(Counter::CnpSent);
                    // rule: device.link.counters
                    if self.config.defects.has(Defect::CountsCnpsTwice) {
                        self.counters.count(Counter::CnpSent);
                    }
                }
                let frame = egress::frame(&self.config, &self.neighbours, &self.memory, qp, self.ip_id, &packet);
                self.port.begin(self.now, frame.len(), &self.config);
                if qp.pacer.counts(&packet) {
                    self.with_qp(handle, |qp, cx| qp.pacer.sent(cx.now, frame.len()));
                }
                return Some(Output::Frame(frame));
            }
        }
    }

    /// When [`Endpoint::poll_output`] will next have a frame or a timer runs out, or has had reason to since.
    pub fn next_timeout(&self) -> Option<Time> {
        let turn = self.next_sender().map(|(turn, _)| turn.due);
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

    /// Who begins a frame next, and when.
    fn next_sender(&self) -> Option<(Turn, Sender)> {
        let qps = self.schedule.first_turns().map(|(class, turn, qp)| (class, turn, Sender::QueuePair(qp)));
        let notice = self.port.first_notice().map(|(class, turn)| (class, turn, Sender::Notice));
        let senders = qps.chain(notice);
        // rule: pause.link.xoff
        let begins = senders
            .map(|(class, turn, sender)| (Turn { due: self.port.may_begin_at(turn.due, class), ..turn }, sender));
        begins.min_by_key(|(turn, _)| *turn)
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
            srqs: &mut self.srqs,
            owner: Owner { pd: qp.init.pd, qp: handle },
            capabilities: self.config.capabilities,
            pkeys: &self.config.pkeys,
            policy: &self.config.policy,
            defects: self.config.defects,
            congestion: &self.config.congestion,
            link: self.config.speed(),
            now: self.now,
            counters: &mut self.counters,
            events: &mut self.events,
            due: self.now + self.config.response_delay,
            order: &mut self.order,
        };
        let result = act(qp, &mut cx);
        qp.settle(&mut cx);
        let (class, turn, alarm) = (qp.class(self.config.pause.class_by), qp.next_turn(), qp.next_alarm());
        self.schedule.settle(handle, &mut qp.place, self.now, class, turn, alarm);
        Some(result)
    }
}
