//! What differs in the same way on most packets of a sender is said once: another traffic class, for example.

use std::collections::HashMap;

use super::result::{FieldDifference, Throughout};
use super::side::Who;

/// Fewest packets that make a habit.
const FEWEST: u64 = 3;
/// Most different differences that are counted.
const MOST: usize = 4096;

/// The kind of packet or, for all of them, `None`; the field and its two values.
type What = (Option<String>, String, [String; 2]);

struct Tally {
    count: u64,
    frames: [u64; 2],
    field: FieldDifference,
}

/// Counts what differs on the packets of a sender.
#[derive(Default)]
pub(super) struct Habits {
    pairs: u64,
    /// By kind.
    pairs_of: HashMap<String, u64>,
    tallies: HashMap<What, Tally>,
}

impl Habits {
    /// A pair of packets of this kind.
    pub(super) fn count(&mut self, head: &str, frames: [u64; 2], fields: &[FieldDifference]) {
        self.pairs += 1;
        match self.pairs_of.get_mut(head) {
            Some(count) => *count += 1,
            None => drop(self.pairs_of.insert(head.to_owned(), 1)),
        }
        for field in fields {
            for packet in [None, Some(head.to_owned())] {
                let what = (packet, field.name.clone(), field.values.clone());
                if self.tallies.len() < MOST || self.tallies.contains_key(&what) {
                    let new = || Tally { count: 0, frames, field: field.clone() };
                    self.tallies.entry(what).or_insert_with(new).count += 1;
                }
            }
        }
    }

    /// Drops what is no habit.
    pub(super) fn settle(&mut self) {
        let Habits { pairs, pairs_of, tallies } = self;
        let is_habit = |(packet, ..): &What, tally: &Tally| {
            let all = packet.as_ref().map_or(*pairs, |head| pairs_of.get(head).copied().unwrap_or(0));
            tally.count >= FEWEST && tally.count * 2 > all
        };
        tallies.retain(|what, tally| is_habit(what, tally));
        let general: Vec<(String, [String; 2])> = tallies
            .keys()
            .filter(|(packet, ..)| packet.is_none())
            .map(|(_, name, values)| (name.clone(), values.clone()))
            .collect();
        // What all kinds of packets do is not said of each kind again.
        tallies.retain(|(packet, name, values), _| {
            packet.is_none() || !general.iter().any(|(known, with)| known == name && with == values)
        });
    }

    /// True for what is said once for all packets.
    pub(super) fn holds(&self, head: &str, field: &FieldDifference) -> bool {
        let is_known = |packet| self.tallies.contains_key(&(packet, field.name.clone(), field.values.clone()));
        !self.tallies.is_empty() && (is_known(None) || is_known(Some(head.to_owned())))
    }

    /// What is said once, in the order in which it shows first.
    pub(super) fn said(self, from: Who) -> Vec<Throughout> {
        let said = |((packet, ..), tally): (What, Tally)| {
            let Tally { count, frames, field } = tally;
            Throughout { from, packet, field, count, frames }
        };
        let mut said: Vec<Throughout> = self.tallies.into_iter().map(said).collect();
        said.sort_by(|one, other| {
            (one.frames, &one.field.name, &one.packet).cmp(&(other.frames, &other.field.name, &other.packet))
        });
        said
    }
}
