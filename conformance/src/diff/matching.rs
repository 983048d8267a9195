//! Which connection of one recording belongs to which of the other.

use std::collections::{HashMap, VecDeque};

use super::side::{Conversation, Form, Packet, Side, Stream, Who};

/// Packets of each sender at the beginning that are looked at.
const LOOKED_AT: usize = 64;
/// Most pairs of connections that are held against each other; beyond, the order of appearance decides.
const MOST_PAIRS: usize = 1 << 16;

/// A connection in each recording, by place; `swapped` when the end that is seen first is the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) places: [Option<usize>; 2],
    pub(super) swapped: bool,
}

/// The connections of the first recording in their order, each with its counterpart, then those that only the second has.
pub(super) fn connections(sides: [&Side; 2]) -> Vec<Match> {
    let [one, other] = sides.map(|side| &side.connections[..]);
    let mut partners: Vec<Option<(usize, bool)>> = vec![None; one.len()];
    let mut taken = vec![false; other.len()];
    by_beginning(one, other, &mut partners, &mut taken);
    if sides[0].form == Form::Capture {
        by_likeness(one, other, &mut partners, &mut taken);
    }
    let of_one = partners.iter().enumerate().map(|(at, partner)| Match {
        places: [Some(at), partner.map(|(place, _)| place)],
        swapped: partner.is_some_and(|(_, swapped)| swapped),
    });
    let of_other = (0..other.len()).filter(|&at| !taken[at]);
    of_one.chain(of_other.map(|at| Match { places: [None, Some(at)], swapped: false })).collect()
}

/// What a packet is at the beginning of a connection: its kind, and its PSN counted from the packet before it, so that it
/// does not matter where a recording begins.
type Mark<'c> = (&'c str, Option<i32>);

fn marks(stream: &Stream) -> impl Iterator<Item = Mark<'_>> {
    let mut before = None;
    let mark = move |packet: &'_ Packet| {
        let psn = packet.psn.zip(before).map(|(psn, before): (i32, i32)| psn.wrapping_sub(before));
        before = packet.psn.or(before);
        psn
    };
    stream.packets.iter().take(LOOKED_AT).scan(mark, |mark, packet| Some((packet.head(), mark(packet))))
}

/// Variants of the same name, and connections that begin with the same packets: in the order of appearance.
fn by_beginning(
    one: &[Conversation],
    other: &[Conversation],
    partners: &mut [Option<(usize, bool)>],
    taken: &mut [bool],
) {
    fn beginning(conversation: &Conversation) -> (&str, Vec<Mark<'_>>) {
        match &conversation.ends[..] {
            // The name of a variant.
            [name] => (name, Vec::new()),
            _ => (conversation.transport, conversation.streams.iter().flat_map(marks).collect()),
        }
    }
    let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, conversation) in other.iter().enumerate() {
        waiting.entry(beginning(conversation)).or_default().push_back(at);
    }
    for (at, conversation) in one.iter().enumerate() {
        if let Some(place) = waiting.get_mut(&beginning(conversation)).and_then(VecDeque::pop_front) {
            partners[at] = Some((place, false));
            taken[place] = true;
        }
    }
}

/// The others: those first that have most in common, then in the order of appearance.
fn by_likeness(
    one: &[Conversation],
    other: &[Conversation],
    partners: &mut [Option<(usize, bool)>],
    taken: &mut [bool],
) {
    let rest: Vec<usize> = (0..one.len()).filter(|&at| partners[at].is_none()).collect();
    let rest_of_other: Vec<usize> = (0..other.len()).filter(|&at| !taken[at]).collect();
    let mut pair = |l: usize, r: usize, swapped: bool| {
        if partners[l].is_none() && !taken[r] {
            partners[l] = Some((r, swapped));
            taken[r] = true;
        }
    };
    if rest.len().saturating_mul(rest_of_other.len()) <= MOST_PAIRS {
        let mut likeness = Vec::new();
        for (rank_l, &l) in rest.iter().enumerate() {
            for (rank_r, &r) in rest_of_other.iter().enumerate() {
                if one[l].transport == other[r].transport {
                    for swapped in [false, true] {
                        let common = common(&one[l], &other[r], swapped);
                        let is_like = common * 4 >= looked_at(&one[l]).min(looked_at(&other[r])) && common > 0;
                        if is_like {
                            likeness.push((std::cmp::Reverse(common), rank_l.abs_diff(rank_r), l, r, swapped));
                        }
                    }
                }
            }
        }
        likeness.sort_unstable();
        for (_, _, l, r, swapped) in likeness {
            pair(l, r, swapped);
        }
        return;
    }
    let mut waiting: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for &r in &rest_of_other {
        waiting.entry(other[r].transport).or_default().push_back(r);
    }
    for &l in &rest {
        if let Some(r) = waiting.get_mut(one[l].transport).and_then(VecDeque::pop_front) {
            pair(l, r, false);
        }
    }
}

fn looked_at(conversation: &Conversation) -> usize {
    conversation.streams.iter().map(|stream| stream.packets.len().min(LOOKED_AT)).sum()
}

/// Packets at the beginning that both have.
fn common(one: &Conversation, other: &Conversation, swapped: bool) -> usize {
    let common = |stream: &Stream| {
        let who = facing(stream.who, swapped);
        let Some(there) = other.streams.iter().find(|there| there.who == who && there.role == stream.role) else {
            return 0;
        };
        let mut left: HashMap<Mark<'_>, usize> = HashMap::new();
        for mark in marks(there) {
            *left.entry(mark).or_default() += 1;
        }
        let mut common = 0;
        for mark in marks(stream) {
            if let Some(count) = left.get_mut(&mark).filter(|count| **count > 0) {
                *count -= 1;
                common += 1;
            }
        }
        common
    };
    one.streams.iter().map(common).sum()
}

/// Who of the second recording is this one of the first.
pub(super) fn facing(who: Who, swapped: bool) -> Who {
    match who {
        Who::A if swapped => Who::B,
        Who::B if swapped => Who::A,
        who => who,
    }
}

/// How much further on in a connection the second recording begins than the first, in PSNs of a sender's requests: what most
/// of the packets say that are at the beginning of both. 0 where the connection manager said where PSNs begin.
pub(super) fn shift(one: &Stream, other: &Stream) -> i32 {
    if one.is_announced && other.is_announced {
        return 0;
    }
    let mut votes: HashMap<i32, usize> = HashMap::new();
    for left in one.packets.iter().take(LOOKED_AT) {
        for right in other.packets.iter().take(LOOKED_AT).filter(|right| right.line == left.line) {
            if let (Some(left), Some(right)) = (left.psn, right.psn) {
                *votes.entry(left.wrapping_sub(right)).or_default() += 1;
            }
        }
    }
    let most = |(shift, votes): &(&i32, &usize)| (**votes, std::cmp::Reverse(shift.unsigned_abs()));
    votes.iter().max_by_key(most).map_or(0, |(shift, _)| *shift)
}
