//! Memory that packets name by key and address. Both are new in each run, so what counts is that they go together: the same
//! key of one side is always the same key of the other, and addresses are as far apart.

use std::collections::HashMap;

/// What a packet says of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// Address; a packet may name a key alone.
    pub(super) va: Option<u64>,
    /// Remote key.
    pub(super) rkey: u32,
}

/// What memory is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// `mr1`, or the number of a key that has no counterpart.
    pub(super) rkey: String,
    /// `mr1+0x40`, counted from the first address of the key that both sides named.
    pub(super) va: String,
}

/// Keys of one connection, by what they are on each of the two sides.
#[derive(Debug, Default)]
pub(super) struct Regions([HashMap<u32, Region>; 2]);

#[derive(Debug, Clone, Copy)]
struct Region {
    number: usize,
    base: Option<u64>,
}

impl Regions {
    /// Two packets that belong together name these.
    pub(super) fn learn(&mut self, pair: [Memory; 2]) {
        let known = [0, 1].map(|side| self.0[side].get(&pair[side].rkey).copied());
        let number = match known {
            [None, None] => self.0[0].len() + 1,
            [Some(one), Some(other)] if one.number == other.number && one.base.is_none() => one.number,
            _ => return,
        };
        let bases =
            if pair.iter().all(|memory| memory.va.is_some()) { pair.map(|memory| memory.va) } else { [None; 2] };
        for side in 0..2 {
            self.0[side].insert(pair[side].rkey, Region { number, base: bases[side] });
        }
    }

    /// What memory of a side is called.
    pub(super) fn name(&self, side: usize, memory: Memory) -> Named {
        let va = memory.va.unwrap_or_default();
        match self.0[side].get(&memory.rkey) {
            Some(region) => {
                let rkey = format!("mr{}", region.number);
                let va = match region.base {
                    Some(base) => format!("{rkey}{}", offset(va.wrapping_sub(base) as i64)),
                    None => format!("{va:#x}"),
                };
                Named { rkey, va }
            }
            None => Named { rkey: format!("{:#x}", memory.rkey), va: format!("{va:#x}") },
        }
    }

    /// True when both say the same of memory.
    pub(super) fn agree(&self, pair: [Memory; 2]) -> bool {
        let known = [0, 1].map(|side| self.0[side].get(&pair[side].rkey));
        let [Some(one), Some(other)] = known else { return false };
        let distance = |memory: Memory, region: &Region| match (memory.va, region.base) {
            (Some(va), Some(base)) => Some(va.wrapping_sub(base)),
            (va, _) => va,
        };
        one.number == other.number && distance(pair[0], one) == distance(pair[1], other)
    }
}

/// `+0x40`, `-0x10` or nothing.
fn offset(offset: i64) -> String {
    match offset {
        0 => String::new(),
        1.. => format!("+{offset:#x}"),
        _ => format!("-{:#x}", offset.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rkey: u32, va: u64) -> Memory {
        Memory { va: Some(va), rkey }
    }

    #[test]
    fn keys_go_together_and_addresses_are_as_far_apart() {
        let mut regions = Regions::default();
        regions.learn([at(7, 0x1000), at(9, 0x8000)]);
        assert!(regions.agree([at(7, 0x1040), at(9, 0x8040)]));
        assert!(regions.agree([at(7, 0xfff), at(9, 0x7fff)]));
        assert!(!regions.agree([at(7, 0x1040), at(9, 0x8041)]));
        assert!(!regions.agree([at(7, 0x1040), at(10, 0x8040)]));
        assert_eq!(regions.name(1, at(9, 0x7ff0)), Named { rkey: "mr1".to_owned(), va: "mr1-0x10".to_owned() });
        assert_eq!(regions.name(1, at(10, 0x10)), Named { rkey: "0xa".to_owned(), va: "0x10".to_owned() });
    }

    #[test]
    fn a_key_has_one_counterpart_for_good() {
        let mut regions = Regions::default();
        regions.learn([at(7, 0x1000), at(9, 0x8000)]);
        regions.learn([at(7, 0x1000), at(10, 0x8000)]);
        assert!(!regions.agree([at(7, 0x1000), at(10, 0x8000)]));
        regions.learn([at(8, 0), at(10, 0)]);
        assert!(regions.agree([at(8, 5), at(10, 5)]));
    }

    #[test]
    fn a_key_without_an_address_gets_its_base_later() {
        let mut regions = Regions::default();
        let bare = |rkey| Memory { va: None, rkey };
        regions.learn([bare(7), bare(9)]);
        assert!(regions.agree([bare(7), bare(9)]));
        regions.learn([at(7, 0x10), at(9, 0x20)]);
        assert!(regions.agree([at(7, 0x11), at(9, 0x21)]) && regions.agree([bare(7), bare(9)]));
    }
}
