//! Real traffic: the tester's end is a whole device, and a link with faults lies in between.
//!
//! Where the peer is the reference model the trace is that of the device's port: what the device sent, and what arrived
//! there. Where it is a second device under test, the trace is that of the link: what either sent. What became of a packet
//! on its way stands beside it.

use std::time::Duration;

use rocespec_codec::{Frame, RnrTimer, decode, mad};
use rocespec_control::{Command, Reply};
use rocespec_model::Time;

use super::judged::Judged;
use super::software::ASK_AGAIN;
use super::{Bench, Connection, Pace, Stop};
use crate::dut::{Dut, DutError, Stamped, Two};
use crate::link::{End, Fate, Fates, Faults, Link, RandomFaults, Rule, Script};
use crate::profile::Profile;
use crate::scenario::{DEVICE, LinkStep, PEER, RandomFault, Setup, Step};

/// Most packets of one case.
const MOST_FRAMES: u32 = 50_000;
/// Longest time that a check waits for what is on its way, where the ends need no longer for it.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The same where they need longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// A packet is sent so often at most, each time after the longest silence.
const TRANSMISSIONS: u32 = 8;
/// What the peer counts and nobody needs to know of.
const DULL: [&str; 3] = ["frames_received", "frames_sent", "requests_executed"];

/// The peer and the way to it.
pub(in crate::run) struct Traffic<'d> {
    pub(super) peer: &'d mut dyn Dut,
    /// The connection as the peer's software has it.
    pub(super) connection: Connection,
    pub(super) link: Link,
    chosen: Script,
    /// The lines of the steps in `chosen`.
    lines: Vec<u32>,
    random: RandomFaults,
    frames: u32,
    /// When the last frame was sent.
    last: Time,
    /// Longest silence of ends that have something to do.
    silence: Duration,
    /// What judges the peer, where it is under test as well.
    pub(super) judged: Option<Judged>,
}

