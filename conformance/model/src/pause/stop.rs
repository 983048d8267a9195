//! How soon a sender has to stop.

use core::time::Duration;

use super::LinkSpeed;

/// By when a port that is told to stop has to: a frame begun by then is finished. To be measured from the end of the
/// PAUSE frame to the beginning of the last frame, both at the port's connector; a measurement further away adds one
/// longest frame and the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopBound {
    /// So many quanta of 512 bit times (802.3ba 31B.3.7).
    Quanta(u16),
    /// No bound is known for this speed.
    Unverified,
}

/// By when a port that gets a PAUSE frame has to stop. 10GBASE-T has 74 quanta instead of 60.
pub const fn stop_bound(speed: LinkSpeed) -> StopBound {
    match speed {
        LinkSpeed::G1 => StopBound::Quanta(2),
        LinkSpeed::G10 => StopBound::Quanta(60),
        LinkSpeed::G40 => StopBound::Quanta(118),
        LinkSpeed::G100 => StopBound::Quanta(394),
        _ => StopBound::Unverified,
    }
}

impl StopBound {
    /// The bound as a time at a link speed, if there is one.
    pub const fn duration(self, speed: LinkSpeed) -> Option<Duration> {
        match self {
            StopBound::Quanta(quanta) => Some(speed.time_of_quanta(quanta)),
            StopBound::Unverified => None,
        }
    }
}
