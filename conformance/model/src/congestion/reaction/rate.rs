//! The current and the target rate: cut, fast recovery, additive and hyper increase.

use super::super::ReactionConfig;
use super::alpha::ONE;

/// Rates in bits per second. The current one is never above the target, the target never above the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) current: u64,
    pub(super) target: u64,
    link: u64,
    /// T_c: rises since the last cut that the timer made.
    by_time: u16,
    /// B_c: rises since the last cut that the byte counter made.
    by_bytes: u16,
}

/// What makes the rate rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Time,
    Bytes,
}

/// Rises are not counted further: the index of the hyper stage ends here.
const MAX_RISES: u16 = 1024;

impl Rates {
    pub(super) fn new(link: u64) -> Rates {
        Rates { current: link, target: link, link, by_time: 0, by_bytes: 0 }
    }

    /// False at the speed of the link.
    pub(super) fn is_limited(&self) -> bool {
        self.current < self.link
    }

    /// RT := RC; RC := RC * (1 - alpha / 2). At least one bit per second is lost, at most what is above the least rate.
    ///
    /// rule: congestion.reaction_point.cut, congestion.reaction_point.min-rate
    pub(super) fn cut(&mut self, alpha: u32, config: &ReactionConfig) {
        let rose = self.by_time > 0 || self.by_bytes > 0;
        if rose || !config.keeps_target || !self.is_limited() {
            self.target = self.current;
        }
        let lost = u128::from(self.current) * u128::from(alpha) / (2 * u128::from(ONE));
        let lowest = config.min_rate.clamp(1, self.link);
        self.current = (self.current - (lost as u64).max(1)).max(lowest);
        (self.by_time, self.by_bytes) = (0, 0);
    }

    /// RT := RT + gain; RC := (RT + RC) / 2, rounded up so that the two meet.
    pub(super) fn rise(&mut self, cause: Cause, config: &ReactionConfig) {
        self.target = self.target.saturating_add(self.stage_gain(config)).min(self.link);
        self.current += (self.target - self.current).div_ceil(2);
        let count = match cause {
            Cause::Time => &mut self.by_time,
            Cause::Bytes => &mut self.by_bytes,
        };
        *count = (*count + 1).min(MAX_RISES);
    }

    /// Back to the speed of the link, as only a defect goes.
    pub(super) fn lift(&mut self) {
        (self.current, self.target) = (self.link, self.link);
    }

    /// What the next rise adds to the target, by the rises there were since the last cut.
    ///
    /// rule: congestion.reaction_point.stages
    fn stage_gain(&self, config: &ReactionConfig) -> u64 {
        let threshold = u16::from(config.fast_recovery);
        let (fewer, more) = (self.by_time.min(self.by_bytes), self.by_time.max(self.by_bytes));
        if more < threshold {
            0
        } else if fewer > threshold {
            config.hyper_increase.saturating_mul(u64::from(fewer - threshold + 1))
        } else {
            config.additive_increase
        }
    }

    /// What each further rise of the timer adds to both rates, once they are all the same.
    pub(super) fn steady_gain(&self, config: &ReactionConfig) -> Option<u64> {
        let stays_in_stage = self.by_time >= self.by_bytes.max(config.fast_recovery.into());
        let gain = self.stage_gain(config).min(self.link - self.target);
        let gap = self.target - self.current;
        (stays_in_stage && gap.saturating_add(gain) / 2 == gap).then_some(gain)
    }

    /// How often `gain` fits below the speed of the link.
    pub(super) fn room_for(&self, gain: u64) -> u64 {
        (self.link - self.target).checked_div(gain).unwrap_or(u64::MAX)
    }

    /// `times` rises of the timer that each add `gain`.
    pub(super) fn gain(&mut self, times: u64, gain: u64) {
        self.current += times * gain;
        self.target += times * gain;
        self.by_time = u64::from(self.by_time).saturating_add(times).min(MAX_RISES.into()) as u16;
    }
}
