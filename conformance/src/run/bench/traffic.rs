//! Real traffic: the tester's end is the reference model, and a link with faults lies in between.
//!
//! The trace is that of the device's port: what the device sent, and what arrived there. What became of a packet on its
//! way stands beside it.

use std::time::Duration;

use rocespec_codec::{Frame, RnrTimer, decode, mad};
use rocespec_control::{Command, QpState, Reply};
use rocespec_model::Time;

use super::software::ASK_AGAIN;
use super::{Bench, Connection, Pace, Stop};
use crate::dut::{Dut, DutError, Emulator};
use crate::link::{End, Fate, Fates, Faults, Link, RandomFaults, Rule, Script};
use crate::profile::Profile;
use crate::run::connection::{TesterEnd, unexpected};
use crate::scenario::{Action, DEVICE, LinkStep, PEER, RandomFault, Setup, Step, Verb};

/// Most packets of one case.
const MOST_FRAMES: u32 = 50_000;
/// Longest time that a check waits for what is on its way.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// What the peer counts and nobody needs to know of.
const DULL: [&str; 3] = ["frames_received", "frames_sent", "requests_executed"];

/// The peer and the way to it.
pub(in crate::run) struct Traffic {
    peer: Emulator,
    /// The connection as the peer's software has it.
    connection: Connection,
    link: Link,
    chosen: Script,
    /// The lines of the steps in `chosen`.
    lines: Vec<u32>,
    random: RandomFaults,
    frames: u32,
    /// When the last frame was sent.
    last: Time,
    /// Longest silence of ends that have something to do.
    silence: Duration,
}

impl Traffic {
    /// Makes the peer of a device and connects it.
    pub(in crate::run) fn open(dut: &dyn Dut, setup: &Setup, connection: &Connection) -> Result<Traffic, DutError> {
        let device = connection.device();
        let mut peer = Emulator::peer(dut.tester(), device, connection.tester_qpn, dut.profile().clone());
        let there = TesterEnd { qpn: connection.device_qpn(), sport: 0 };
        let seed = u64::from(connection.tester_qpn.get());
        Ok(Traffic {
            connection: Connection::open(&mut peer, setup, there)?,
            peer,
            link: Link::new(Duration::ZERO, ()),
            chosen: Script::default(),
            lines: Vec::new(),
            random: RandomFaults::new(Faults::default(), seed),
            frames: 0,
            last: dut.now(),
            silence: silence(setup, dut.profile()),
        })
    }

    /// What becomes of a frame.
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate {
        let (chosen, random) = (self.chosen.fate(from, frame), self.random.fate(from, frame));
        if chosen == Fate::default() { random } else { chosen }
    }

    /// The peer's frames up to now.
    fn peer_sends(&mut self, now: Time) -> Result<Vec<Vec<u8>>, DutError> {
        let mut frames = Vec::new();
        loop {
            let before = frames.len();
            let reached = self.peer.advance(now, &mut |stamped| frames.push(stamped.frame.to_vec()))?;
            if frames.len() == before && reached >= now {
                return Ok(frames);
            }
        }
    }

    /// When something happens next that the device has no part in.
    fn next_event(&self) -> Option<Time> {
        self.link.next_arrival().into_iter().chain(self.peer.next_timeout()).min()
    }

    /// What the peer has to say of the exchange, for a finding.
    pub(super) fn tell(&self) -> String {
        let counted = self.peer.counters().filter(|(name, count)| *count > 0 && !DULL.contains(name));
        let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
        let counted = if counted.is_empty() { "nothing out of the ordinary".to_owned() } else { counted.join(", ") };
        format!("The model at the other end counted: {counted}.")
    }
}

/// Longest silence of ends that have something to do: an ACK timeout may be four times what was asked for, or what the
/// device takes for itself, and an RNR NAK asks for a pause.
fn silence(setup: &Setup, profile: &Profile) -> Duration {
    let least = if profile.can("ack-timeout") { Duration::ZERO } else { profile.timing.response };
    let timeout = match setup.timeout {
        0 => Duration::ZERO,
        code => mad::timeout(code),
    };
    least.max(timeout * 4) + RnrTimer::new(setup.min_rnr_timer).duration()
}

