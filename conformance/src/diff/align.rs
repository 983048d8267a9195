//! Which packet of one sender belongs to which, for lists of any length.
//!
//! The golden aligner looks at every pair, which long captures do not allow. So packets of the same kind with the same PSN
//! are paired first, the second of them with the second; of these pairs as many are kept as stand in the same order on both
//! sides. What lies between two of them goes to the golden aligner, in pieces.

use std::collections::HashMap;

use super::side::Packet;
use crate::golden::{self, Pair};

/// Most packets of each side that the golden aligner sees at once.
const PIECE: usize = 256;

/// What a packet is, and which of those that are the same.
type Key<'p> = (&'p str, Option<i32>, u32);

/// The alignment of two lists, in the order of both.
pub(super) fn align(left: &[Packet], right: &[Packet]) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(left.len().max(right.len()));
    let (mut l, mut r) = (0, 0);
    for (next_l, next_r) in anchors(left, right) {
        between(left, right, l..next_l, r..next_r, &mut pairs);
        pairs.push(Pair::Both(next_l, next_r));
        (l, r) = (next_l + 1, next_r + 1);
    }
    between(left, right, l..left.len(), r..right.len(), &mut pairs);
    pairs
}

fn keys(packets: &[Packet]) -> Vec<Key<'_>> {
    let mut counts: HashMap<(&str, Option<i32>), u32> = HashMap::new();
    let key = |packet| {
        let (head, psn) = kind(packet);
        let count = counts.entry((head, psn)).or_default();
        *count += 1;
        (head, psn, *count)
    };
    packets.iter().map(key).collect()
}

/// Steps of software have no PSN and no kind: the whole line tells them apart.
fn kind(packet: &Packet) -> (&str, Option<i32>) {
    match packet.psn {
        None => (&packet.line, None),
        psn => (packet.head(), psn),
    }
}

/// Pairs of the same key that stand in the same order on both sides, as many as can be.
fn anchors(left: &[Packet], right: &[Packet]) -> Vec<(usize, usize)> {
    let right: HashMap<Key<'_>, usize> = keys(right).into_iter().enumerate().map(|(at, key)| (key, at)).collect();
    let common = keys(left).into_iter().enumerate().filter_map(|(l, key)| Some((l, *right.get(&key)?)));
    rising(&common.collect::<Vec<_>>())
}

/// The longest part of a list whose second numbers rise.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // ends[n]: the place of the pair with the smallest second number that n others can stand before.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::with_capacity(pairs.len()));
    for (at, (_, r)) in pairs.iter().enumerate() {
        let n = ends.partition_point(|&end| pairs[end].1 < *r);
        before.push(n.checked_sub(1).map(|n| ends[n]));
        match ends.get_mut(n) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut rising: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&at| before[at]).map(|at| pairs[at]).collect();
    rising.reverse();
    rising
}

/// What lies between two pairs.
fn between(
    left: &[Packet],
    right: &[Packet],
    l: std::ops::Range<usize>,
    r: std::ops::Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let (mut next_l, mut next_r) = (l.start, r.start);
    while next_l < l.end || next_r < r.end {
        let (end_l, end_r) = (l.end.min(next_l + PIECE), r.end.min(next_r + PIECE));
        let fields = |packets: &[Packet]| packets.iter().map(|packet| packet.fields(None)).collect::<Vec<_>>();
        let (piece_l, piece_r) = (&left[next_l..end_l], &right[next_r..end_r]);
        if piece_l.is_empty() {
            pairs.extend((next_r..end_r).map(Pair::Right));
        } else if piece_r.is_empty() {
            pairs.extend((next_l..end_l).map(Pair::Left));
        } else {
            pairs.extend(golden::align(&fields(piece_l), &fields(piece_r)).into_iter().map(|pair| match pair {
                Pair::Both(l, r) => Pair::Both(next_l + l, next_r + r),
                Pair::Left(l) => Pair::Left(next_l + l),
                Pair::Right(r) => Pair::Right(next_r + r),
            }));
        }
        (next_l, next_r) = (end_l, end_r);
    }
}

/// Packets that both sides have, but at another place among those of their sender: for each of the alignment that is alone,
/// its place in the other list.
pub(super) fn moved(left: &[Packet], right: &[Packet], pairs: &[Pair]) -> HashMap<usize, usize> {
    let mut alone: HashMap<Key<'_>, usize> = HashMap::new();
    let (keys_l, keys_r) = (keys(left), keys(right));
    for pair in pairs {
        if let Pair::Right(r) = pair {
            alone.insert(keys_r[*r], *r);
        }
    }
    let place = |pair: &Pair| match pair {
        Pair::Left(l) => Some((*l, *alone.get(&keys_l[*l])?)),
        _ => None,
    };
    pairs.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: &[&str]) -> Vec<Packet> {
        let packet = |(at, line): (usize, &&str)| {
            let (head, psn) = line.split_once(' ').unwrap();
            Packet {
                at: at as u64 + 1,
                time_ns: 0,
                delay_ns: 0,
                line: format!("{head} psn=0").into(),
                psn: psn.parse().ok(),
                memory: None,
                mad: None,
            }
        };
        lines.iter().enumerate().map(packet).collect()
    }

    #[test]
    fn what_one_side_lacks_stands_alone_and_the_rest_stays_paired() {
        let (left, right) = (list(&["S 0", "S 1", "S 2", "S 1", "S 2"]), list(&["S 0", "S 2", "S 1", "S 2"]));
        let pairs = align(&left, &right);
        assert_eq!(pairs.iter().filter(|pair| matches!(pair, Pair::Both(..))).count(), 4, "{pairs:?}");
        assert_eq!(pairs.iter().filter(|pair| matches!(pair, Pair::Left(_))).count(), 1, "{pairs:?}");
    }

    #[test]
    fn another_packet_in_the_place_of_one_is_its_partner() {
        let (left, right) = (list(&["ACK 0", "ACK 1", "ACK 2"]), list(&["ACK 0", "NAK 1", "ACK 2"]));
        assert_eq!(align(&left, &right), [Pair::Both(0, 0), Pair::Both(1, 1), Pair::Both(2, 2)]);
    }

    #[test]
    fn two_that_change_places_are_found_again() {
        let (left, right) = (list(&["S 0", "S 1", "S 2", "S 3"]), list(&["S 0", "S 2", "S 1", "S 3"]));
        let pairs = align(&left, &right);
        assert_eq!(moved(&left, &right, &pairs).len(), 1, "{pairs:?}");
    }

    #[test]
    fn every_packet_is_in_an_alignment_once() {
        let numbers = |from: i32, to: i32, step: usize| -> Vec<String> {
            (from..to).step_by(step).map(|psn| format!("S {psn}")).collect()
        };
        let of = |lines: &[String]| list(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let (left, right) = (of(&numbers(0, 3000, 2)), of(&numbers(1, 3000, 3)));
        let (mut seen_l, mut seen_r) = (Vec::new(), Vec::new());
        for pair in align(&left, &right) {
            match pair {
                Pair::Both(l, r) => (seen_l.push(l), seen_r.push(r)),
                Pair::Left(l) => (seen_l.push(l), ()),
                Pair::Right(r) => ((), seen_r.push(r)),
            };
        }
        assert_eq!(seen_l, (0..left.len()).collect::<Vec<_>>());
        assert_eq!(seen_r, (0..right.len()).collect::<Vec<_>>());
    }
}
