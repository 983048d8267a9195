//! A switch: frames of several ports to where their addresses say, through queues that fill.
//!
//! Each port has eight queues, one per class, that are limited in bytes and lose what does not fit; they take turns. A
//! queue marks ECN by its length, and the switch asks senders to pause by how much of theirs lies in it.
//!
//! As for an endpoint, time comes in: [`Switch::handle`], then [`Switch::poll`] until it gives none, and again at
//! [`Switch::next_timeout`].

mod classify;
mod config;
mod ingress;
mod port;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use oorandom::Rand32;
use rocespec_codec::{Control, Frame, MAC_CONTROL_DESTINATION, MacAddr, MacControl, Pause, Pfc, decode};
use rocespec_model::Time;

use super::damage::mark_ce;
use classify::class_of;
use ingress::Ingress;
use port::{Leaving, Port, Queued};

pub use config::{EcnMarking, PfcThresholds, SwitchConfig};
pub use port::PortCounters;

/// Number of classes.
const CLASSES: usize = 8;

/// Frames on a cable, by when they are there; the port with each.
type Cable = BTreeMap<(Time, u64), (usize, Vec<u8>)>;

/// A switch.
#[derive(Debug)]
pub struct Switch {
    config: SwitchConfig,
    random: Rand32,
    ports: Vec<Port>,
    ingress: Vec<Ingress>,
    addresses: BTreeMap<MacAddr, usize>,
    coming: Cable,
    going: Cable,
    order: u64,
    unknown: u64,
}

/// What happens next inside, first the port that it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Start(usize),
    Refresh(usize),
}

impl Switch {
    /// A switch without ports.
    pub fn new(config: SwitchConfig) -> Switch {
        Switch {
            random: Rand32::new(config.seed),
            config,
            ports: Vec::new(),
            ingress: Vec::new(),
            addresses: BTreeMap::new(),
            coming: Cable::new(),
            going: Cable::new(),
            order: 0,
            unknown: 0,
        }
    }

    /// Plugs a device in and gives the number of its port, from 0.
    pub fn plug(&mut self, mac: MacAddr) -> usize {
        let port = self.ports.len();
        self.ports.push(Port::default());
        self.ingress.push(Ingress::default());
        self.addresses.insert(mac, port);
        port
    }

    /// A device has sent the last bit of a frame.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn handle(&mut self, now: Time, port: usize, frame: Vec<u8>) {
        assert!(port < self.ports.len(), "no port {port}");
        let key = self.key(now + self.config.propagation);
        self.coming.insert(key, (port, frame));
    }

    /// A frame that has arrived at the device of a port by now. To be called until there is none.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Vec<u8>)> {
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            match event {
                Event::Arrival => {
                    if let Some((_, (port, frame))) = self.coming.pop_first() {
                        self.arrived(at, port, frame);
                    }
                }
                Event::Start(port) => self.start(at, port),
                Event::Refresh(port) => {
                    if let Some(pfc) = self.ingress[port].refresh(at, &self.config) {
                        self.tell(at, port, pfc);
                    }
                }
            }
        }
        let first = self.going.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// When something happens next.
    pub fn next_timeout(&self) -> Option<Time> {
        let going = self.going.first_key_value().map(|((at, _), _)| *at);
        going.into_iter().chain(self.next_event().map(|(at, _)| at)).min()
    }

    /// What a port counted.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn counters(&self, port: usize) -> PortCounters {
        self.ports[port].counters
    }

    /// Frames that went nowhere, since no device has their address.
    pub fn unknown_destinations(&self) -> u64 {
        self.unknown
    }

    fn next_event(&self) -> Option<(Time, Event)> {
        let arrival = self.coming.first_key_value().map(|((at, _), _)| (*at, Event::Arrival));
        let starts = self.ports.iter().enumerate();
        let starts = starts.filter_map(|(port, state)| Some((state.next_start()?, Event::Start(port))));
        let refreshes = self.ingress.iter().enumerate();
        let refreshes = refreshes.filter_map(|(port, state)| Some((state.next_refresh()?, Event::Refresh(port))));
        arrival.into_iter().chain(starts).chain(refreshes).min()
    }

    fn key(&mut self, at: Time) -> (Time, u64) {
        self.order += 1;
        (at, self.order)
    }

    /// A frame has come in whole.
    fn arrived(&mut self, now: Time, from: usize, frame: Vec<u8>) {
        let destination = frame.first_chunk::<6>().map(|octets| MacAddr(*octets));
        match destination {
            // Never forwarded.
            Some(MAC_CONTROL_DESTINATION) => self.heed(now, from, &frame),
            Some(MacAddr(octets)) if octets[0] & 1 == 1 => {
                for to in (0..self.ports.len()).filter(|to| *to != from) {
                    self.enqueue(now, from, to, frame.clone());
                }
            }
            Some(mac) if self.addresses.contains_key(&mac) => {
                let to = self.addresses[&mac];
                self.enqueue(now, from, to, frame);
            }
            _ => self.unknown += 1,
        }
    }

    fn enqueue(&mut self, now: Time, from: usize, to: usize, mut frame: Vec<u8>) {
        let class = class_of(&frame, self.config.class_by);
        let port = &mut self.ports[to];
        let queue = port.queued(class) + frame.len();
        if queue > self.config.queue {
            port.counters.drops += 1;
            return;
        }
        if let Some(ecn) = &self.config.ecn
            && ecn.chance(queue).happens(&mut self.random)
            && mark_ce(&mut frame)
        {
            port.counters.marks += 1;
        }
        let len = frame.len();
        port.push(now, class, Queued { frame, from });
        if let Some(pfc) = self.ingress[from].add(class, len, now, &self.config) {
            self.ports[from].counters.pauses += 1;
            self.tell(now, from, pfc);
        }
    }

    /// The next frame of a port begins to leave.
    fn start(&mut self, now: Time, to: usize) {
        let Some(leaving) = self.ports[to].start(now) else { return };
        let frame = match leaving {
            Leaving::Control(frame) => frame,
            Leaving::Frame(Queued { frame, from }, class) => {
                if let Some(pfc) = self.ingress[from].remove(class, frame.len(), &self.config) {
                    self.tell(now, from, pfc);
                }
                frame
            }
        };
        let end = now + self.config.serialisation(frame.len());
        self.ports[to].busy_until(end);
        let key = self.key(end + self.config.propagation);
        self.going.insert(key, (to, frame));
    }

    /// Sends a pause frame to a device.
    fn tell(&mut self, now: Time, port: usize, pfc: Pfc) {
        let frame = Frame::MacControl(MacControl::new(self.config.mac, Control::Pfc(pfc)));
        let mut bytes = vec![0; frame.encoded_len()];
        if frame.encode(&mut bytes).is_ok() {
            self.ports[port].push_control(now, bytes);
        }
    }

    /// A device asks the switch to pause.
    fn heed(&mut self, now: Time, port: usize, frame: &[u8]) {
        let Ok(Frame::MacControl(MacControl { control, .. })) = decode(frame) else { return };
        for class in 0..CLASSES {
            let quanta = match (control, self.config.pfc.is_some()) {
                (Control::Pfc(pfc), true) => pfc.timer(class as u8),
                (Control::Pause(pause), false) => Some(pause.quanta),
                _ => None,
            };
            if let Some(quanta) = quanta {
                self.ports[port].pause(class, now + Pause::duration(quanta, self.config.speed));
            }
        }
    }
}
