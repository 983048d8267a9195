//! Rules on the frames of one queue pair in their order: what they must be, given what was sent and received before.
//!
//! A [`Stream`] stands at the port of the device that is judged. It is told of every packet of the queue pair that comes
//! in and judges every one that goes out. It never says more than it can know: a packet that came in may still have been
//! dropped for a reason of the device's own, a packet that went out may be lost later, and every retransmission is legal.
//! So each bound is one that no right device can cross, whatever became of the packets in between.

mod counted;
mod holes;
mod requests;
mod responses;
mod retries;
#[cfg(test)]
mod tests;

use std::time::Duration;

use rocespec_codec::{Header, Info, Mtu, Opcode, Psn, Roce, Transport};
use rocespec_model::Time;

use super::{Breach, must};
pub use requests::OTHER_PAYLOAD;
use requests::Requests;
use responses::Responses;

/// What is known of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamConfig {
    /// Its transport.
    pub transport: Transport,
    /// Path MTU in bytes; `None` when not known, so that all that depends on it is left out.
    pub mtu: Option<usize>,
    /// First PSN that it sends; `None` when not known, so that the first packet tells it.
    pub sends_from: Option<Psn>,
    /// First PSN that it expects, likewise.
    pub expects_from: Option<Psn>,
    /// Every packet from and to the device passes here, at its port: what is missing was never sent. False for a capture,
    /// which may begin in the middle, have holes, hold packets in another order, and be made far from the device.
    pub is_whole: bool,
    /// READs, ATOMICs and the like that it may have outstanding; `None` when not known.
    pub max_rd_atomic: Option<usize>,
    /// It drops what comes behind a gap. False for devices that keep it.
    pub go_back_n: bool,
    /// Its local ACK timeout, the least time before it sends again without being told to; `None` when not known, when there
    /// is none, or for devices that adapt it.
    pub ack_timeout: Option<Duration>,
}

/// The packets of one queue pair, as its device sends and receives them.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    config: StreamConfig,
    requests: Requests,
    responses: Responses,
}

impl Stream {
    /// A queue pair that has sent and received nothing. `skew` is that of [`super::OracleConfig`].
    pub(super) fn new(config: StreamConfig, skew: Duration) -> Stream {
        Stream { config, requests: Requests::new(&config, skew), responses: Responses::new(&config) }
    }

    /// A packet with a right ICRC has come to the device. Nothing gives it a reason to drop one that `is_right`.
    pub(super) fn received(&mut self, now: Time, packet: &Roce<'_>, is_right: bool) {
        let opcode = packet.bth.opcode;
        if opcode.transport() != self.config.transport {
            return;
        }
        let Some(info) = opcode.info() else { return self.responses.unknown(packet.bth.psn) };
        if info.is_request() {
            self.responses.request(packet, info, is_right, &self.config);
        } else if info.is_response() {
            self.requests.response(now, packet, info, is_right, &self.config);
        }
    }

    /// True for a request with a PSN beyond the one that is expected.
    pub(super) fn is_behind_a_gap(&self, packet: &Roce<'_>) -> bool {
        let opcode = packet.bth.opcode;
        opcode.transport() == self.config.transport
            && opcode.info().is_some_and(Info::is_request)
            && self.responses.is_beyond(packet.bth.psn)
    }

    /// The queue pair has sent a packet, to which this ICRC belongs: every rule that it breaks.
    pub(super) fn sent(&mut self, now: Time, packet: &Roce<'_>, right_icrc: u32) -> Vec<Breach> {
        let Some(info) = packet.bth.opcode.info() else { return Vec::new() };
        let is_unreliable = matches!(self.config.transport, Transport::Uc | Transport::Ud);
        if is_unreliable && info.is_response() {
            // Of whatever transport: UC and UD have no opcodes for it.
            vec![responses::from_unreliable(packet, info, &self.config)]
        } else if packet.bth.opcode.transport() != self.config.transport {
            Vec::new()
        } else if info.is_request() {
            self.requests.judge(now, packet, right_icrc, info, &self.config)
        } else {
            self.responses.judge(packet, info, &self.config)
        }
    }

    /// Everything that it received was seen.
    pub(super) fn is_whole(&self) -> bool {
        self.responses.is_whole(&self.config)
    }

    /// The PSN of the next new request that it sends, where it is known.
    pub(super) fn next_psn(&self) -> Option<Psn> {
        self.requests.next()
    }

    /// Gaps in what was seen of it.
    pub(super) fn gaps(&self) -> u64 {
        self.requests.holes().gaps() + self.responses.holes().gaps()
    }

    /// Packets that were sent and received, and not seen.
    pub(super) fn missing(&self) -> u64 {
        self.requests.holes().missing() + self.responses.holes().missing()
    }

    /// The path MTU is known now.
    pub(super) fn set_mtu(&mut self, mtu: usize) {
        self.config.mtu = Some(mtu);
        self.requests.set_mtu(mtu);
    }
}

/// A response of its own answers it, with data, and it counts as one of those that are limited in number.
#[inline]
pub(crate) fn is_read_like(opcode: Opcode) -> bool {
    matches!(opcode.operation(), READ | COMPARE_SWAP | FETCH_ADD | FLUSH | ATOMIC_WRITE)
}

const READ: u8 = Opcode::RC_RDMA_READ_REQUEST.operation();
const ACKNOWLEDGE: u8 = Opcode::RC_ACKNOWLEDGE.operation();
const COMPARE_SWAP: u8 = Opcode::RC_COMPARE_SWAP.operation();
const FETCH_ADD: u8 = Opcode::RC_FETCH_ADD.operation();
const WRITE_LAST: u8 = Opcode::RC_RDMA_WRITE_LAST.operation();
const WRITE_ONLY: u8 = Opcode::RC_RDMA_WRITE_ONLY.operation();
const FLUSH: u8 = Opcode::RC_FLUSH.operation();
const ATOMIC_WRITE: u8 = Opcode::RC_ATOMIC_WRITE.operation();

/// How many PSNs a request takes: a READ one for each of its responses. `None`: that depends on an MTU that is not known.
fn psns(packet: &Roce<'_>, mtu: Option<usize>) -> Option<u32> {
    let is_read = packet.bth.opcode.operation() == READ && packet.bth.opcode.headers().contains(&Header::Reth);
    match (is_read, packet.ext.reth.len, mtu) {
        (false, ..) => Some(1),
        (true, len, _) if len <= LEAST_MTU => Some(1),
        (true, len, Some(mtu)) => Some(len.div_ceil(mtu.max(1) as u32)),
        (true, _, None) => None,
    }
}

/// PSNs that no gap in a capture spans: who comes from farther away may be another queue pair with the same number.
pub const FAR: u32 = 1 << 16;

/// The least path MTU, in bytes.
const LEAST_MTU: u32 = Mtu::B256.bytes() as u32;
/// The greatest.
const MOST_MTU: usize = Mtu::B4096.bytes();
