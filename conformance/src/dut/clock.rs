//! The clock of everything that is in real time: monotonic, counted from one instant.

use std::sync::OnceLock;
use std::time::Instant;

use rocespec_model::Time;

/// A clock. All of them tell the same time, so what two devices do can be put in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// The clock of the program, which begins when it is asked for first.
    pub(crate) fn new() -> Clock {
        static START: OnceLock<Instant> = OnceLock::new();
        Clock(*START.get_or_init(Instant::now))
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
