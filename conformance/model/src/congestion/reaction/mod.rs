//! The reaction point: how fast a queue pair may send after CNPs (DCQCN).
//!
//! A queue pair begins at the speed of its link, without limit. A CNP cuts its rate; time and bytes without another one
//! raise it again, until it is back at the speed of the link. Everything is whole numbers, and timers are advanced when
//! somebody looks: long silence costs no more than a short one.

mod alpha;
mod bucket;
mod rate;

use core::time::Duration;

use crate::defect::{Defect, Defects};
use crate::pause::LinkSpeed;
use crate::time::Time;

use super::ReactionConfig;
use alpha::Alpha;
use bucket::Bucket;
use rate::{Cause, Rates};

/// The rate limit of a queue pair.
#[derive(Debug, Clone)]
pub struct ReactionPoint {
    config: ReactionConfig,
    defects: Defects,
    alpha: Alpha,
    pace: Pace,
    last_cut: Option<Time>,
    /// Bytes sent since the byte counter last raised the rate.
    bytes: u64,
}

/// What moves with time alone.
#[derive(Debug, Clone, Copy)]
struct Pace {
    rates: Rates,
    bucket: Bucket,
    /// When the rate timer last began.
    timer_from: Time,
}

/// Most rises of the rate that [`ReactionPoint::may_send_at`] looks ahead.
const LOOK_AHEAD: u32 = 64;

impl ReactionPoint {
    /// A queue pair without limit on a link of this speed.
    pub fn new(config: &ReactionConfig, link: LinkSpeed) -> ReactionPoint {
        let rates = Rates::new(link.bits_per_second());
        ReactionPoint {
            config: *config,
            defects: Defects::NONE,
            alpha: Alpha::new(config.initial_alpha),
            pace: Pace { rates, bucket: Bucket::full(config.burst), timer_from: Time::ZERO },
            last_cut: None,
            bytes: 0,
        }
    }

    /// The same with deviations.
    #[must_use]
    pub(crate) fn with_defects(self, defects: Defects) -> ReactionPoint {
        ReactionPoint { defects, ..self }
    }

    /// The rate in bits per second, when last looked at.
    pub fn rate(&self) -> u64 {
        self.pace.rates.current
    }

    /// The rate that it recovers to, in bits per second, when last looked at.
    pub fn target_rate(&self) -> u64 {
        self.pace.rates.target
    }

    /// The estimate of congestion in 65536ths, when last looked at.
    pub fn alpha(&self) -> u32 {
        self.alpha.value()
    }

    /// A CNP came for the queue pair.
    ///
    /// rule: congestion.reaction_point.cut
    pub fn cnp(&mut self, now: Time) {
        self.on_timer(now);
        // rule: congestion.reaction_point.reduce-period
        let cut_lately = self.last_cut.is_some_and(|cut| now - cut < self.config.reduce_period);
        if cut_lately && !self.defects.has(Defect::CutsOnEveryCnp) {
            return self.alpha.hold(now);
        }
        if !self.pace.rates.is_limited() {
            self.pace.bucket = Bucket::full(self.config.burst);
            self.pace.bucket.fill(now, 0);
        }
        let alpha = if self.defects.has(Defect::AlwaysHalvesRate) { alpha::ONE } else { self.alpha.value() };
        self.pace.rates.cut(alpha, &self.config);
        self.alpha.raise(now, &self.config);
        self.pace.timer_from = now;
        self.bytes = 0;
        self.last_cut = Some(now);
    }

    /// When a packet of so many bytes may leave: `now`, or later. Ask again then: after a long wait at a low rate it may
    /// name a still later time.
    pub fn may_send_at(&mut self, now: Time, bytes: u32) -> Time {
        self.on_timer(now);
        // rule: congestion.reaction_point.min-rate
        if self.pace.rates.is_limited() && self.defects.has(Defect::StopsOnCnp) {
            return self.pace.next_rise(&self.config);
        }
        let mut ahead = self.pace;
        for _ in 0..LOOK_AHEAD {
            let rise = ahead.next_rise(&self.config);
            let ready = if ahead.rates.is_limited() { ahead.bucket.ready_at(bytes, ahead.rates.current) } else { now };
            if ready <= rise || !ahead.rates.is_limited() {
                return ready.max(ahead.bucket.at()).max(now);
            }
            ahead.advance(rise, &self.config);
        }
        ahead.timer_from
    }

    /// A packet of so many bytes leaves.
    pub fn sent(&mut self, now: Time, bytes: u32) {
        self.on_timer(now);
        if !self.pace.rates.is_limited() {
            return;
        }
        self.pace.bucket.spend(bytes);
        // rule: congestion.reaction_point.recover
        if self.defects.has(Defect::NeverRecovers) {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.bytes >= self.config.byte_counter && self.config.byte_counter > 0 && self.pace.rates.is_limited() {
            self.bytes -= self.config.byte_counter;
            self.pace.rates.rise(Cause::Bytes, &self.config);
        }
    }

    /// When time alone next changes the rate; `None` while there is no limit.
    pub fn next_timer(&self) -> Option<Time> {
        self.pace.rates.is_limited().then(|| self.pace.next_rise(&self.config))
    }

    /// Does what time asked for up to `now`. The other calls do so themselves.
    pub fn on_timer(&mut self, now: Time) {
        if self.defects.has(Defect::NeverRecovers) {
            self.pace.timer_from = self.pace.timer_from.max(now);
        }
        let rose = self.pace.timer_from + Duration::from_nanos(period(self.config.rate_timer)) <= now;
        if rose && self.defects.has(Defect::RecoversAtOnce) {
            self.pace.rates.lift();
        }
        self.pace.advance(now, &self.config);
        self.alpha.decay(now, &self.config);
    }
}

impl Pace {
    fn next_rise(&self, config: &ReactionConfig) -> Time {
        self.timer_from + Duration::from_nanos(period(config.rate_timer))
    }

    /// rule: congestion.reaction_point.recover
    fn advance(&mut self, now: Time, config: &ReactionConfig) {
        let period = period(config.rate_timer);
        let mut rises = (now - self.timer_from).as_nanos() as u64 / period;
        while rises > 0 && self.rates.is_limited() {
            let gain = self.rates.steady_gain(config);
            let steady = match gain {
                Some(gain) if self.bucket.at() == self.timer_from => self.rates.room_for(gain).min(rises),
                _ => 0,
            };
            if steady > 1 {
                // Each rise adds the same: the sum in place of the steps.
                let gain = gain.unwrap_or(0);
                self.bucket.fill_rising(steady, period, self.rates.current, gain);
                self.rates.gain(steady, gain);
            } else {
                self.bucket.fill(self.timer_from + Duration::from_nanos(period), self.rates.current);
                self.rates.rise(Cause::Time, config);
            }
            let done = steady.max(1);
            self.timer_from = self.timer_from + Duration::from_nanos(done * period);
            rises -= done;
        }
        self.bucket.fill(now, self.rates.current);
    }
}

/// Nanoseconds of a timer, at least one.
fn period(timer: Duration) -> u64 {
    u64::try_from(timer.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests;
