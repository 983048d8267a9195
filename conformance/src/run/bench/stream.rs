//! Streams: how fast packets come, when none may come, and CNPs.

use std::collections::VecDeque;
use std::time::Duration;

use rocespec_codec::Position;
use rocespec_codec::notation::{Pattern, parse_pattern};
use rocespec_model::Time;
use rocespec_model::pause::{LinkSpeed, stop_bound};

use super::expect::with_packet;
use super::{Arrival, Bench, LINE_BUFFER, Stop, duration};
use crate::scenario::{Alternative, PacketText, Share, Stream, Take};

/// Room for the headers of a packet, in bytes.
const HEADERS: usize = 128;
/// Percentage of the speed of the link below which a stream may never have been held back by the port's rate.
const NEAR_SPEED: f64 = 75.0;
/// Why it cannot be said what a step did to a stream.
const TOO_SLOW: &str = "the device was faster than the tester, so that nothing can be said";

/// Bytes on the wire, and how long they took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    bytes: u64,
    period: Duration,
}

impl Bench<'_> {
    /// Carries out a step about a stream.
    pub(super) fn stream(&mut self, wanted: &Stream, line: u32) -> Result<(), Stop> {
        match wanted {
            Stream::Take(take) => self.take_some(take, line),
            Stream::Until(packet) => self.take_until(packet, line),
            Stream::Paused(quanta) => self.paused(*quanta, line),
            Stream::Flows(quanta) => self.flows(*quanta, line),
            Stream::NoCnp(length) => self.no_cnp(*length, line),
        }
    }

    /// What arrived and can be meant by a step: CNPs stand outside of the exchange, so that a step about them looks at
    /// nothing else, and others do not look at them.
    pub(super) fn queue(&mut self, any_of: &[Alternative]) -> &mut VecDeque<Arrival> {
        let is_cnp = any_of.iter().filter_map(|alternative| alternative.packet.as_ref()).any(PacketText::is_cnp);
        if is_cnp { &mut self.notices } else { &mut self.inbox }
    }

    /// The next packet, at the latest at `deadline`.
    fn next_arrival(&mut self, deadline: Time) -> Result<Option<Arrival>, Stop> {
        loop {
            if let Some(arrival) = self.inbox.pop_front() {
                return Ok(Some(arrival));
            }
            if self.dut.now() >= deadline {
                return Ok(None);
            }
            self.pump(deadline)?;
        }
    }

    fn take_some(&mut self, take: &Take, line: u32) -> Result<(), Stop> {
        let limit = self.dut.profile().timing.response;
        let mut packets = vec![(self.last_step, 0)];
        let mut over = false;
        while packets.len() <= take.count as usize {
            let deadline = self.dut.now() + limit;
            let Some(arrival) = self.next_arrival(deadline)? else {
                self.is_alive()?;
                let taken = packets.len() - 1;
                if take.share.is_some() && over {
                    let why =
                        format!("line {line}: the message ended {taken} packets behind the step before: {TOO_SLOW}");
                    return Err(self.cannot(&why));
                }
                let seen = format!("{taken}, then nothing within {}", duration(limit));
                return Err(self.found(line, None, format!("{} packets", take.count), seen, ""));
            };
            self.keep(&arrival);
            over = ends_message(&arrival);
            // What had arrived before the last step says nothing of what that step did.
            if take.share.is_some() && arrival.time < packets[0].0 {
                continue;
            }
            packets.push((arrival.time, arrival.bytes.len() as u64 + LinkSpeed::OVERHEAD));
            self.last_step = self.last_step.max(arrival.time);
        }
        let part = take.slowest.unwrap_or(take.count) as usize;
        let measured = Measured::slowest(&packets, part);
        if let Some(share) = &take.share {
            self.compare_rates(measured, share, line)?;
        }
        if let Some(name) = &take.name {
            self.rates.insert(name.clone(), measured);
        }
        Ok(())
    }

    /// Takes note of a packet that no step looks at.
    fn keep(&mut self, arrival: &Arrival) {
        with_packet(arrival, |packet| self.note(packet));
    }

    /// A rate is wrong when it is outside of its bounds whatever the noise of the clock.
    fn compare_rates(&mut self, measured: Measured, share: &Share, line: u32) -> Result<(), Stop> {
        let Some(whole) = self.rates.get(&share.of) else { return Ok(()) };
        let precision = self.dut.profile().precision();
        let (low, high) = measured.rates(precision);
        let (whole_low, whole_high) = whole.rates(precision);
        let percent = |part: f64, whole: f64| 100.0 * part / whole;
        let speed = self.dut.profile().link_speed().map(LinkSpeed::bits_per_second);
        if let Some(speed) = speed.filter(|_| share.to < 100)
            && percent(whole_high, speed as f64) < NEAR_SPEED
        {
            let whole = gigabits(whole_high);
            let why =
                format!("line {line}: {:?} is {whole}, too far below the speed of the link to see it fall", share.of);
            return Err(self.cannot(&why));
        }
        if percent(high, whole_low) >= share.from.into() && percent(low, whole_high) <= share.to.into() {
            return Ok(());
        }
        let (rate, _) = measured.rates(Duration::ZERO);
        let (whole, _) = whole.rates(Duration::ZERO);
        let expected = format!("{}% to {}% of the rate {:?}", share.from, share.to, share.of);
        let seen = format!("{:.0}%: {} after {}", percent(rate, whole), gigabits(rate), gigabits(whole));
        Err(self.found(line, None, expected, seen, ""))
    }

    fn take_until(&mut self, wanted: &PacketText, line: u32) -> Result<(), Stop> {
        let limit = self.dut.profile().timing.response;
        loop {
            let deadline = self.dut.now() + limit;
            let Some(arrival) = self.next_arrival(deadline)? else {
                self.is_alive()?;
                let seen = format!("nothing more within {}", duration(limit));
                return Err(self.found(line, None, wanted.text.clone(), seen, ""));
            };
            self.keep(&arrival);
            self.last_step = self.last_step.max(arrival.time);
            if self.is_like(&arrival, wanted, line)? {
                return Ok(());
            }
        }
    }

    fn is_like(&self, arrival: &Arrival, wanted: &PacketText, line: u32) -> Result<bool, Stop> {
        let symbols = self.connection.symbols();
        let scope = self.connection.scope_of_device(&symbols, None);
        let mut buffer = vec![0; LINE_BUFFER];
        let pattern: Pattern<'_> = parse_pattern(&wanted.text, &scope, &mut buffer)
            .map_err(|error| self.cannot(&format!("line {line}: {error}")))?;
        Ok(with_packet(arrival, |packet| pattern.mismatch(packet).is_none()))
    }

    /// How long so many quanta of 512 bit times last on the device's link.
    fn quanta(&self, count: u32, line: u32) -> Result<(LinkSpeed, Duration), Stop> {
        let speed = self.dut.profile().link_speed();
        let speed = speed.ok_or_else(|| self.cannot(&format!("line {line}: the profile names no speed_gbps")))?;
        Ok((speed, speed.time_of_bits(512 * u64::from(count))))
    }

    /// What has begun when the device learns of the pause is finished: until the bound, and one longest packet, packets may
    /// still come. Where nobody says what the bound is, it has stopped well before the end of the pause.
    fn paused(&mut self, quanta: u32, line: u32) -> Result<(), Stop> {
        let (speed, length) = self.quanta(quanta, line)?;
        let precision = self.dut.profile().precision();
        let longest = speed.time_of_frame(self.connection.mtu + HEADERS);
        let bound = stop_bound(speed).duration(speed).map_or(length / 2, |bound| bound + longest);
        let (told, bound) = (self.last_step, bound + precision);
        let end = told + length.saturating_sub(precision);
        while let Some(arrival) = self.next_arrival(end)? {
            if arrival.time < told + bound && is_last(&arrival)
                || arrival.time < self.told_port && ends_message(&arrival)
            {
                let why = format!("line {line}: all had left before the pause could stop it: {TOO_SLOW}");
                return Err(self.cannot(&why));
            }
            let waited = arrival.time - told;
            if arrival.time >= end {
                self.inbox.push_front(arrival);
                return Ok(());
            }
            if waited > bound {
                let expected = format!("no packet from {} to {}", duration(bound), duration(end - told));
                let seen = format!("one after {}", duration(waited));
                return Err(self.found(line, Some(&arrival), expected, seen, ""));
            }
            self.keep(&arrival);
        }
        Ok(())
    }

    fn flows(&mut self, quanta: u32, line: u32) -> Result<(), Stop> {
        let (_, length) = self.quanta(quanta, line)?;
        let limit = length + self.dut.profile().precision();
        let (begin, end) = (self.last_step, self.last_step + limit);
        loop {
            if self.inbox.iter().any(|arrival| (begin..=end).contains(&arrival.time)) {
                return Ok(());
            }
            if self.dut.now() >= end {
                self.is_alive()?;
                let seen = format!("nothing within {}", duration(limit));
                return Err(self.found(line, None, format!("a packet within {quanta} quanta"), seen, ""));
            }
            self.pump(end)?;
        }
    }

    fn no_cnp(&mut self, length: Option<Duration>, line: u32) -> Result<(), Stop> {
        let end = self.dut.now() + length.unwrap_or(self.dut.profile().timing.silence);
        loop {
            if let Some(notice) = self.notices.pop_front() {
                let seen = self.text(&notice);
                return Err(self.found(line, Some(&notice), "no CNP".to_owned(), seen, ""));
            }
            if self.dut.now() >= end {
                return Ok(());
            }
            self.pump(end)?;
        }
    }
}

