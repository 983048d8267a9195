//! READs, ATOMICs, FLUSHes and ATOMIC WRITEs that can be answered again.

use alloc::collections::VecDeque;

use rocespec_codec::{Psn, Reth};

use crate::context::Context;
use crate::defect::Defect;
use crate::verbs::MAX_REGION;

/// The newest of them, as many as the queue pair granted.
#[derive(Debug, Default)]
pub(super) struct Remembered(VecDeque<Entry>);

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) psn: Psn,
    /// How many PSNs it took.
    pub(super) psns: u32,
    pub(super) what: What,
}

/// What there is to repeat.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A READ is executed again.
    Read(Reth),
    /// An ATOMIC's result is sent again.
    Atomic { original: u64 },
    /// A FLUSH or an ATOMIC WRITE has no result but that it is done.
    Placed,
}

impl Remembered {
    /// Remembers one more and forgets the oldest beyond `limit`.
    pub(super) fn push(&mut self, entry: Entry, limit: usize) {
        while self.0.len() >= limit.max(1) {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    /// The value that an ATOMIC of this PSN returned.
    pub(super) fn atomic(&self, psn: Psn) -> Option<u64> {
        self.0.iter().find_map(|entry| match entry.what {
            What::Atomic { original } if entry.psn == psn => Some(original),
            _ => None,
        })
    }

    /// True when a FLUSH or an ATOMIC WRITE of this PSN is done.
    pub(super) fn placed(&self, psn: Psn) -> bool {
        self.0.iter().any(|entry| matches!(entry.what, What::Placed) && entry.psn == psn)
    }

    /// The READ that took this PSN, and how many PSNs lie before it in that READ.
    pub(super) fn read(&self, psn: Psn) -> Option<(Reth, u32)> {
        self.0.iter().find_map(|entry| match entry.what {
            What::Read(reth) if psn.is_within(entry.psn, entry.psns) => {
                Some((reth, psn.since(entry.psn).unsigned_abs()))
            }
            _ => None,
        })
    }

    /// The first PSN behind `psn` that belongs to one of them.
    pub(super) fn first_behind(&self, psn: Psn) -> Option<Psn> {
        self.0.iter().map(|entry| entry.psn).filter(|start| start.since(psn) > 0).min_by_key(|start| start.since(psn))
    }
}

/// True when `retry`, `skipped` responses into the original, asks for nothing but what the original asked for from
/// there on: same key, the address that belongs to the PSN, no byte beyond its end.
pub(super) fn is_part_of(retry: &Reth, original: &Reth, skipped: u32, mtu: usize, cx: &Context<'_>) -> bool {
    // rule: rc.responder.duplicate-read-outside
    if cx.has(Defect::AnswersDuplicateReadOutside) {
        return u64::from(retry.len) <= MAX_REGION;
    }
    let offset = u64::from(skipped) * mtu as u64;
    if original.len == 0 {
        return retry.len == 0;
    }
    let left = u64::from(original.len).saturating_sub(offset);
    retry.rkey == original.rkey
        && retry.va == original.va.wrapping_add(offset)
        && retry.len > 0
        && u64::from(retry.len) <= left
}