impl<'d> Bench<'d> {
    /// This bench with a peer.
    pub(in crate::run) fn with(self, traffic: Option<Traffic>) -> Bench<'d> {
        Bench { traffic: traffic.map(Box::new), ..self }
    }

    /// The software whose turn it is, and the connection as it has it.
    pub(super) fn speaker(&mut self) -> (&mut dyn Dut, &mut Connection) {
        match &mut self.traffic {
            Some(traffic) if self.speaker == PEER => (&mut traffic.peer, &mut traffic.connection),
            _ => (self.dut, &mut self.connection),
        }
    }

    /// The connection as the other end has it, where the other end is no script.
    pub(super) fn listener(&mut self) -> Option<&mut Connection> {
        let traffic = self.traffic.as_mut()?;
        Some(if self.speaker == PEER { &mut self.connection } else { &mut traffic.connection })
    }

    /// The connection of the software whose turn it is.
    pub(super) fn here(&mut self) -> &mut Connection {
        self.speaker().1
    }

    /// The queue pair of the software whose turn it is.
    pub(super) fn qp(&self) -> u32 {
        match &self.traffic {
            Some(traffic) if self.speaker == PEER => traffic.connection.qp,
            _ => self.connection.qp,
        }
    }

    /// Has the software do something whose turn it is.
    pub(super) fn order(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.speaker().0.control(command)
    }

    /// True when what is asked for since then should be there: the device has had its time, and nothing has moved between
    /// the ends for so long that nothing will.
    ///
    /// # Errors
    /// When something is still on its way after the longest wait: then the link is the reason, not the device.
    pub(super) fn is_late(&self, since: Time) -> Result<bool, Stop> {
        let (now, response) = (self.dut.now(), self.dut.profile().timing.response);
        match &self.traffic {
            None => Ok(now >= since + response),
            Some(traffic) if traffic.link.next_arrival().is_some() => match now >= since + LONGEST_WAIT {
                true => Err(self.cannot("packets were still on their way over the link after the longest wait")),
                false => Ok(false),
            },
            Some(traffic) => {
                Ok(now >= traffic.last.max(since) + response + traffic.silence || now >= since + LONGEST_WAIT)
            }
        }
    }

    /// How long to wait before the software is asked again that has been asked since then.
    pub(super) fn pause(&self, since: Time) -> Duration {
        match &self.traffic {
            None => ASK_AGAIN,
            Some(_) => ASK_AGAIN.max((self.dut.now() - since) / 8),
        }
    }

    /// A `link` step.
    pub(super) fn link(&mut self, event: &LinkStep, step: &Step) -> Result<(), Stop> {
        self.pump(self.dut.now())?;
        self.recorder.event(self.dut.now(), step.text.clone(), Some(step.line));
        let origin = self.connection.origin();
        let Some(traffic) = &mut self.traffic else { return Ok(()) };
        match event {
            LinkStep::Chosen(rule) => {
                let mut selector = rule.selector.clone();
                selector.psns = selector.psns.map(|(first, count)| (first.plus(origin.get()), count));
                traffic.chosen.add(Rule { selector, ..rule.clone() });
                traffic.lines.push(step.line);
            }
            LinkStep::Random { fault, from, rate, depth } => {
                for end in End::BOTH.into_iter().filter(|end| from.is_none_or(|from| from == *end)) {
                    let faults = traffic.random.faults(end);
                    match fault {
                        RandomFault::Loss => faults.loss = *rate,
                        RandomFault::Duplication => faults.duplication = *rate,
                        RandomFault::Reordering => (faults.reordering, faults.depth) = (*rate, *depth),
                        RandomFault::Corruption => faults.corruption = *rate,
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves what is to be moved now, then lets time pass until something happens, at most until `until`.
    pub(super) fn exchange(&mut self, until: Time) -> Result<(), Stop> {
        let now = self.dut.now();
        // What the device has sent by now it has sent before anything new comes to it.
        self.device_sends(now)?;
        let Some(traffic) = &mut self.traffic else { return Ok(()) };
        for frame in traffic.peer_sends(now)? {
            self.send_over(now, PEER, frame)?;
        }
        self.arrivals(now)?;
        // What arrived may have had an answer at once; what the device takes may have taken its time.
        let now = self.dut.now();
        let next = self.traffic.as_ref().and_then(|traffic| traffic.next_event());
        self.device_sends(next.map_or(until, |next| next.max(now).min(until)))
    }

    /// Lets time pass until the device has sent something, at most until `until`.
    fn device_sends(&mut self, until: Time) -> Result<(), Stop> {
        let mut sent = Vec::new();
        let result = self.dut.advance(until, &mut |stamped| sent.push((stamped.time, stamped.frame.to_vec())));
        for (time, bytes) in sent {
            self.take(time, bytes.clone());
            self.inbox.clear();
            self.send_over(time, DEVICE, bytes)?;
        }
        Ok(result.map(|_| ())?)
    }

    /// Puts a frame on the link.
    fn send_over(&mut self, time: Time, from: End, frame: Vec<u8>) -> Result<(), Stop> {
        let Some(traffic) = &mut self.traffic else { return Ok(()) };
        traffic.frames += 1;
        traffic.last = time;
        if traffic.frames > MOST_FRAMES {
            let expected = "traffic that comes to an end".to_owned();
            return Err(self.found(None, None, expected, format!("more than {MOST_FRAMES} packets"), ""));
        }
        let fate = traffic.fate(from, &frame);
        if fate != Fate::default() {
            let to = if from == PEER { "to the device" } else { "to the peer" };
            let shown = if from == PEER { self.show_to_device(&frame) } else { "the packet above".to_owned() };
            self.recorder.event(time, format!("link, {to}: {shown} {fate}"), None);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.link.send_to(time, from, frame, fate);
        }
        Ok(())
    }

    /// Gives either end what has arrived there.
    fn arrivals(&mut self, now: Time) -> Result<(), Stop> {
        loop {
            let Some(traffic) = &mut self.traffic else { return Ok(()) };
            match traffic.link.receive(now) {
                None => return Ok(()),
                Some((PEER, frame)) => {
                    traffic.last = now;
                    traffic.peer.transmit(&frame)?;
                }
                Some((_, frame)) => {
                    traffic.last = now;
                    let shown = self.show_to_device(&frame);
                    self.deliver(&frame, shown, None)?;
                    if self.pace == Pace::PacketByPacket {
                        self.is_alive()?;
                    }
                }
            }
        }
    }

    /// A packet of the peer in the notation.
    fn show_to_device(&self, frame: &[u8]) -> String {
        match decode(frame) {
            Ok(Frame::Roce(packet)) => {
                let symbols = self.connection.symbols();
                let scope = self.connection.scope_to_device_of(&symbols, &packet);
                rocespec_codec::notation::print(&packet, &scope).elided().to_string()
            }
            Ok(_) => format!("not RoCE, {} bytes", frame.len()),
            Err(error) => format!("cannot be decoded: {error}"),
        }
    }

    /// What must hold when the script is at its end: the peer lives, and each fault has met a packet.
    pub(super) fn conclude(&mut self) -> Result<(), Stop> {
        let Some(traffic) = &mut self.traffic else { return Ok(()) };
        let unused = traffic.chosen.unused().and_then(|number| traffic.lines.get(number).copied());
        let state = match traffic.peer.control(&Command::QueryQp { qp: traffic.connection.qp })? {
            Reply::QpAttributes(attributes) => attributes.state,
            other => return Err(unexpected("query_qp", &other).into()),
        };
        let wants_error = |step: &Step| matches!(step.action, Action::Peer(Verb::CheckState(QpState::Error)));
        if state == Some(QpState::Error) && !self.scenario.steps.iter().any(wants_error) {
            let expected = "a peer that has no reason to end the connection".to_owned();
            return Err(self.found(None, None, expected, "its queue pair in ERROR".to_owned(), ""));
        }
        match unused {
            Some(line) => {
                Err(self.cannot(&format!("line {line}: no packet met this fault, so nothing was tested by it")))
            }
            None => Ok(()),
        }
    }
}
