//! From the kernel's stamps, on the system's clock, to the clock of a run.

use std::time::{Duration, SystemTime};

use rocespec_model::Time;

use crate::dut::clock::Clock;

/// How old a frame may be when we read it. An older one, or one from the future, means that the system's clock was set.
const OLDEST: Duration = Duration::from_secs(5);

/// Turns stamps into times that never fall.
#[derive(Debug)]
pub(super) struct Stamps {
    clock: Clock,
    last: Time,
}

impl Stamps {
    pub(super) fn new(clock: Clock) -> Stamps {
        Stamps { clock, last: Time::ZERO }
    }

    /// The time of a frame that has just been read.
    pub(super) fn time(&mut self, stamp: Option<SystemTime>) -> Time {
        let now = self.clock.now().nanos();
        let age = stamp.and_then(|stamp| SystemTime::now().duration_since(stamp).ok());
        let age = age.filter(|age| *age <= OLDEST).unwrap_or_default();
        let time = now.saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        self.last = self.last.max(Time::from_nanos(time));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_as_old_on_our_clock_as_on_the_systems() {
        let clock = Clock::new();
        std::thread::sleep(Duration::from_millis(40));
        let mut stamps = Stamps::new(clock);
        let stamp = SystemTime::now() - Duration::from_millis(30);
        let time = stamps.time(Some(stamp));
        let now = clock.now();
        assert!(now - time >= Duration::from_millis(30), "{time} is too near to {now}");
        assert!(time > Time::ZERO);
    }

    #[test]
    fn times_never_fall_and_a_clock_that_was_set_is_not_believed() {
        let clock = Clock::new();
        let mut stamps = Stamps::new(clock);
        let now = SystemTime::now();
        let hour = Duration::from_secs(3600);
        let mut last = Time::ZERO;
        for stamp in [None, Some(now + hour), Some(now - hour), Some(now - Duration::from_millis(1)), None] {
            let before = clock.now();
            let time = stamps.time(stamp);
            assert!(time >= last && time <= clock.now());
            if stamp != Some(now - Duration::from_millis(1)) {
                assert!(time >= before);
            }
            last = time;
        }
    }
}
