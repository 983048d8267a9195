//! Two endpoints of the model with a faulty link between them, in virtual time, and what must hold whatever the link
//! does.
//!
//! After every step:
//! - each message is delivered exactly once and in order, or the requester reports an error and its queue pair is in
//!   error; what an unreliable service delivers it delivers whole;
//! - the memory of both is what the executed requests say, byte for byte;
//! - every posted request completes once, in the order of posting;
//! - a PSN is acknowledged and a message counted only after it was executed;
//! - no packet breaks a universal rule of the [oracle](crate::oracle);
//! - and the run ends.
//!
//! The first of these that does not hold ends the run with a [`Violation`].

mod mirror;
mod record;
mod setup;
mod side;
mod violation;
mod workload;

use std::collections::VecDeque;
use std::time::Duration;

use rocespec_codec::{Frame, decode};
use rocespec_model::{Input, Output, Time, VerbError};

use super::{End, Fates, Link};
use side::{Fault, Side};

pub use record::Recorded;
pub use setup::{PairConfig, Receives};
pub use violation::Violation;
pub use workload::{Endless, Operation, kinds};

/// Packets that a violation shows.
const SHOWN: usize = 24;
/// Requests that wait for their turn at one end, at most.
const WAITING: usize = 64;

/// Two endpoints with a link between them.
#[derive(Debug)]
pub struct Pair {
    now: Time,
    sides: [Side; 2],
    link: Link,
    operations: Operations,
    last_frames: VecDeque<(Time, End, Vec<u8>)>,
    checks: Checks,
    totals: Totals,
    recorded: Option<Recorded>,
    passed: Option<Vec<Passed>>,
}

/// A frame at the port of an end: one that it sends, or one that comes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// When.
    pub time: Time,
    /// At whose port.
    pub at: End,
    /// Who sent it.
    pub from: End,
    /// From the Ethernet header on.
    pub frame: Vec<u8>,
}

/// How often the whole memory is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// After every packet that was executed.
    EveryPacket,
    /// After every so many, and in the end.
    Every(u64),
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets that both ends sent.
    pub packets: u64,
    /// Of them, requests that were sent before.
    pub retransmissions: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Of them, those with success.
    pub succeeded: u64,
    /// Virtual time of the last of these.
    pub last_success: Duration,
    /// Frames that something happened to on their way.
    pub hits: u64,
    /// Messages that were executed.
    pub messages: u64,
    /// Ends that reported an error.
    pub failed: u32,
    /// Virtual time.
    pub time: Duration,
}

struct Operations(Option<Box<dyn Iterator<Item = Operation> + Send>>);

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operations")
    }
}

impl Pair {
    /// Makes and connects both ends.
    ///
    /// # Errors
    /// When an endpoint refuses.
    pub fn new(
        config: &PairConfig,
        fates: impl Fates + 'static,
        operations: impl Iterator<Item = Operation> + Send + 'static,
    ) -> Result<Pair, VerbError> {
        let [mut a, mut b] = [setup::port(End::A, config)?, setup::port(End::B, config)?];
        let peers = [b.as_peer(), a.as_peer()];
        setup::connect(&mut a, End::A, &peers[0], config)?;
        setup::connect(&mut b, End::B, &peers[1], config)?;
        let remote = [b.window, a.window];
        let [mut a, mut b] = [(a, End::A), (b, End::B)]
            .map(|(port, end)| Side::new(end, port, peers[end as usize], remote[end as usize], config));
        a.ready_receives();
        b.ready_receives();
        Ok(Pair {
            now: Time::ZERO,
            sides: [a, b],
            link: Link::new(config.delay, fates).with_speed(config.speed),
            operations: Operations(Some(Box::new(operations))),
            last_frames: VecDeque::new(),
            checks: Checks::EveryPacket,
            totals: Totals::default(),
            recorded: None,
            passed: None,
        })
    }

    /// Compares memory less often.
    #[must_use]
    pub fn with_checks(self, checks: Checks) -> Pair {
        Pair { checks, ..self }
    }

