//! Faults at random, from a seed.
//!
//! The numbers come from `oorandom`: one generator (PCG32), no dependencies, and another sequence would be another major
//! version, where `rand` and `fastrand` leave themselves free to change theirs. A run must repeat on another machine and
//! years later: a test holds the sequence, chances are whole numbers, never floating point, and every frame takes the
//! same count of draws, so that switching one kind of fault off leaves the others where they were.

use std::time::Duration;

use oorandom::Rand32;

use super::End;
use super::fate::{Damage, Fate, Fates};

const WHOLE: u32 = 1_000_000;

/// A chance in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u32);

impl Rate {
    /// It never happens.
    pub const NEVER: Rate = Rate(0);
    /// It always happens.
    pub const ALWAYS: Rate = Rate(WHOLE);

    /// So many in a million; more than a million is always.
    pub const fn per_million(parts: u32) -> Rate {
        Rate(if parts > WHOLE { WHOLE } else { parts })
    }

    /// So many in a hundred; more than a hundred is always.
    pub const fn percent(parts: u32) -> Rate {
        Rate::per_million(parts.saturating_mul(WHOLE / 100))
    }

    /// Parts per million.
    pub const fn get(self) -> u32 {
        self.0
    }

    pub(super) fn happens(self, random: &mut Rand32) -> bool {
        random.rand_range(0..WHOLE) < self.0
    }
}

impl std::str::FromStr for Rate {
    type Err = String;

    /// A share from 0 to 1 in whole parts per million (`0.01`, `1e-5`), or percent (`1%`, `0.5%`).
    fn from_str(text: &str) -> Result<Rate, String> {
        let wrong = || format!("{text:?} is no share from 0 to 1 in whole parts per million; write 0.01, 1e-2 or 1%");
        let (number, hundredth) = text.strip_suffix('%').map_or((text, 0), |number| (number, 2));
        let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= 9);
        let Some(exponent) = exponent.filter(|_| !whole.is_empty() && digits(whole) && digits(fraction)) else {
            return Err(wrong());
        };
        let number: u64 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
        // The number times ten to this is parts per million.
        let shift = 6 + exponent - hundredth - fraction.len() as i32;
        let scale = 10u64.pow(shift.unsigned_abs());
        let parts = match shift {
            0.. => number.checked_mul(scale),
            _ => number.is_multiple_of(scale).then(|| number / scale),
        };
        parts.filter(|parts| *parts <= u64::from(WHOLE)).map(|parts| Rate(parts as u32)).ok_or_else(wrong)
    }
}

/// How often what goes wrong, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// A frame is lost.
    pub loss: Rate,
    /// Frames are lost in runs, beside those that are lost alone.
    pub burst: Burst,
    /// A frame arrives twice.
    pub duplication: Rate,
    /// A frame arrives behind some that were sent after it.
    pub reordering: Rate,
    /// Behind how many of them at most; 0 is taken as 1.
    pub depth: u32,
    /// A frame takes up to so much longer; the order is kept.
    pub jitter: Duration,
    /// One bit of a frame is turned over.
    pub corruption: Rate,
    /// A frame is cut short.
    pub truncation: Rate,
    /// A frame that allows it is marked as having met congestion.
    pub congestion: Rate,
}

/// Runs of lost frames: the model of Gilbert, with a state in which all is well and one in which every frame is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burst {
    /// A run begins with this frame.
    pub begins: Rate,
    /// It ends in front of this frame. [`Rate::NEVER`] with a run that begins: nothing arrives any more.
    pub ends: Rate,
}

/// Faults at random.
#[derive(Debug)]
pub struct RandomFaults {
    ways: [Way; 2],
}

#[derive(Debug)]
struct Way {
    faults: Faults,
    random: Rand32,
    in_burst: bool,
}

impl RandomFaults {
    /// The same faults in both directions, each with a sequence of its own.
    pub fn new(faults: Faults, seed: u64) -> RandomFaults {
        RandomFaults::each_way([faults; 2], seed)
    }

    /// Faults by the end that sends, A first.
    pub fn each_way(faults: [Faults; 2], seed: u64) -> RandomFaults {
        let way =
            |end: End| Way { faults: faults[end as usize], random: Rand32::new_inc(seed, end as u64), in_burst: false };
        RandomFaults { ways: End::BOTH.map(way) }
    }

    /// The faults of what this end sends. Where they change the sequence goes on.
    pub fn faults(&mut self, from: End) -> &mut Faults {
        &mut self.ways[from as usize].faults
    }
}

impl Fates for RandomFaults {
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate {
        let Way { faults, random, in_burst } = &mut self.ways[from as usize];
        let mut happens = |rate: Rate| rate.happens(random);
        let [lost, begins, ends] = [faults.loss, faults.burst.begins, faults.burst.ends].map(&mut happens);
        let [twice, reordered, flipped] = [faults.duplication, faults.reordering, faults.corruption].map(&mut happens);
        let [cut, congested] = [faults.truncation, faults.congestion].map(&mut happens);
        *in_burst = if *in_burst { !ends } else { begins };
        let behind = 1 + random.rand_range(0..faults.depth.max(1));
        let queued = share_of(faults.jitter, random.rand_u32());
        let place = random.rand_u32();
        let bits = (frame.len() as u32 * 8).max(1);
        let damage = match (cut, flipped) {
            (true, _) => Some(Damage::Cut(place as usize % frame.len().max(1))),
            (false, true) => Some(Damage::Bit(place % bits)),
            (false, false) => None,
        };
        Fate {
            lost: lost || *in_burst,
            copies: u8::from(twice),
            behind: if reordered { behind } else { 0 },
            queued,
            late: Duration::ZERO,
            congested,
            damage,
        }
    }
}

/// From nothing to the whole of a duration, as `random` of 2^32.
fn share_of(duration: Duration, random: u32) -> Duration {
    let nanos = (duration.as_nanos() * u128::from(random)) >> 32;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
