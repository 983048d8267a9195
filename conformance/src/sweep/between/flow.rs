//! Messages without end from one device to the other.

use std::fmt::Write as _;
use std::time::Duration;

use rocespec_codec::{Frame, Info, Transport, decode};
use rocespec_control::{Command, Opcode, Reply, SendFlag, SendRequest};
use rocespec_model::Time;
use rocespec_reports::outcome::Level;
use rocespec_reports::sweep::Counts;

use super::connect::{Made, connect, make, oracle, unexpected};
use super::{Measured, Settings, Wrong, wrong};
use crate::dut::{Dut, DutError, Two};
use crate::link::{End, Faults, Link, RandomFaults};
use crate::oracle::{Oracle, is_sequence_nak};
use crate::sweep::goodput;

/// How long the devices are left alone before the sender's software is asked again what is done: each question holds up
/// the wire.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// What a frame takes over the link where no time passes by itself.
const DELAY: Duration = Duration::from_micros(1);
/// Most completions that are asked for at once.
const BATCH: u32 = 1024;

/// Two devices, the link between them, and what was seen.
pub(super) struct Flow<'d> {
    two: Two<'d>,
    made: [Made; 2],
    link: Link,
    oracles: [Oracle; 2],
    settings: Settings,
    pattern: String,
    counts: Counts,
    posted: u64,
    /// Why the sender sends no more.
    ended: Option<String>,
    /// The first rule that was broken.
    broken: Option<Wrong>,
}

