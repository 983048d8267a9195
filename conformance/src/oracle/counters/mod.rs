//! The device's own counters against what was seen on the wire.
//!
//! A [`Tally`] is told of every frame that comes to a device and of every frame that it sends. [`compare`] holds it against
//! the difference of two readings of the device's counters. The device has to be alone on its wire meanwhile, and the
//! second reading has to be one that does not move any more: counts may lag.
//!
//! Only counters whose meaning is certain are compared (see `names`), and only as far as the wire can tell: what a device
//! sends it has to count exactly, where it is said that all of it is counted; what comes it may drop before it counts it.

mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rocespec_codec::{Ecn, Frame, Header, NakCode, Roce, SyndromeClass, Transport, decode, icrc};
use rocespec_reports::outcome::Level;

use super::Breach;
use names::{Counts, KNOWN};

/// The rule. A scenario that cites it and runs alone has the counters compared.
pub const RULE: &str = "device.link.counters";

/// What a device answers to `counters`.
pub type Reading = BTreeMap<String, u64>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $words:literal,)*) => {
        /// What is counted on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            const COUNT: usize = [$(Kind::$kind),*].len();

            /// In messages.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Kind::$kind => $words,)*
                }
            }
        }
    };
}

kinds! {
    /// All frames.
    Frames "frames",
    /// RoCE packets, right or wrong.
    Packets "RoCE packets",
    /// RoCE packets to a single station.
    Unicast "RoCE packets to one station",
    /// Requests of any transport service.
    Requests "requests",
    /// Responses.
    Responses "responses",
    /// NAK with PSN sequence error.
    SequenceNaks "NAKs for a PSN sequence error",
    /// RNR NAK.
    RnrNaks "RNR NAKs",
    /// Congestion notification packets.
    Cnps "CNPs",
    /// RoCE packets with the congestion mark.
    Marked "RoCE packets marked CE",
    /// RoCE packets whose ICRC is wrong.
    Damaged "RoCE packets with a wrong ICRC",
    /// PAUSE and priority-based flow control.
    Pauses "PAUSE and PFC frames",
}

/// How many frames of each kind went one way. What cannot be decoded may be of any kind.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    sure: [u64; Kind::COUNT],
    unclear: u64,
}

/// What came to a device and what it sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    came: Way,
    left: Way,
}

impl Tally {
    /// A frame has come to the device.
    pub fn came(&mut self, frame: &[u8]) {
        self.came.take(frame);
    }

    /// The device has sent a frame.
    pub fn left(&mut self, frame: &[u8]) {
        self.left.take(frame);
    }

    /// How many frames there were, both ways.
    pub fn frames(&self) -> u64 {
        self.came.sure[Kind::Frames as usize] + self.left.sure[Kind::Frames as usize]
    }
}

impl Way {
    fn take(&mut self, frame: &[u8]) {
        self.add(Kind::Frames);
        match decode(frame) {
            Ok(Frame::Roce(packet)) => self.packet(&packet),
            Ok(Frame::MacControl(_)) => self.add(Kind::Pauses),
            Ok(Frame::Arp(_) | Frame::Neighbor(_) | Frame::Lldp(_)) => {}
            _ => self.unclear += 1,
        }
    }

    fn packet(&mut self, packet: &Roce<'_>) {
        self.add(Kind::Packets);
        if packet.eth.dst.0[0] & 1 == 0 {
            self.add(Kind::Unicast);
        }
        let opcode = packet.bth.opcode;
        match opcode.info() {
            _ if opcode.transport() == Transport::Cnp => self.add(Kind::Cnps),
            Some(info) if info.is_response() => self.add(Kind::Responses),
            _ => self.add(Kind::Requests),
        }
        if opcode.headers().contains(&Header::Aeth) {
            match packet.ext.aeth.syndrome.class() {
                SyndromeClass::Nak(NakCode::PsnSequenceError) => self.add(Kind::SequenceNaks),
                SyndromeClass::RnrNak(_) => self.add(Kind::RnrNaks),
                _ => {}
            }
        }
        if packet.net.ecn() == Ecn::Ce {
            self.add(Kind::Marked);
        }
        if !icrc::verify(packet) {
            self.add(Kind::Damaged);
        }
    }

    fn add(&mut self, kind: Kind) {
        self.sure[kind as usize] += 1;
    }

    /// At least and at most so many frames were of this kind.
    fn range(&self, kind: Kind) -> (u64, u64) {
        let sure = self.sure[kind as usize];
        (sure, if kind == Kind::Frames { sure } else { sure + self.unclear })
    }
}

/// What the device's counters say that the wire does not. `before` and `after` are readings of the counters around what
/// the tally has seen.
///
/// A counter that was not there before, or that went back, was set to zero meanwhile and says nothing.
pub fn compare(before: &Reading, after: &Reading, tally: &Tally) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (name, counts, moved) in moved(before, after) {
        let (least, most, what, why) = match counts {
            Counts::Left(kind) => {
                let (least, most) = tally.left.range(kind);
                (least, most, format!("{} that it sent", kind.words()), EXACT)
            }
            Counts::LeftBut(kind, other) => {
                let (least, most) = tally.left.range(kind);
                let what = format!("{} that it sent, but for one with each of the {}", kind.words(), other.words());
                (least.saturating_sub(tally.left.range(other).1), most, what, EXACT)
            }
            Counts::LeftAtMost(kind) => {
                let (_, most) = tally.left.range(kind);
                (0, most, format!("at most the {} that it sent", kind.words()), AT_MOST_LEFT)
            }
            Counts::Came(kind) => {
                let (_, most) = tally.came.range(kind);
                (0, most, format!("at most the {} that came", kind.words()), AT_MOST)
            }
            Counts::Answered(kind, answer) => {
                // An answer that stands for none that came is a fault of another kind.
                let (least, most) = (tally.left.range(answer).0, tally.came.range(kind).1);
                let what = format!("the {} that came, at least those answered by {}", kind.words(), answer.words());
                (least.min(most), most, what, ANSWERED)
            }
        };
        if !(least..=most).contains(&moved) {
            let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
            breaches.push(Breach {
                rule: RULE,
                level: Level::Should,
                expected: format!("counter {name} up by {range}, {what}"),
                seen: format!("counter {name} up by {moved}"),
                why,
            });
        }
    }
    breaches
}

/// How many counters there are to compare in two readings.
pub fn comparable(before: &Reading, after: &Reading) -> usize {
    moved(before, after).count()
}

/// Known counters with what they count and how far they moved.
fn moved<'r>(before: &'r Reading, after: &'r Reading) -> impl Iterator<Item = (&'static str, Counts, u64)> + 'r {
    KNOWN.iter().filter_map(|(name, counts)| {
        let moved = after.get(*name)?.checked_sub(*before.get(*name)?)?;
        Some((*name, *counts, moved))
    })
}

const EXACT: &str = "each packet that a device sends is to be counted once";
const AT_MOST_LEFT: &str = "a device cannot have sent what did not come from it";
const AT_MOST: &str = "a device cannot have received what did not come to it";
const ANSWERED: &str = "each answer stands for at least one packet that came, and none was received that did not come";
