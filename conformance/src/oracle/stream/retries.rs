//! When a requester sends again.

use std::time::Duration;

use rocespec_codec::{Psn, SyndromeClass};
use rocespec_model::Time;

use super::must;
use crate::oracle::Breach;

/// What makes a requester of a reliable service send again, and what forbids it to do so yet.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    ack_timeout: Option<Duration>,
    skew: Duration,
    /// The oldest packet that is outstanding: when it was sent last.
    oldest: Option<(Psn, Time)>,
    /// When a response came last.
    heard: Option<Time>,
    /// A request that has to wait: since when, and for how long.
    put_off: Option<(Psn, Time, Duration)>,
    /// When an RNR NAK came, and no request was sent since. A second one may find the requester waiting, and change nothing.
    waits: Option<Time>,
}

impl Retries {
    pub(super) fn new(ack_timeout: Option<Duration>, skew: Duration) -> Retries {
        Retries { ack_timeout, skew, oldest: None, heard: None, put_off: None, waits: None }
    }

    /// A response has come. `nak` is its syndrome where a right requester has to heed it.
    pub(super) fn response(&mut self, now: Time, psn: Psn, nak: Option<SyndromeClass>) {
        self.heard = Some(now);
        // Whatever else it says may change what is to be done.
        let before = self.put_off.take();
        if let Some(SyndromeClass::RnrNak(timer)) = nak {
            self.put_off = match self.waits {
                Some(_) => before.filter(|(put_off, ..)| *put_off == psn),
                None => Some((psn, now, timer.duration())),
            };
            self.waits = self.waits.or(Some(now));
        }
    }

    /// A request is sent, new or again.
    pub(super) fn judge(&mut self, now: Time, psn: Psn, is_oldest: bool) -> Vec<Breach> {
        let mut breaches: Vec<Breach> = self.judge_wait(now, psn).into_iter().collect();
        self.waits = self.waits.filter(|since| now - *since <= self.skew);
        if is_oldest {
            breaches.extend(self.judge_timeout(now, psn));
        }
        breaches
    }

    /// rule: rc.requester.rnr-wait
    fn judge_wait(&mut self, now: Time, psn: Psn) -> Option<Breach> {
        let (put_off, since, wait) = self.put_off?;
        let waited = now - since;
        if psn != put_off || waited <= self.skew {
            return None;
        }
        self.put_off = None;
        let why = "the responder said how long it needs";
        (waited + self.skew < wait).then(|| {
            let seen = format!("psn=@{:#08x} after {waited:?}", psn.get());
            must("rc.requester.rnr-wait", format!("nothing of it for {wait:?}"), seen, why)
        })
    }

    /// rule: rc.requester.ack-timeout
    fn judge_timeout(&mut self, now: Time, psn: Psn) -> Option<Breach> {
        let (before, since) = self.oldest.replace((psn, now))?;
        let told = self.heard.is_some_and(|heard| heard + self.skew >= since);
        // A timer that an acknowledgement started again runs while the next packet is still on its way out of a slow device.
        let from = self.heard.map_or(since, |heard| heard.min(since));
        let (timeout, waited) = (self.ack_timeout?, now - from);
        // What came together on a wire in real time was held up on its way: its times say nothing.
        let together = now == since && self.skew > Duration::ZERO;
        let why = "nothing has come that asks for it, and the ACK timeout has not run out";
        (before == psn && !told && !together && waited + self.skew < timeout).then(|| {
            let seen = format!("psn=@{:#08x} again after {waited:?}", psn.get());
            must("rc.requester.ack-timeout", format!("nothing for {timeout:?}"), seen, why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_came_together_say_nothing_about_time_where_the_clock_is_real() {
        let timeout = Duration::from_millis(67);
        let judged = |skew: u64, gap: u64| {
            let mut retries = Retries::new(Some(timeout), Duration::from_millis(skew));
            let (first, second) = (Time::from_nanos(1000), Time::from_nanos(1000) + Duration::from_millis(gap));
            assert!(retries.judge(first, Psn::new(3), true).is_empty());
            retries.judge(second, Psn::new(3), true).len()
        };
        assert_eq!((judged(50, 0), judged(50, 1), judged(50, 20)), (0, 1, 0));
        assert_eq!((judged(0, 0), judged(0, 66), judged(0, 67)), (1, 1, 0));
    }
}
