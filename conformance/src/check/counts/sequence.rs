//! Where a packet stands in a stream of PSNs that may begin in the middle and have holes.

use rocespec_codec::Psn;

/// A jump further ahead than this is a new beginning: nobody has that many packets on the way.
const FAR_AHEAD: i32 = 1 << 16;

/// As [`FAR_AHEAD`] where the jump is an ordinary one: behind a READ of a length that takes nobody knows how many PSNs.
const FAR_AHEAD_UNSURE: i32 = 1 << 22;

/// How far back a packet may lie before the first one that was captured.
const FAR_BACK: u32 = 1 << 12;

/// Holes that are remembered: more than a stream that still moves has at once.
const MOST_HOLES: usize = 4;

/// What a packet is to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first one, or so far from the others that they say nothing about it.
    Beginning,
    /// The next one.
    Next,
    /// PSNs before it are missing.
    BehindGap,
    /// Behind the highest one, in PSNs that were missing since this time.
    Filling { since_ns: u64, was_naked: bool },
    /// Behind the highest one, and seen before, or sent before the capture began.
    Again,
}

/// PSNs that were left out.
#[derive(Debug, Clone, Copy)]
struct Hole {
    start: Psn,
    count: u32,
    /// When the packet behind it was seen.
    since_ns: u64,
    was_naked: bool,
}

/// The PSNs of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Sequence {
    /// Behind the highest one.
    next: Option<Psn>,
    first: Option<Psn>,
    /// PSNs from the first one to the highest.
    span: u32,
    /// `next` is at least this: a READ takes more PSNs than is known.
    is_unsure: bool,
    holes: Vec<Hole>,
}

impl Sequence {
    /// Nothing was seen as far on as this.
    pub(super) fn is_beyond(&self, psn: Psn) -> bool {
        !self.is_unsure && self.next.is_some_and(|next| psn.since(next) >= 0)
    }

    /// Where the stream began, as far as it is known.
    pub(super) fn first(&self) -> Option<Psn> {
        self.first
    }

    /// A packet that takes `count` PSNs, or at least so many; `may_skip` where PSNs before it may belong to others.
    #[inline]
    pub(super) fn place(&mut self, psn: Psn, count: (u32, bool), may_skip: bool, time_ns: u64) -> Place {
        let (count, is_unsure) = count;
        let Some(next) = self.next else { return self.begin(psn, count, is_unsure) };
        let ahead = psn.since(next);
        let place = match ahead {
            0 => Place::Next,
            1..FAR_AHEAD_UNSURE if may_skip || self.is_unsure => Place::Next,
            1..FAR_AHEAD => {
                self.open(Hole { start: next, count: ahead as u32, since_ns: time_ns, was_naked: false });
                Place::BehindGap
            }
            FAR_AHEAD.. => return self.begin(psn, count, is_unsure),
            _ if ahead.unsigned_abs() > self.span.max(FAR_BACK) => return self.begin(psn, count, is_unsure),
            _ => self.fill(psn, count),
        };
        let end = psn.plus(count).since(next);
        if end > 0 {
            self.span = self.span.saturating_add(end as u32);
            self.next = Some(psn.plus(count));
            self.is_unsure = is_unsure;
        }
        place
    }

    fn begin(&mut self, psn: Psn, count: u32, is_unsure: bool) -> Place {
        self.first = Some(psn);
        self.next = Some(psn.plus(count));
        self.span = count;
        self.is_unsure = is_unsure;
        self.holes.clear();
        Place::Beginning
    }

    fn open(&mut self, hole: Hole) {
        if self.holes.len() == MOST_HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    fn fill(&mut self, psn: Psn, count: u32) -> Place {
        let Some(at) = self.holes.iter().position(|hole| psn.is_within(hole.start, hole.count)) else {
            return Place::Again;
        };
        let hole = &mut self.holes[at];
        let filling = Place::Filling { since_ns: hole.since_ns, was_naked: hole.was_naked };
        // Holes are filled from their beginning. What is skipped now is given up.
        let filled = psn.plus(count).since(hole.start) as u32;
        if filled >= hole.count {
            self.holes.remove(at);
        } else {
            hole.start = hole.start.plus(filled);
            hole.count -= filled;
        }
        filling
    }

    /// A NAK asks for this PSN: since when it was missing, where this is the first NAK that says so.
    pub(super) fn nak(&mut self, psn: Psn) -> Option<u64> {
        let hole = self.holes.iter_mut().find(|hole| hole.start == psn && !hole.was_naked)?;
        hole.was_naked = true;
        Some(hole.since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(psns: &[u32]) -> Vec<Place> {
        let mut sequence = Sequence::default();
        psns.iter().map(|psn| sequence.place(Psn::new(*psn), (1, false), false, 7)).collect()
    }

    const FILLING: Place = Place::Filling { since_ns: 7, was_naked: false };

    #[test]
    fn a_stream_goes_on_around_the_wrap() {
        assert_eq!(places(&[0xff_ffff, 0, 1, 0xff_ffff]), [Place::Beginning, Place::Next, Place::Next, Place::Again]);
    }

    #[test]
    fn what_was_left_out_fills_its_gap_once() {
        assert_eq!(
            places(&[5, 8, 6, 7, 7, 9]),
            [Place::Beginning, Place::BehindGap, FILLING, FILLING, Place::Again, Place::Next]
        );
    }

    #[test]
    fn a_jump_is_a_new_beginning_and_no_eight_million_packets() {
        assert_eq!(places(&[5, 0x20_0005, 0x20_0006]), [Place::Beginning, Place::Beginning, Place::Next]);
        assert_eq!(places(&[0x20_0000, 5, 6]), [Place::Beginning, Place::Beginning, Place::Next]);
    }

    #[test]
    fn what_was_sent_before_the_capture_began_is_sent_again() {
        assert_eq!(places(&[500, 460, 461]), [Place::Beginning, Place::Again, Place::Again]);
    }

    #[test]
    fn a_read_of_unknown_length_leaves_no_gap() {
        let mut sequence = Sequence::default();
        sequence.place(Psn::new(1), (1, true), false, 0);
        assert_eq!(sequence.place(Psn::new(900), (1, false), false, 0), Place::Next);
        assert_eq!(sequence.place(Psn::new(902), (1, false), false, 0), Place::BehindGap);
    }

    #[test]
    fn a_gap_is_naked_once() {
        let mut sequence = Sequence::default();
        sequence.place(Psn::new(1), (1, false), false, 3);
        sequence.place(Psn::new(4), (1, false), false, 9);
        assert_eq!(sequence.nak(Psn::new(3)), None, "not where the gap begins");
        assert_eq!(sequence.nak(Psn::new(2)), Some(9));
        assert_eq!(sequence.nak(Psn::new(2)), None);
    }

    #[test]
    fn holes_are_bounded() {
        let mut sequence = Sequence::default();
        for psn in 0..1_000 {
            sequence.place(Psn::new(2 * psn), (1, false), false, 0);
        }
        assert_eq!(sequence.holes.len(), MOST_HOLES);
    }
}