impl<'d> Flow<'d> {
    /// Connects the two, and posts the first messages. The bytes of a run follow from its seed.
    pub(super) fn open(
        a: &'d mut dyn Dut,
        b: &'d mut dyn Dut,
        settings: &Settings,
        faults: Faults,
        seed: u64,
    ) -> Result<Flow<'d>, DutError> {
        let made = [make(a, settings)?, make(b, settings)?];
        connect(a, &made[0], &made[1], settings)?;
        connect(b, &made[1], &made[0], settings)?;
        let skew = a.profile().timing.slack.max(b.profile().timing.slack);
        let oracles = [oracle(a, &made[0], &made[1], settings, skew), oracle(b, &made[1], &made[0], settings, skew)];
        let pattern = pattern(settings.message, seed);
        let write = Command::WriteMemory { mr: made[0].memory.mr, offset: 0, data: pattern.clone() };
        a.control(&write)?;
        let delay = if a.is_virtual() && b.is_virtual() { DELAY } else { Duration::ZERO };
        let mut two = Two::new(a, b);
        // Late words of the run before are nobody's traffic now.
        two.advance(two.now(), &mut |_, _| ()).map_err(|failed| failed.error)?;
        Ok(Flow {
            two,
            made,
            link: Link::new(delay, RandomFaults::new(faults, seed)),
            oracles,
            settings: settings.clone(),
            pattern,
            counts: Counts { naks: Some(0), cnps: Some(0), ..Counts::default() },
            posted: 0,
            ended: None,
            broken: None,
        })
    }

    /// Keeps messages going for so long, and gives what came of it.
    pub(super) fn run(&mut self, length: Duration) -> Result<Result<Measured, Wrong>, DutError> {
        let begun = self.two.now();
        let end = begun + length;
        let (mut now, mut last) = (begun, begun);
        while now < end && self.ended.is_none() {
            if self.take_completions()? {
                last = self.two.now();
            }
            self.post()?;
            let until = (self.two.now() + ASK_AGAIN).min(end);
            while now < until {
                now = self.exchange(until)?;
            }
        }
        if self.take_completions()? {
            last = self.two.now();
        }
        self.counts.hits = self.link.hits();
        if let Some(broken) = self.broken.take().filter(|_| self.is_whole()) {
            return Ok(Err(broken));
        }
        if let Some(wrong) = self.compare_memory()? {
            return Ok(Err(wrong));
        }
        // Between questions more may have been done: up to the last answer it is known.
        let time = if self.ended.is_some() || last == begun { self.two.now() - begun } else { last - begun };
        Ok(Ok(Measured {
            goodput_bps: goodput(self.counts.messages * u64::from(self.settings.message), time),
            time,
            ended: self.ended.clone(),
            counts: self.counts,
            incast: None,
        }))
    }

    /// Clears both up.
    pub(super) fn close(mut self) -> Result<(), DutError> {
        End::BOTH.into_iter().try_for_each(|end| self.two.at(end).control(&Command::Reset {}).map(|_| ()))
    }

    /// Has the sender post as many messages as may be outstanding.
    fn post(&mut self) -> Result<(), DutError> {
        while self.ended.is_none() && self.posted - self.counts.messages < u64::from(self.settings.outstanding) {
            let (from, to) = (&self.made[0], &self.made[1]);
            let request = SendRequest {
                wr_id: self.posted,
                opcode: Opcode::RdmaWrite,
                flags: vec![SendFlag::Signaled],
                mr: from.memory.mr,
                offset: 0,
                length: self.settings.message,
                remote_va: to.memory.va,
                rkey: to.memory.rkey,
                immediate: 0,
                compare_add: 0,
                swap: 0,
                remote_gid: None,
                remote_qpn: 0,
                remote_qkey: 0,
                remote_srqn: 0,
            };
            self.two.at(End::A).control(&Command::PostSend { qp: from.qp, request })?;
            self.posted += 1;
        }
        Ok(())
    }

    /// Asks the sender's software what is done. Gives whether anything is.
    fn take_completions(&mut self) -> Result<bool, DutError> {
        let poll = Command::Poll { qp: self.made[0].qp, max: BATCH };
        let Reply::Completions(completions) = self.two.at(End::A).control(&poll)? else {
            return Err(unexpected("poll"));
        };
        let before = self.counts.messages;
        for completion in completions {
            match completion.status.as_str() {
                "success" => self.counts.messages += 1,
                status => {
                    self.ended.get_or_insert_with(|| format!("a WRITE of the sender failed: {status}"));
                }
            }
        }
        Ok(self.counts.messages > before)
    }

    /// Moves what is on its way, then lets time pass until something happens, at most until `until`. Gives the time reached.
    fn exchange(&mut self, until: Time) -> Result<Time, DutError> {
        let next = self.link.next_arrival().map_or(until, |next| next.min(until));
        let mut sent = Vec::new();
        let reached =
            self.two.advance(next, &mut |end, stamped| sent.push((end, stamped.time, stamped.frame.to_vec())));
        for (end, time, frame) in sent {
            self.sent(end, time, &frame);
            self.link.send(time, end, frame);
        }
        let reached = reached.map_err(|failed| failed.error)?;
        while let Some((to, frame)) = self.link.receive(reached) {
            if let Ok(Frame::Roce(packet)) = decode(&frame) {
                let now = self.two.at(to).now();
                self.oracles[to as usize].received(now, &packet);
            }
            self.two.transmit(to, &frame).map_err(|failed| failed.error)?;
        }
        Ok(reached)
    }

    /// Counts and judges a frame that an end has sent.
    fn sent(&mut self, end: End, time: Time, frame: &[u8]) {
        let Ok(Frame::Roce(packet)) = decode(frame) else { return };
        // Late words of the run before.
        if packet.bth.dest_qp != self.made[end.other() as usize].qpn {
            return;
        }
        let oracle = &mut self.oracles[end as usize];
        let is_request = packet.bth.opcode.info().is_some_and(Info::is_request);
        let is_again = is_request && oracle.next_psn().is_some_and(|next| packet.bth.psn.since(next) < 0);
        self.counts.packets += 1;
        self.counts.retransmitted += u64::from(is_again);
        let count = |counter: &mut Option<u64>, is_one| *counter = counter.map(|count| count + u64::from(is_one));
        count(&mut self.counts.naks, is_sequence_nak(&packet));
        count(&mut self.counts.cnps, packet.bth.opcode.transport() == Transport::Cnp);
        let breach = oracle.sent(time, &packet).into_iter().find(|breach| breach.level == Level::Must);
        if let (Some(breach), None) = (breach, &self.broken) {
            self.broken = Some(wrong(end, Some(breach.rule), breach.to_string()));
        }
    }

    /// Nothing that the devices sent is missing from what was seen; otherwise nobody can be blamed.
    fn is_whole(&mut self) -> bool {
        End::BOTH.into_iter().all(|end| matches!(self.two.at(end).lost_frames(), Ok(0)))
    }

    /// Every message has the same bytes: what is there is whole as soon as one is done.
    fn compare_memory(&mut self) -> Result<Option<Wrong>, DutError> {
        if self.counts.messages == 0 {
            return Ok(None);
        }
        let read = Command::ReadMemory { mr: self.made[1].memory.mr, offset: 0, length: self.settings.message.into() };
        let Reply::Data(there) = self.two.at(End::B).control(&read)? else { return Err(unexpected("read_memory")) };
        Ok((there != self.pattern).then(|| wrong(End::B, None, "what was written arrived changed".to_owned())))
    }
}

/// Bytes that follow from a seed, in hex.
fn pattern(length: u32, seed: u64) -> String {
    let mut random = oorandom::Rand32::new(seed);
    let mut hex = String::with_capacity(length as usize * 2);
    (0..length).for_each(|_| {
        let _ = write!(hex, "{:02x}", random.rand_u32() >> 24);
    });
    hex
}