    /// Keeps what comes to an end, to be made into a scenario.
    #[must_use]
    pub fn recording(self, end: End) -> Pair {
        let recorded = Some(Recorded::new(end));
        Pair { recorded, ..self }
    }

    /// Keeps every frame that passes the port of an end.
    #[must_use]
    pub fn capturing(self) -> Pair {
        Pair { passed: Some(Vec::new()), ..self }
    }

    /// The frames that have passed the ports, in the order of their times; none when they were not kept.
    pub fn passed(&self) -> &[Passed] {
        self.passed.as_deref().unwrap_or_default()
    }

    fn passes(&mut self, at: End, from: End, frame: &[u8]) {
        let time = self.now;
        if let Some(passed) = &mut self.passed {
            passed.push(Passed { time, at, from, frame: frame.to_vec() });
        }
    }

    /// What was recorded.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// So far.
    pub fn totals(&self) -> Totals {
        let sides = || self.sides.iter();
        Totals {
            completed: sides().map(|side| side.mirror.completed()).sum(),
            succeeded: sides().map(|side| side.succeeded.0).sum(),
            last_success: sides().map(|side| side.succeeded.1 - Time::ZERO).max().unwrap_or_default(),
            hits: self.link.hits(),
            messages: sides().map(|side| side.mirror.messages()).sum(),
            failed: sides().filter(|side| side.failed.is_some()).count() as u32,
            time: self.now - Time::ZERO,
            ..self.totals
        }
    }

