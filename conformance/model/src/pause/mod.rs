//! PAUSE and priority-based flow control, the side that is told to stop (IEEE 802.3 annexes 31B and 31D).
//!
//! [`PauseGate`] stands in front of a port's transmitter: it listens to MAC control frames and says when a frame of a
//! class may begin. A frame that has begun is finished, and MAC control frames themselves pass: nobody asks the gate
//! about those.

mod gate;
mod speed;
mod stop;

pub use gate::{Ignored, PauseGate};
pub use speed::LinkSpeed;
pub use stop::{StopBound, stop_bound};

use rocespec_codec::{Ethernet, Net};

/// Which flow control a port obeys, and how it sorts frames into classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PauseConfig {
    /// What it obeys.
    pub mode: PauseMode,
    /// Where the class of a frame stands.
    pub class_by: ClassBy,
}

/// Which flow control a port obeys. PAUSE and priority-based flow control exclude each other (802.3 annex 31D).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PauseMode {
    /// None.
    #[default]
    Off,
    /// PAUSE: all classes at once.
    Pause,
    /// Priority-based flow control.
    Pfc {
        /// Bit n: class n obeys. The others never stop.
        classes: u8,
    },
}

/// Where the class of a frame, 0 to 7, stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClassBy {
    /// In the priority bits of the outermost VLAN tag; 0 without tag.
    #[default]
    Pcp,
    /// In the upper three bits of the DSCP.
    Dscp,
}

impl ClassBy {
    /// The class of a frame, 0 to 7.
    pub fn class(self, eth: &Ethernet, net: &Net<'_>) -> u8 {
        self.class_of(net.traffic_class(), eth.tags.first().map(|tag| (tag.tci >> 13) as u8))
    }

    /// The class of a frame with this traffic class and, when it is tagged, this priority.
    pub(crate) fn class_of(self, traffic_class: u8, priority: Option<u8>) -> u8 {
        match self {
            ClassBy::Pcp => priority.unwrap_or(0) & 7,
            ClassBy::Dscp => traffic_class >> 5,
        }
    }
}

#[cfg(test)]
mod tests;
