//! The clock of everything that is in real time: monotonic, counted from one instant.

use std::time::Instant;

use rocespec_model::Time;

/// A clock. Copies of it tell the same time, so devices that are to be compared are given copies of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    pub(crate) fn new() -> Clock {
        Clock(Instant::now())
    }

    pub(crate) fn now(self) -> Time {
        self.at(Instant::now())
    }

    /// The time at an instant; zero for one before the clock began.
    pub(crate) fn at(self, instant: Instant) -> Time {
        let nanos = instant.saturating_duration_since(self.0).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
