//! Which packet of one side belongs to which packet of the other.

use super::packet::Packet;

/// One step of an alignment; the numbers are places in the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// These belong together.
    Both(usize, usize),
    /// Only the first list has it.
    Left(usize),
    /// Only the second list has it.
    Right(usize),
}

/// Cost of a packet without a partner.
const ALONE: u32 = 4;
/// Most cells of the table, four bytes each. Longer stretches without a common packet at either end are paired by place.
const MOST_CELLS: usize = 1 << 24;

/// Cost of making a pair of these.
fn cost(left: &Packet, right: &Packet) -> u32 {
    let (same_head, same_psn) = (left.head() == right.head(), left.psn == right.psn);
    match (same_head, same_psn) {
        (true, true) if left.agrees(right) => 0,
        (true, true) => 1,
        (true, false) | (false, true) => 3,
        // Two strangers: dearer than leaving both alone.
        (false, false) => 2 * ALONE + 1,
    }
}

/// The cheapest alignment of two lists: packets that agree are paired, as many as can be; then those that differ least.
pub fn align(left: &[Packet], right: &[Packet]) -> Vec<Pair> {
    let agree = |(left, right): &(&Packet, &Packet)| left.agrees(right);
    let head = left.iter().zip(right).take_while(agree).count();
    let (left, right) = (&left[head..], &right[head..]);
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(agree).count();
    let (left_end, right_end) = (left.len() - tail, right.len() - tail);
    let mut pairs: Vec<Pair> = (0..head).map(|at| Pair::Both(at, at)).collect();
    let shifted = |pair| match pair {
        Pair::Both(l, r) => Pair::Both(l + head, r + head),
        Pair::Left(l) => Pair::Left(l + head),
        Pair::Right(r) => Pair::Right(r + head),
    };
    pairs.extend(middle(&left[..left_end], &right[..right_end]).into_iter().map(shifted));
    pairs.extend((0..tail).map(|at| shifted(Pair::Both(left_end + at, right_end + at))));
    pairs
}

fn middle(left: &[Packet], right: &[Packet]) -> Vec<Pair> {
    let width = right.len() + 1;
    if (left.len() + 1).saturating_mul(width) > MOST_CELLS {
        return by_place(left.len(), right.len());
    }
    // costs[l * width + r]: the cheapest alignment of what stands behind left[l] and right[r], both included.
    let mut costs = vec![0_u32; (left.len() + 1) * width];
    for l in (0..=left.len()).rev() {
        for r in (0..=right.len()).rev() {
            let at = l * width + r;
            costs[at] = match (left.get(l), right.get(r)) {
                (Some(one), Some(other)) => {
                    let alone = ALONE + costs[at + width].min(costs[at + 1]);
                    alone.min(cost(one, other) + costs[at + width + 1])
                }
                (Some(_), None) => ALONE + costs[at + width],
                (None, Some(_)) => ALONE + costs[at + 1],
                (None, None) => 0,
            };
        }
    }
    let (mut l, mut r, mut pairs) = (0, 0, Vec::new());
    while l < left.len() || r < right.len() {
        let at = l * width + r;
        let both = left.get(l).zip(right.get(r)).map(|(one, other)| cost(one, other) + costs[at + width + 1]);
        if both == Some(costs[at]) {
            pairs.push(Pair::Both(l, r));
            (l, r) = (l + 1, r + 1);
        } else if l < left.len() && ALONE + costs[at + width] == costs[at] {
            pairs.push(Pair::Left(l));
            l += 1;
        } else {
            pairs.push(Pair::Right(r));
            r += 1;
        }
    }
    pairs
}

fn by_place(left: usize, right: usize) -> Vec<Pair> {
    (0..left.max(right))
        .map(|at| match (at < left, at < right) {
            (true, true) => Pair::Both(at, at),
            (true, false) => Pair::Left(at),
            _ => Pair::Right(at),
        })
        .collect()
}
