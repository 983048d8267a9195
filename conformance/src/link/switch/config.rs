//! What a switch is made of.

use std::time::Duration;

use rocespec_codec::MacAddr;
use rocespec_model::{ClassBy, LinkSpeed};

use crate::link::Rate;

/// What a switch is made of. All its ports are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchConfig {
    /// Source of the pause frames that it sends.
    pub mac: MacAddr,
    /// Bits per second of every port; at least 1.
    pub speed: u64,
    /// How long a bit takes through a cable.
    pub propagation: Duration,
    /// Room of each queue in bytes: what would go beyond it is lost.
    pub queue: usize,
    /// When packets are marked; `None`: never.
    pub ecn: Option<EcnMarking>,
    /// When senders are asked to pause; `None`: never. The switch itself then heeds PAUSE instead of PFC.
    pub pfc: Option<PfcThresholds>,
    /// What tells the class of a frame.
    pub class_by: ClassBy,
    /// Seed of the choice of packets to mark.
    pub seed: u64,
}

impl Default for SwitchConfig {
    /// 100 Gb/s, 1 us of cable, 1 MiB for each queue; no ECN, no PFC; classes by DSCP.
    fn default() -> Self {
        SwitchConfig {
            mac: MacAddr([2, 0, 0, 0, 0xff, 0]),
            speed: 100_000_000_000,
            propagation: Duration::from_micros(1),
            queue: 1 << 20,
            ecn: None,
            pfc: None,
            class_by: ClassBy::Dscp,
            seed: 0,
        }
    }
}

/// Marking by the length of the queue that a packet joins, itself included: never up to `min`, then with a chance that
/// rises evenly to `most` at `max`, always above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnMarking {
    /// Bytes, Kmin.
    pub min: usize,
    /// Bytes, Kmax.
    pub max: usize,
    /// Pmax.
    pub most: Rate,
}

impl EcnMarking {
    /// The chance that a packet is marked that makes the queue so long, in bytes.
    pub fn chance(&self, queue: usize) -> Rate {
        if queue > self.max {
            return Rate::ALWAYS;
        }
        let (above, span) = (queue.saturating_sub(self.min) as u64, self.max.saturating_sub(self.min) as u64);
        let parts = (u64::from(self.most.get()) * above).checked_div(span).unwrap_or(0);
        Rate::per_million(u32::try_from(parts).unwrap_or(u32::MAX))
    }
}

/// Thresholds of priority-based flow control, by how many bytes of one sender and one class lie in the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcThresholds {
    /// Above this the sender is asked to pause. The room beyond must hold what is still on its way then.
    pub xoff: usize,
    /// At this or below it may go on.
    pub xon: usize,
    /// Classes that are paused, a bit for each.
    pub classes: u8,
    /// For how long it is asked to pause, in quanta of 512 bit times. Asked again when half of it is over.
    pub quanta: u16,
}

impl SwitchConfig {
    /// How long a frame occupies a link.
    pub(super) fn serialisation(&self, len: usize) -> Duration {
        LinkSpeed::from_bits_per_second(self.speed).map_or(Duration::MAX, |speed| speed.time_of_frame(len))
    }
}
