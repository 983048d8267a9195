//! What lies between two ends: a cable that loses, doubles, reorders, delays, damages and marks frames, or a switch.
//!
//! Everything is in virtual time and follows from a seed or a list: the same calls give the same arrivals.
//!
//! ```
//! use std::time::Duration;
//! use rocespec::link::{End, Faults, Link, RandomFaults, Rate};
//! use rocespec_model::Time;
//!
//! let lossy = Faults { loss: Rate::percent(50), ..Faults::default() };
//! let mut link = Link::new(Duration::from_micros(1), RandomFaults::new(lossy, 7));
//! for n in 0..100 {
//!     link.send(Time::ZERO, End::A, vec![n]);
//! }
//! let arrival = link.next_arrival().expect("some came through");
//! assert_eq!(arrival, Time::from_nanos(1000));
//! let mut arrived = 0;
//! while let Some((to, _frame)) = link.receive(arrival) {
//!     assert_eq!(to, End::B);
//!     arrived += 1;
//! }
//! assert!((30..70).contains(&arrived));
//! ```

mod damage;
mod fate;
mod faults;
mod listed;
pub mod pair;
mod script;
mod switch;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use rocespec_model::{LinkSpeed, Time};

pub use damage::mark_ce;
pub use fate::{Damage, Fate, Fates};
pub use faults::{Burst, Faults, RandomFaults, Rate};
pub use listed::Listed;
pub use script::{Rule, Script, Selector};
pub use switch::{EcnMarking, PfcThresholds, PortCounters, Switch, SwitchConfig};
use wire::Wire;

/// One of two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "two letters")]
pub enum End {
    A,
    B,
}

impl End {
    /// Both.
    pub const BOTH: [End; 2] = [End::A, End::B];

    /// The one at the far side.
    #[must_use]
    pub const fn other(self) -> End {
        match self {
            End::A => End::B,
            End::B => End::A,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

/// A cable between two ends, with its faults.
#[derive(Debug)]
pub struct Link {
    wires: [Wire; 2],
    fates: Box<dyn Fates>,
    speed: Option<LinkSpeed>,
    hits: u64,
}

impl Link {
    /// A cable on which a frame takes `delay`, with `fates` to say what happens to each.
    pub fn new(delay: Duration, fates: impl Fates + 'static) -> Link {
        Link { wires: [Wire::new(delay), Wire::new(delay)], fates: Box::new(fates), speed: None, hits: 0 }
    }

    /// The same cable, where the bits of a frame take their time: what an end begins to send now is there when its last bit
    /// is. That frames do not begin before those in front of them are through is the sender's matter.
    #[must_use]
    pub fn with_speed(self, speed: Option<LinkSpeed>) -> Link {
        Link { speed, ..self }
    }

    /// The same cable, on which a frame waits so long for others that overtake it; 100 us otherwise.
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Link {
        self.wires.iter_mut().for_each(|wire| wire.wait_for_others(patience));
        self
    }

    /// An end sends a frame.
    pub fn send(&mut self, now: Time, from: End, frame: Vec<u8>) {
        let fate = self.fates.fate(from, &frame);
        self.send_to(now, from, frame, fate);
    }

    /// An end sends a frame whose fate was decided elsewhere.
    pub fn send_to(&mut self, now: Time, from: End, frame: Vec<u8>, fate: Fate) {
        self.hits += u64::from(fate != Fate::default());
        let through = self.speed.map_or(now, |speed| now + speed.time_of_frame(frame.len()));
        self.wires[from as usize].send(through, frame, fate);
    }

    /// Frames that something has happened to.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// When the next frame arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.wires.iter().filter_map(Wire::next_arrival).min()
    }

    /// Gives a frame that has arrived by now, and where. To be called until there is none.
    pub fn receive(&mut self, now: Time) -> Option<(End, Vec<u8>)> {
        let first = |end: End| self.wires[end as usize].next_arrival().map(|at| (at, end));
        let (at, from) = End::BOTH.into_iter().filter_map(first).min()?;
        if at > now {
            return None;
        }
        Some((from.other(), self.wires[from as usize].receive()?))
    }

    /// Frames that are on their way.
    pub fn in_flight(&self) -> usize {
        self.wires.iter().map(Wire::in_flight).sum()
    }
}
