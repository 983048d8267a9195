//! The token bucket: what was earned by waiting.

use core::time::Duration;

use crate::time::Time;

/// A token bucket in virtual time. A token is a billionth of a bit: what a rate of one bit per second earns in a
/// nanosecond, so that nothing is rounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    tokens: i128,
    depth: i128,
    at: Time,
}

impl Bucket {
    /// Holds so many bytes, and is full.
    pub(super) fn full(bytes: u32) -> Bucket {
        Bucket { tokens: cost(bytes), depth: cost(bytes), at: Time::ZERO }
    }

    /// Up to when it was filled.
    pub(super) fn at(&self) -> Time {
        self.at
    }

    /// Fills it until `now`.
    pub(super) fn fill(&mut self, now: Time, rate: u64) {
        let nanos = (now - self.at).as_nanos() as u64;
        self.earn(u128::from(nanos) * u128::from(rate));
        self.at = self.at.max(now);
    }

    /// Fills it for `periods` of so many nanoseconds each, the first at `rate` and each next one at `gain` more.
    pub(super) fn fill_rising(&mut self, periods: u64, nanos: u64, rate: u64, gain: u64) {
        let [n, rate, gain] = [periods, rate, gain].map(u128::from);
        let rates = (n * rate).saturating_add((n * (n - 1) / 2).saturating_mul(gain));
        self.earn(rates.saturating_mul(nanos.into()));
        self.at = self.at + Duration::from_nanos(periods * nanos);
    }

    /// When a packet may leave, at a rate that is not 0: when there are tokens for it, or for one that is longer than the
    /// bucket is deep, when that is full.
    pub(super) fn ready_at(&self, bytes: u32, rate: u64) -> Time {
        let missing = cost(bytes).min(self.depth) - self.tokens;
        let nanos = u128::try_from(missing).unwrap_or(0).div_ceil(u128::from(rate.max(1)));
        self.at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Takes out what a packet costs. It may go below 0, which the next one waits for.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = self.tokens.saturating_sub(cost(bytes));
    }

    fn earn(&mut self, tokens: u128) {
        let tokens = i128::try_from(tokens).unwrap_or(i128::MAX);
        self.tokens = self.tokens.saturating_add(tokens).min(self.depth);
    }
}

fn cost(bytes: u32) -> i128 {
    i128::from(bytes) * 8 * 1_000_000_000
}