impl<'d> Traffic<'d> {
    /// A peer that is connected with the device. What happens at random follows from the seed.
    pub(in crate::run) fn new(
        dut: &dyn Dut,
        peer: &'d mut dyn Dut,
        setup: &Setup,
        connection: Connection,
        seed: u64,
    ) -> Traffic<'d> {
        let profiles = [dut.profile(), peer.profile()];
        let silence = profiles.map(|profile| silence(setup, profile));
        Traffic {
            connection,
            link: Link::new(Duration::ZERO, ()),
            chosen: Script::default(),
            lines: Vec::new(),
            random: RandomFaults::new(Faults::default(), seed),
            frames: 0,
            last: dut.now(),
            silence: silence[0].max(silence[1]),
            judged: None,
            peer,
        }
    }

    /// What becomes of a frame.
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate {
        let (chosen, random) = (self.chosen.fate(from, frame), self.random.fate(from, frame));
        if chosen == Fate::default() { random } else { chosen }
    }

    /// What the model has to say of the exchange, for a finding. The counters of a device under test are of all that it did.
    pub(super) fn tell(&mut self) -> Option<String> {
        if self.judged.is_some() {
            return None;
        }
        let Ok(Reply::Counters(counters)) = self.peer.control(&Command::Counters {}) else { return None };
        let counted = counters.iter().filter(|(name, count)| **count > 0 && !DULL.contains(&name.as_str()));
        let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
        let counted = if counted.is_empty() { "nothing out of the ordinary".to_owned() } else { counted.join(", ") };
        Some(format!("The model at the other end counted: {counted}."))
    }

    /// How long ends that do what is right may be at it.
    fn longest_wait(&self) -> Duration {
        (self.silence * TRANSMISSIONS).clamp(LONGEST_WAIT, PATIENCE)
    }

    /// The connection as the peer has it.
    pub(in crate::run) fn into_connection(self) -> Connection {
        self.connection
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
    pub(in crate::run) fn with(self, traffic: Option<Traffic<'d>>) -> Bench<'d> {
        Bench { traffic: traffic.map(Box::new), ..self }
    }

    /// The software whose turn it is, and the connection as it has it.
    pub(super) fn speaker(&mut self) -> (&mut dyn Dut, &mut Connection) {
        match &mut self.traffic {
            Some(traffic) if self.speaker == PEER => (&mut *traffic.peer, &mut traffic.connection),
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

    /// How long software may take to see what has happened.
    fn response(&self) -> Duration {
        let peer = self.traffic.as_ref().map(|traffic| traffic.peer.profile().timing.response);
        self.dut.profile().timing.response.max(peer.unwrap_or_default())
    }

    /// True when what is asked for since then should be there: the device has had its time, and nothing has moved between
    /// the ends for so long that nothing will.
    ///
    /// # Errors
    /// When something is still on its way after the longest wait: then the link is the reason, not the device.
    pub(super) fn is_late(&self, since: Time) -> Result<bool, Stop> {
        let (now, response) = (self.dut.now(), self.response());
        match &self.traffic {
            None => Ok(now >= since + response),
            Some(traffic) if traffic.link.next_arrival().is_some() => match now >= since + traffic.longest_wait() {
                true => Err(self.cannot("packets were still on their way over the link after the longest wait")),
                false => Ok(false),
            },
            Some(traffic) => {
                let longest = response + traffic.longest_wait();
                Ok(now >= traffic.last.max(since) + response + traffic.silence || now >= since + longest)
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
        // What was sent by now was sent before anything new comes.
        let now = self.both_send(self.dut.now())?;
        self.arrivals(now)?;
        // What arrived may have had an answer at once; what the device takes may have taken its time.
        let now = self.dut.now();
        let next = self.traffic.as_ref().and_then(|traffic| traffic.link.next_arrival());
        self.both_send(next.map_or(until, |next| next.max(now).min(until)))?;
        Ok(())
    }

    /// Lets time pass until either has sent something, at most until `until`. Gives the time reached.
    fn both_send(&mut self, until: Time) -> Result<Time, Stop> {
        let Some(traffic) = &mut self.traffic else { return Ok(until) };
        let mut sent = Vec::new();
        let mut take = |end, Stamped { time, frame }: Stamped<'_>| sent.push((end, time, frame.to_vec()));
        let result = Two::new(self.dut, traffic.peer).advance(until, &mut take);
        let is_judged = traffic.judged.is_some();
        for (end, mut time, bytes) in sent {
            if let (PEER, false, Ok(reached)) = (end, is_judged, &result) {
                // The model has no time of its own: it sends when the device has come so far.
                time = *reached;
            }
            match end {
                DEVICE => {
                    self.take(time, bytes.clone());
                    self.inbox.clear();
                }
                PEER => self.judge_peer(time, &bytes),
            }
            self.send_over(time, end, bytes)?;
        }
        Ok(result.map_err(|failed| failed.error)?)
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
        let traffic_is_judged = traffic.judged.is_some();
        if fate != Fate::default() {
            let to = self.name_of(from.other()).unwrap_or_else(|| match from {
                PEER => "the device".to_owned(),
                DEVICE => "the peer".to_owned(),
            });
            let is_shown = from == DEVICE || traffic_is_judged;
            let shown = if is_shown { "the packet above".to_owned() } else { self.show_to_device(&frame) };
            self.recorder.event(time, format!("link, to {to}: {shown} {fate}"), None);
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
                    traffic.tell_judge(&frame);
                    traffic.peer.transmit(&frame)?;
                }
                Some((_, frame)) if traffic.judged.is_some() => {
                    traffic.last = now;
                    self.tell_oracle(&frame);
                    self.dut.transmit(&frame)?;
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
    pub(super) fn show_to_device(&self, frame: &[u8]) -> String {
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
        let Some(traffic) = &self.traffic else { return Ok(()) };
        let unused = traffic.chosen.unused().and_then(|number| traffic.lines.get(number).copied());
        let is_judged = traffic.judged.is_some();
        self.speaker = PEER;
        let peer = self.ends_in_error("a peer that has no reason to end the connection");
        self.speaker = DEVICE;
        peer?;
        if is_judged {
            self.ends_in_error("a device that has no reason to end the connection")?;
        }
        match unused {
            Some(line) => {
                Err(self.cannot(&format!("line {line}: no packet met this fault, so nothing was tested by it")))
            }
            None => Ok(()),
        }
    }
}
