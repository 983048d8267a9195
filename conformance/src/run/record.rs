//! The recorder: every frame and every event of a case, as trace lines and as a pcapng file.

use rocespec_model::Time;
use rocespec_reports::outcome::{Actor, Bytes, TraceLine};

use crate::capture::pcapng::{Direction, Writer};

/// Records one case.
pub(super) struct Recorder {
    start: Time,
    trace: Vec<TraceLine>,
    pcapng: Writer<Vec<u8>>,
    frames: u32,
}

impl Recorder {
    /// Starts now.
    pub(super) fn new(start: Time) -> Recorder {
        let pcapng = Writer::new(Vec::new()).expect("memory takes every byte");
        Recorder { start, trace: Vec::new(), pcapng, frames: 0 }
    }

    /// Nanoseconds since the case began.
    pub(super) fn since_start(&self, time: Time) -> u64 {
        u64::try_from((time - self.start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes a frame; gives its number in the file.
    pub(super) fn frame(&mut self, time: Time, actor: Actor, frame: &[u8], text: String, line: Option<u32>) -> u32 {
        let time_ns = self.since_start(time);
        let direction = if actor == Actor::Tester { Direction::Outbound } else { Direction::Inbound };
        let comment = match line {
            Some(line) => format!("line {line}: {text}"),
            None => text.clone(),
        };
        self.pcapng.frame(time_ns, direction, frame, Some(&comment)).expect("memory takes every byte");
        self.frames += 1;
        let bytes = Some(Bytes(frame.to_vec()));
        self.trace.push(TraceLine { time_ns, actor, text, line, frame: Some(self.frames), bytes });
        self.frames
    }

    /// Takes something that is no frame.
    pub(super) fn event(&mut self, time: Time, text: String, line: Option<u32>) {
        let time_ns = self.since_start(time);
        self.trace.push(TraceLine { time_ns, actor: Actor::Software, text, line, frame: None, bytes: None });
    }

    /// The trace and the file.
    pub(super) fn finish(self) -> (Vec<TraceLine>, Vec<u8>) {
        (self.trace, self.pcapng.finish().expect("memory takes every byte"))
    }
}
