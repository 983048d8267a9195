//! Who sends wrong ICRCs, and whether the capture is to blame.

use std::collections::HashMap;
use std::net::Ipv6Addr;

use rocespec_codec::icrc;
use rocespec_codec::icrc::Verdict;

use super::packet::Seen;

/// What stands in place of the ICRCs of one address.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    right: u64,
    wrong: u64,
    first_wrong: u64,
    value: u32,
    /// All wrong ones have the same value.
    is_constant: bool,
    /// Some come from a known mistake: no capture makes it.
    is_mistaken: bool,
    /// Its packets were answered all the same.
    is_answered: bool,
}

impl Record {
    /// The capture holds something else in place of its ICRCs: none is right, and they are one value, or nobody minds them.
    fn has_placeholders(&self) -> bool {
        self.wrong > 0
            && self.right == 0
            && !self.is_mistaken
            && (self.is_constant && (self.wrong > 1 || self.value == 0) || self.is_answered)
    }
}

/// All addresses that send.
#[derive(Debug, Clone, Default)]
pub(super) struct Senders {
    known: HashMap<Ipv6Addr, Sender>,
    records: Vec<Record>,
}

/// One of the addresses that send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender(usize);

impl Senders {
    /// The one with this address.
    pub(super) fn of(&mut self, address: Ipv6Addr) -> Sender {
        *self.known.entry(address).or_insert_with(|| {
            self.records.push(Record::default());
            Sender(self.records.len() - 1)
        })
    }

    /// Notes the ICRC of a packet. True when its receiver takes it, as far as that tells.
    pub(super) fn note(&mut self, sender: Sender, seen: &Seen<'_>) -> bool {
        let Some(right) = seen.right_icrc else { return true };
        let sender = &mut self.records[sender.0];
        if right == seen.packet.icrc {
            sender.right += 1;
            return true;
        }
        let value = seen.packet.icrc;
        if sender.wrong == 0 {
            (sender.first_wrong, sender.value, sender.is_constant) = (seen.number, value, true);
        }
        sender.wrong += 1;
        sender.is_constant &= sender.value == value;
        // The first ones tell.
        if sender.wrong <= 16 {
            let verdict = icrc::explain(seen.packet).verdict;
            sender.is_mistaken |= !matches!(verdict, Verdict::Placeholder | Verdict::Wrong);
        }
        sender.right == 0
    }

    pub(super) fn is_answered(&mut self, sender: Sender) {
        self.records[sender.0].is_answered = true;
    }

    pub(super) fn has_placeholders(&self, address: Ipv6Addr) -> bool {
        self.known.get(&address).is_some_and(|sender| self.records[sender.0].has_placeholders())
    }

    /// Frames with placeholders, and the first of them.
    pub(super) fn placeholders(&self) -> (u64, u64) {
        let theirs = self.records.iter().filter(|sender| sender.has_placeholders());
        theirs.fold((0, u64::MAX), |(count, first), sender| (count + sender.wrong, first.min(sender.first_wrong)))
    }
}