    /// What the endpoint of an end has counted, by name.
    pub fn counters(&self, end: End) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.sides[end as usize].port.endpoint.counters()
    }

    /// Goes on until everything is done. `time` is how long that may take.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn run(&mut self, time: Duration) -> Result<Totals, Box<Violation>> {
        let end = self.now + time;
        while self.step(end)? {}
        self.finish()?;
        Ok(self.totals())
    }

    /// Goes on until so many packets more were sent, or everything is done.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn run_packets(&mut self, packets: u64, time: Duration) -> Result<Totals, Box<Violation>> {
        let (end, packets) = (self.now + time, self.totals.packets + packets);
        while self.totals.packets < packets && self.step(end)? {}
        Ok(self.totals())
    }

    /// Begins no more operations, and goes on until those that were begun are done.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn wind_up(&mut self, time: Duration) -> Result<Totals, Box<Violation>> {
        self.operations.0 = None;
        self.sides.iter_mut().for_each(|side| side.waiting.clear());
        self.run(time)
    }

    /// Does what is to be done now, then moves on to when something happens next. False when all is done.
    fn step(&mut self, until: Time) -> Result<bool, Box<Violation>> {
        for end in End::BOTH {
            let side = &mut self.sides[end as usize];
            side.port.endpoint.handle(self.now, Input::Timeout);
            side.post(self.now, &mut self.recorded)
                .map_err(|error| self.violation(end, Fault::refused(&error), None))?;
            self.pump(end)?;
        }
        self.refill();
        if self.is_done() {
            return Ok(false);
        }
        let timeouts = self.sides.iter().filter_map(Side::next_event);
        let Some(next) = self.link.next_arrival().into_iter().chain(timeouts).min() else {
            return Err(self.violation(
                self.unfinished(),
                "nothing can happen any more, and not everything is done".into(),
                None,
            ));
        };
        if next > until {
            return Err(self.violation(self.unfinished(), "it does not come to an end".into(), None));
        }
        self.now = self.now.max(next);
        while let Some((to, frame)) = self.link.receive(self.now) {
            self.deliver(to, &frame)?;
            self.pump(to)?;
        }
        Ok(true)
    }

    /// Takes operations in until each end has one that waits.
    fn refill(&mut self) {
        while self.sides.iter().any(|side| side.waiting.is_empty())
            && self.sides.iter().all(|side| side.waiting.len() < WAITING)
        {
            let next = self.operations.0.as_mut().and_then(Iterator::next);
            let Some(operation) = next else {
                self.operations.0 = None;
                return;
            };
            self.sides[operation.by as usize].waiting.push_back(operation);
        }
    }

    /// An end that still waits for something.
    fn unfinished(&self) -> End {
        if self.sides[0].mirror.outstanding() > 0 { End::A } else { End::B }
    }

    fn is_done(&self) -> bool {
        let is_idle = |side: &Side| side.waiting.is_empty() && side.mirror.outstanding() == 0;
        self.operations.0.is_none()
            && self.sides.iter().all(is_idle)
            && self.link.in_flight() == 0
            && self.sides.iter().all(|side| side.port.endpoint.next_timeout().is_none())
    }

    /// Takes what an end has to give.
    fn pump(&mut self, end: End) -> Result<(), Box<Violation>> {
        loop {
            let side = &mut self.sides[end as usize];
            match side.port.endpoint.poll_output(self.now) {
                Some(Output::Frame(frame)) => self.send(end, frame)?,
                Some(Output::Event(_)) => {}
                None => break,
            }
        }
        let (side, peer) = both(&mut self.sides, end);
        side.take_completions(self.now, peer).map_err(|fault| self.violation(end, fault, None))
    }

    fn send(&mut self, end: End, frame: Vec<u8>) -> Result<(), Box<Violation>> {
        self.totals.packets += 1;
        self.passes(end, end, &frame);
        if self.last_frames.len() == SHOWN {
            self.last_frames.pop_front();
        }
        self.last_frames.push_back((self.now, end, frame.clone()));
        let (side, peer) = both(&mut self.sides, end);
        match side.judge(self.now, &frame, &peer.mirror) {
            Ok(is_again) => self.totals.retransmissions += u64::from(is_again),
            Err(fault) => return Err(self.violation(end, fault, Some(&frame))),
        }
        self.link.send(self.now, end, frame);
        Ok(())
    }

    fn deliver(&mut self, to: End, frame: &[u8]) -> Result<(), Box<Violation>> {
        self.passes(to, to.other(), frame);
        let compares = match self.checks {
            Checks::EveryPacket => true,
            Checks::Every(count) => self.totals.packets.is_multiple_of(count.max(1)),
        };
        if let Some(recorded) = self.recorded.as_mut().filter(|recorded| recorded.end() == to) {
            recorded.received(frame);
        }
        let (side, peer) = both(&mut self.sides, to);
        side.receive(self.now, frame, &mut peer.mirror)
            .and_then(|executed| if executed && compares { side.compare_memory(&peer.mirror) } else { Ok(()) })
            .map_err(|fault| self.violation(to, fault, Some(frame)))
    }

    /// What must hold in the end.
    fn finish(&mut self) -> Result<(), Box<Violation>> {
        for end in End::BOTH {
            let (side, peer) = both(&mut self.sides, end);
            side.compare_memory(&peer.mirror)
                .and_then(|()| side.is_at_rest(peer))
                .map_err(|fault| self.violation(end, fault, None))?;
        }
        Ok(())
    }

    fn violation(&self, end: End, fault: Fault, frame: Option<&[u8]>) -> Box<Violation> {
        let show = |from: End, frame: &[u8]| self.sides[from as usize].show(frame);
        let before = self
            .last_frames
            .iter()
            .map(|(time, from, frame)| format!("{time} {from} > {}: {}", from.other(), show(*from, frame)));
        // What was received shows as its sender would write it.
        let packet = frame.map(|frame| {
            let sent = self.last_frames.back().is_some_and(|(_, from, last)| *from == end && last == frame);
            show(if sent { end } else { end.other() }, frame)
        });
        Box::new(Violation {
            time: self.now,
            end,
            rule: fault.rule,
            packet,
            sentence: fault.sentence,
            before: before.collect(),
        })
    }
}

/// A RoCE packet, if it is one.
fn roce(frame: &[u8]) -> Option<rocespec_codec::Roce<'_>> {
    match decode(frame) {
        Ok(Frame::Roce(packet)) => Some(packet),
        _ => None,
    }
}

/// An end and its peer.
fn both(sides: &mut [Side; 2], end: End) -> (&mut Side, &mut Side) {
    let [a, b] = sides;
    if end == End::A { (a, b) } else { (b, a) }
}
