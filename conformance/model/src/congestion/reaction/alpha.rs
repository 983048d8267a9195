//! The estimate of congestion.

use core::time::Duration;

use super::super::ReactionConfig;
use super::period;
use crate::time::Time;

/// Alpha: 1 is the worst. Each CNP that cuts raises it, time without CNP lowers it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alpha {
    value: u32,
    /// When its timer last began; `None` before the first CNP.
    timer_from: Option<Time>,
}

/// Alpha 1. A cut takes `value / (2 * ONE)` of the rate.
pub(super) const ONE: u32 = 1 << 16;
/// What the configuration counts in.
const UNITS: u32 = 1024;

impl Alpha {
    pub(super) fn new(initial: u16) -> Alpha {
        Alpha { value: u32::from(initial).min(UNITS) * (ONE / UNITS), timer_from: None }
    }

    pub(super) fn value(&self) -> u32 {
        self.value
    }

    /// alpha := (1 - g) * alpha, for each time that the timer ran out until `now`. What is left is rounded down, so that
    /// there is an end to it.
    ///
    /// rule: congestion.reaction_point.alpha
    pub(super) fn decay(&mut self, now: Time, config: &ReactionConfig) {
        let Some(from) = self.timer_from else { return };
        let period = period(config.alpha_timer);
        let times = (now - from).as_nanos() as u64 / period;
        self.timer_from = Some(from + Duration::from_nanos(times * period));
        let gain = gain(config);
        for _ in 0..times {
            let lost = (self.value * gain).div_ceil(UNITS);
            if lost == 0 {
                break;
            }
            self.value -= lost;
        }
    }

    /// alpha := (1 - g) * alpha + g
    pub(super) fn raise(&mut self, now: Time, config: &ReactionConfig) {
        self.value += (ONE - self.value) * gain(config) / UNITS;
        self.hold(now);
    }

    /// Begins the timer anew.
    pub(super) fn hold(&mut self, now: Time) {
        self.timer_from = Some(now);
    }
}

fn gain(config: &ReactionConfig) -> u32 {
    u32::from(config.gain).min(UNITS)
}
