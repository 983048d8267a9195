//! What the two ends ask of each other.

use std::time::Duration;

use oorandom::Rand32;
use rocespec_codec::Transport;
use rocespec_model::SendOperation;

use crate::link::End;

/// A request that an end posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Who posts it.
    pub by: End,
    /// When, at the earliest, after the one before it of the same end.
    pub after: Duration,
    /// What it does.
    pub kind: SendOperation,
    /// Bytes; operations of a fixed length ignore it.
    pub len: u32,
    /// Where in the peer's memory; taken modulo what fits.
    pub place: u32,
}

/// What a transport can do, of what a pair tries.
pub fn kinds(transport: Transport) -> &'static [SendOperation] {
    use SendOperation::{
        AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead, RdmaWrite, RdmaWriteWithImmediate, Send, SendWithImmediate,
    };
    match transport {
        Transport::Ud => &[Send, SendWithImmediate],
        Transport::Uc => &[Send, SendWithImmediate, RdmaWrite, RdmaWriteWithImmediate],
        _ => &[
            Send,
            SendWithImmediate,
            RdmaWrite,
            RdmaWriteWithImmediate,
            RdmaRead,
            CompareSwap,
            FetchAdd,
            Flush,
            AtomicWrite,
        ],
    }
}

/// Bytes that an operation carries or brings.
pub(super) fn length(operation: &Operation, max_len: u32) -> u32 {
    match operation.kind {
        SendOperation::CompareSwap | SendOperation::FetchAdd | SendOperation::AtomicWrite => 8,
        _ => operation.len.min(max_len),
    }
}

/// Operations without end, at random from a seed: every kind, lengths from nothing to `max_len` with those around whole
/// packets more often.
#[derive(Debug)]
pub struct Endless {
    random: Rand32,
    transport: Transport,
    mtu: u32,
    max_len: u32,
}

impl Endless {
    /// From a seed.
    pub fn new(seed: u64, transport: Transport, mtu: u32, max_len: u32) -> Endless {
        Endless { random: Rand32::new_inc(seed, 2), transport, mtu, max_len }
    }
}

impl Iterator for Endless {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        let random = &mut self.random;
        let kinds = kinds(self.transport);
        let kind = kinds[random.rand_range(0..kinds.len() as u32) as usize];
        let whole = self.mtu * random.rand_range(0..self.max_len / self.mtu + 1);
        let len = match random.rand_range(0..4) {
            0 => random.rand_range(0..self.max_len + 1),
            1 => whole.saturating_sub(random.rand_range(0..5)),
            2 => whole + random.rand_range(0..5),
            _ => whole,
        };
        let by = if random.rand_range(0..2) == 0 { End::A } else { End::B };
        let place = random.rand_u32();
        // What nobody acknowledges must not be sent faster than it arrives.
        let is_unreliable = matches!(self.transport, Transport::Uc | Transport::Ud);
        let after = if is_unreliable { Duration::from_nanos(500) } else { Duration::ZERO };
        Some(Operation { by, after, kind, len: len.min(self.max_len), place })
    }
}
