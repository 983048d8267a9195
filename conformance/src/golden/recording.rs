//! The trace of a case in normal form, line by line.

use std::time::Duration;

use rocespec_model::Time;
use rocespec_reports::outcome::Actor;

use super::packet::Packet;

/// The trace of a case in normal form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// In the order in which it was recorded.
    pub lines: Vec<Line>,
}

/// A line of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Since the start of the case, in nanoseconds.
    pub time_ns: u64,
    /// Who acts.
    pub actor: Actor,
    /// The packet in the notation, or what was done.
    pub text: String,
    /// Line of the scenario file that caused it; a golden does not know.
    pub line: Option<u32>,
    /// Number of the frame in the capture of the case; a golden does not know.
    pub frame: Option<u32>,
}

impl Recording {
    /// Time between a line and the one before it.
    pub fn delay(&self, at: usize) -> Duration {
        let time = |at: usize| self.lines.get(at).map_or(0, |line| line.time_ns);
        let before = at.checked_sub(1).map_or(0, time);
        Duration::from_nanos(time(at).saturating_sub(before))
    }

    /// True when both say the same at the same times: where they are in files does not count.
    pub fn is(&self, other: &Recording) -> bool {
        self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(|(one, other)| one.is(other) && one.time_ns == other.time_ns)
    }

    /// Bytes that it takes in memory.
    pub(super) fn size(&self) -> usize {
        self.lines.iter().map(Line::size).sum()
    }

    /// Places of what one side did.
    pub(super) fn places(&self, whose: impl Fn(Actor) -> bool) -> Vec<usize> {
        (0..self.lines.len()).filter(|&at| whose(self.lines[at].actor)).collect()
    }

    /// The packets at these places.
    pub(super) fn packets(&self, places: &[usize]) -> Vec<Packet> {
        let packet = |&at: &usize| Packet::read(&self.lines[at].text, Time::from_nanos(self.lines[at].time_ns));
        places.iter().map(packet).collect()
    }
}

impl Line {
    /// Bytes that it takes in memory.
    pub(super) fn size(&self) -> usize {
        size_of::<Line>() + self.text.len()
    }

    /// True when both are the same act.
    pub(super) fn is(&self, other: &Line) -> bool {
        self.actor == other.actor && self.text == other.text
    }
}