impl Measured {
    /// Of so many packets, one behind the other, where they are slowest. `packets` begins with the time of the step before.
    fn slowest(packets: &[(Time, u64)], count: usize) -> Measured {
        let runs = packets.windows(count + 1).map(|run| Measured {
            bytes: run[1..].iter().map(|(_, bytes)| bytes).sum(),
            period: run[count].0 - run[0].0,
        });
        let rate = |measured: &Measured| measured.rates(Duration::ZERO).0;
        runs.min_by(|one, other| rate(one).total_cmp(&rate(other))).expect("there is one run at least")
    }

    /// Least and greatest rate in bits per second that it may have been, when the clock is wrong by so much.
    fn rates(self, precision: Duration) -> (f64, f64) {
        let bits = self.bytes as f64 * 8.0;
        (bits / (self.period + precision).as_secs_f64(), bits / self.period.saturating_sub(precision).as_secs_f64())
    }
}

/// Is it the last of the packets of a message, or the only one?
fn ends_message(arrival: &Arrival) -> bool {
    position(arrival).is_some_and(|position| matches!(position, Position::Last | Position::Only))
}

/// Is it the last of several packets?
fn is_last(arrival: &Arrival) -> bool {
    position(arrival) == Some(Position::Last)
}

fn position(arrival: &Arrival) -> Option<Position> {
    with_packet(arrival, |packet| packet.bth.opcode.info().map(|info| info.position))
}

fn gigabits(rate: f64) -> String {
    format!("{:.2} Gb/s", rate / 1e9)
}
