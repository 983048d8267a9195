//! Rules on the frames of one queue pair in their order: what they must be, given what was sent and received before.
//!
//! A [`Stream`] stands at the port of the device that is judged. It is told of every packet of the queue pair that comes
//! in and judges every one that goes out. It never says more than it can know: a packet that came in may still have been
//! dropped for a reason of the device's own, a packet that went out may be lost later, and every retransmission is legal.
//! So each bound is one that no right device can cross, whatever became of the packets in between.

mod requests;
mod responses;
#[cfg(test)]
mod tests;

use rocespec_codec::{Header, Opcode, Psn, Roce, Transport, icrc};

use super::Breach;
use requests::Requests;
use responses::Responses;

/// What is known of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamConfig {
    /// Its transport.
    pub transport: Transport,
    /// Path MTU in bytes.
    pub mtu: usize,
    /// First PSN that it sends.
    pub sends_from: Psn,
    /// First PSN that it expects.
    pub expects_from: Psn,
    /// READs, ATOMICs and the like that it may have outstanding; `None` when not known.
    pub max_rd_atomic: Option<usize>,
    /// It drops what comes behind a gap. False for devices that keep it.
    pub go_back_n: bool,
}

/// The packets of one queue pair, as its device sends and receives them.
#[derive(Debug, Clone)]
pub struct Stream {
    config: StreamConfig,
    requests: Requests,
    responses: Responses,
}

impl Stream {
    /// A queue pair that has sent and received nothing.
    pub fn new(config: StreamConfig) -> Stream {
        Stream { config, requests: Requests::new(&config), responses: Responses::new(&config) }
    }

    /// A packet for the queue pair has come to the device. One whose ICRC is wrong never comes to the queue pair.
    pub fn received(&mut self, packet: &Roce<'_>) {
        let opcode = packet.bth.opcode;
        if opcode.transport() != self.config.transport || !icrc::verify(packet) {
            return;
        }
        let Some(info) = opcode.info() else { return self.responses.unknown(packet.bth.psn) };
        if info.is_request() {
            self.responses.request(packet, info, &self.config);
        } else if info.is_response() {
            self.requests.response(packet, info);
        }
    }

    /// The queue pair has sent a packet: every rule that it breaks.
    pub fn sent(&mut self, packet: &Roce<'_>) -> Vec<Breach> {
        let Some(info) = packet.bth.opcode.info() else { return Vec::new() };
        let is_unreliable = matches!(self.config.transport, Transport::Uc | Transport::Ud);
        if is_unreliable && info.is_response() {
            // Of whatever transport: UC and UD have no opcodes for it.
            vec![responses::from_unreliable(packet, info, &self.config)]
        } else if packet.bth.opcode.transport() != self.config.transport {
            Vec::new()
        } else if info.is_request() {
            self.requests.judge(packet, info, &self.config)
        } else {
            self.responses.judge(packet, info, &self.config)
        }
    }

    /// The PSN of the next new request that it sends.
    pub fn next_psn(&self) -> Psn {
        self.requests.next()
    }
}

/// A response of its own answers it, with data, and it counts as one of those that are limited in number.
fn is_read_like(opcode: Opcode) -> bool {
    matches!(opcode.operation(), READ | COMPARE_SWAP | FETCH_ADD | FLUSH | ATOMIC_WRITE)
}

const READ: u8 = Opcode::RC_RDMA_READ_REQUEST.operation();
const ACKNOWLEDGE: u8 = Opcode::RC_ACKNOWLEDGE.operation();
const COMPARE_SWAP: u8 = Opcode::RC_COMPARE_SWAP.operation();
const FETCH_ADD: u8 = Opcode::RC_FETCH_ADD.operation();
const FLUSH: u8 = Opcode::RC_FLUSH.operation();
const ATOMIC_WRITE: u8 = Opcode::RC_ATOMIC_WRITE.operation();

/// How many PSNs a request takes: a READ one for each of its responses.
fn psns(packet: &Roce<'_>, mtu: usize) -> u32 {
    let is_read = packet.bth.opcode.operation() == READ && packet.bth.opcode.headers().contains(&Header::Reth);
    if is_read { packet.ext.reth.len.div_ceil(mtu.max(1) as u32).max(1) } else { 1 }
}

fn must(rule: &'static str, expected: String, seen: String, why: &'static str) -> Breach {
    Breach { rule, level: rocespec_reports::outcome::Level::Must, expected, seen, why }
}
