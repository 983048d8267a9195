//! What a sweep leaves as it is.

use std::time::Duration;

use rocespec_codec::Mtu;
use rocespec_model::{Defects, LinkSpeed, MAX_REGION, Policy, ReactionConfig, SendOperation};

use super::formula;
use crate::link::{EcnMarking, PfcThresholds, Rate};

/// What the model takes for an answer, in its own time: a part of the round trip.
pub(super) const RESPONSE: Duration = Duration::from_micros(1);

/// The numbers of the DCQCN paper, with the least time between two cuts that adapters have.
pub const DCQCN: ReactionConfig =
    ReactionConfig { reduce_period: ReactionConfig::CONNECTX.reduce_period, ..ReactionConfig::PAPER };

/// What stays as it is along one curve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Speed of every cable.
    pub speed: LinkSpeed,
    /// What a bit takes to the other end and its answer back, without what whole frames take; at least 1 us.
    pub round_trip: Duration,
    /// Path MTU.
    pub mtu: Mtu,
    /// What the messages are: SEND, RDMA WRITE or RDMA READ.
    pub operation: SendOperation,
    /// Bytes of a message.
    pub message: u32,
    /// Messages that are posted at once.
    pub outstanding: u32,
    /// Packets in flight at most.
    pub window: u32,
    /// Local ACK timeout code, 0 to 31.
    pub ack_timeout: u8,
    /// Behind how many others a frame may fall that is overtaken.
    pub depth: u32,
    /// Packets that the messages of a run need, over a cable.
    pub packets: u64,
    /// Length of a run with several senders; the first quarter is not counted.
    pub duration: Duration,
    /// Slows senders down on CNPs; `None`: nothing does, and no CNPs are sent.
    pub dcqcn: Option<ReactionConfig>,
    /// When the switch marks.
    pub ecn: EcnMarking,
    /// When the switch asks senders to pause; `None`: never.
    pub pfc: Option<PfcThresholds>,
    /// Room of each queue of the switch in bytes.
    pub queue: usize,
    /// What sender and receiver decide for themselves; of the sender's window the one above holds.
    pub policy: [Policy; 2],
    /// What sender and receiver do wrong.
    pub defects: [Defects; 2],
}

/// xoff 100 KB, xon 50 KB, for every class.
pub const PFC: PfcThresholds = PfcThresholds { xoff: 100_000, xon: 50_000, classes: 0xff, quanta: u16::MAX };

impl Default for Settings {
    /// WRITEs of 1 MiB, four at once, with path MTU 1024 and up to 1024 packets in flight, over 100 Gb/s and 10 us; ACK
    /// timeout code 14. No DCQCN, no PFC; marks between 5 KB and 200 KB up to 1 %, 6 MB for each queue.
    fn default() -> Settings {
        Settings {
            speed: LinkSpeed::G100,
            round_trip: Duration::from_micros(10),
            mtu: Mtu::B1024,
            operation: SendOperation::RdmaWrite,
            message: 1 << 20,
            outstanding: 4,
            window: 1024,
            ack_timeout: 14,
            depth: 8,
            packets: 200_000,
            duration: Duration::from_millis(20),
            dcqcn: None,
            ecn: EcnMarking { min: 5_000, max: 200_000, most: Rate::percent(1) },
            pfc: None,
            queue: 6_000_000,
            policy: [Policy::PLAIN; 2],
            defects: [Defects::NONE; 2],
        }
    }
}

impl Settings {
    /// Packets of a message.
    pub fn packets_of_message(&self) -> u64 {
        u64::from(self.message.div_ceil(self.mtu.bytes() as u32).max(1))
    }

    /// Messages of a run over a cable.
    pub fn messages(&self) -> u64 {
        self.packets.div_ceil(self.packets_of_message()).max(1)
    }

    /// Payload in bits per second that fits through the cable when every packet is full.
    pub fn capacity_bps(&self) -> f64 {
        self.mtu.bytes() as f64 * 8.0 / formula::time_of_packet(self).as_secs_f64()
    }

    /// Time after which a sender that hears nothing begins anew; `None`: never.
    pub fn timeout(&self) -> Option<Duration> {
        let shortest = (self.ack_timeout > 0).then(|| rocespec_codec::mad::timeout(self.ack_timeout))?;
        Some(shortest * self.policy[0].timeout_multiple)
    }

    /// Does it fit into the memory of the model?
    ///
    /// # Errors
    /// In words, with what does.
    pub fn check(&self, most_senders: Option<u32>) -> Result<(), String> {
        let (what, count) = match most_senders {
            Some(senders) => ("senders", senders),
            // The memory that is written has room for two.
            None => ("messages at once", self.outstanding.max(2)),
        };
        // Each has some room beside it.
        let room = (MAX_REGION - 4096) / u64::from(count.max(1));
        if u64::from(self.message) + 128 > room {
            return Err(format!(
                "{count} {what} of {} bytes do not fit into {MAX_REGION} bytes of memory",
                self.message
            ));
        }
        Ok(())
    }
}
