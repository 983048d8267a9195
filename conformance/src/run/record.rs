//! The recorder: every frame and every event of a case, as trace lines and as a pcapng file.

use rocespec_model::Time;
use rocespec_reports::outcome::{Actor, Bytes, TraceLine};

use crate::capture::pcapng::{Direction, Writer};

/// Frames of one case, and bytes in them. No scenario comes near; a device that never stops sending does.
const MOST_FRAMES: u32 = 1 << 14;
const MOST_BYTES: usize = 16 << 20;

/// Records one case.
pub(super) struct Recorder {
    start: Time,
    trace: Vec<TraceLine>,
    pcapng: Writer<Vec<u8>>,
    frames: u32,
    bytes: usize,
    /// When the device's last frame came. The first one of a case may be a late word of the case before.
    last: Option<Time>,
    /// Frames of the device that were stamped before the one in front of them.
    disorder: u32,
}

impl Recorder {
    /// Starts now.
    pub(super) fn new(start: Time) -> Recorder {
        let pcapng = Writer::new(Vec::new()).expect("memory takes every byte");
        Recorder { start, trace: Vec::new(), pcapng, frames: 0, bytes: 0, last: None, disorder: 0 }
    }

    /// Nanoseconds since the case began.
    pub(super) fn since_start(&self, time: Time) -> u64 {
        u64::try_from((time - self.start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes a frame; gives its number in the file.
    pub(super) fn frame(&mut self, time: Time, actor: Actor, frame: &[u8], text: String, line: Option<u32>) -> u32 {
        if actor == Actor::Device {
            self.disorder += u32::from(self.last.is_some_and(|last| time < last));
            self.last = Some(time);
        }
        let time_ns = self.since_start(time);
        let direction = if actor == Actor::Tester { Direction::Outbound } else { Direction::Inbound };
        let comment = match line {
            Some(line) => format!("line {line}: {text}"),
            None => text.clone(),
        };
        self.pcapng.frame(time_ns, direction, frame, Some(&comment)).expect("memory takes every byte");
        self.frames += 1;
        self.bytes += frame.len();
        let bytes = Some(Bytes(frame.to_vec()));
        self.trace.push(TraceLine { time_ns, actor, text, line, frame: Some(self.frames), bytes });
        self.frames
    }

    /// More than it can hold: the case is to end.
    pub(super) fn is_full(&self) -> bool {
        self.frames >= MOST_FRAMES || self.bytes >= MOST_BYTES
    }

    /// Takes something that is no frame.
    pub(super) fn event(&mut self, time: Time, text: String, line: Option<u32>) {
        let time_ns = self.since_start(time);
        self.trace.push(TraceLine { time_ns, actor: Actor::Software, text, line, frame: None, bytes: None });
    }

    /// What is wrong with the recording itself, if something is.
    pub(super) fn hole(&self) -> Option<String> {
        (self.disorder > 0)
            .then(|| format!("{} frames have a time before that of the frame in front of them", self.disorder))
    }

    /// The trace and the file.
    pub(super) fn finish(self) -> (Vec<TraceLine>, Vec<u8>) {
        (self.trace, self.pcapng.finish().expect("memory takes every byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(times: &[u64]) -> bool {
        let mut recorder = Recorder::new(Time::from_nanos(1000));
        for time in times {
            recorder.frame(Time::from_nanos(*time), Actor::Device, &[0; 60], String::new(), None);
        }
        recorder.hole().is_some()
    }

    #[test]
    fn frames_that_change_places_are_a_hole_and_a_late_word_of_the_case_before_is_none() {
        assert!(!hole(&[1001, 1002, 1002]));
        assert!(!hole(&[999, 1002]));
        assert!(hole(&[1003, 1002]));
        assert!(hole(&[999, 998]));
    }
}
