//! Packets that are missing where not everything is seen: lost before, or not captured.

use std::collections::VecDeque;

use rocespec_codec::Psn;

/// Gaps that are remembered.
const LIMIT: usize = 16;

/// Gaps in the PSNs of a direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Holes {
    open: VecDeque<(Psn, u32)>,
    /// Gaps that there were.
    gaps: u64,
    /// Packets that were sent and received, and not seen.
    missing: u64,
}

impl Holes {
    /// Packets with so many PSNs from this one on were not seen.
    pub(super) fn open(&mut self, psn: Psn, count: u32) {
        self.gaps += 1;
        if self.open.len() == LIMIT {
            self.open.pop_front();
        }
        self.open.push_back((psn, count));
    }

    /// A packet has come late or again: what was missing was lost, or out of order.
    pub(super) fn fill(&mut self, psn: Psn) {
        self.open.retain(|(start, count)| !psn.is_within(*start, *count));
    }

    /// The receiver has everything up to this PSN, which is not included.
    pub(super) fn acknowledged(&mut self, psn: Psn) {
        while let Some((start, count)) = self.open.front()
            && start.plus(*count).since(psn) <= 0
        {
            self.missing += u64::from(*count);
            self.open.pop_front();
        }
    }

    /// A response answers so many requests that were not seen.
    pub(super) fn answered(&mut self, count: u32) {
        self.gaps += 1;
        self.missing += u64::from(count);
    }

    /// Gaps, for whatever reason.
    pub(super) fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Packets that were sent and received, and not seen.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }
}
