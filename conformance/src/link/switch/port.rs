//! The sending side of a port: a queue per class and one for pause frames, in front of the link.

use std::collections::VecDeque;

use rocespec_model::Time;

use super::CLASSES;

/// What a port counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Frames sent to the device, pause frames not among them.
    pub frames: u64,
    /// Their bytes, without frame check sequence.
    pub bytes: u64,
    /// Frames for the device that found their queue full.
    pub drops: u64,
    /// Packets for the device that were marked.
    pub marks: u64,
    /// Times that the device was asked to pause, not counting reminders.
    pub pauses: u64,
    /// Most bytes that lay in one queue for the device.
    pub max_queue: usize,
}

/// The sending side of a port.
#[derive(Debug, Default)]
pub(super) struct Port {
    queues: [Queue; CLASSES],
    /// Pause frames go first and are never paused.
    control: VecDeque<Vec<u8>>,
    busy_until: Time,
    last_class: usize,
    pub(super) counters: PortCounters,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Queued>,
    bytes: usize,
    paused_until: Time,
}

/// A frame in a queue.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) frame: Vec<u8>,
    /// The port by which it came.
    pub(super) from: usize,
}

/// What leaves.
#[derive(Debug)]
pub(super) enum Leaving {
    Control(Vec<u8>),
    Frame(Queued, usize),
}

impl Port {
    /// Bytes in the queue of a class.
    pub(super) fn queued(&self, class: usize) -> usize {
        self.queues[class].bytes
    }

    pub(super) fn push(&mut self, now: Time, class: usize, queued: Queued) {
        self.wake(now);
        let queue = &mut self.queues[class];
        queue.bytes += queued.frame.len();
        self.counters.max_queue = self.counters.max_queue.max(queue.bytes);
        queue.frames.push_back(queued);
    }

    pub(super) fn push_control(&mut self, now: Time, frame: Vec<u8>) {
        self.wake(now);
        self.control.push_back(frame);
    }

    /// A port that stood still begins no earlier than now.
    fn wake(&mut self, now: Time) {
        self.busy_until = self.busy_until.max(now);
    }

    /// The device asks that nothing of a class is sent to it until then.
    pub(super) fn pause(&mut self, class: usize, until: Time) {
        self.queues[class].paused_until = until;
    }

    /// When the next frame begins to leave.
    pub(super) fn next_start(&self) -> Option<Time> {
        if !self.control.is_empty() {
            return Some(self.busy_until);
        }
        let waiting = self.queues.iter().filter(|queue| !queue.frames.is_empty());
        waiting.map(|queue| queue.paused_until.max(self.busy_until)).min()
    }

    /// Takes the frame that begins to leave now: the classes in turn.
    pub(super) fn start(&mut self, now: Time) -> Option<Leaving> {
        if let Some(frame) = self.control.pop_front() {
            return Some(Leaving::Control(frame));
        }
        let mut turns = (1..=CLASSES).map(|step| (self.last_class + step) % CLASSES);
        let class = turns.find(|class| {
            let queue = &self.queues[*class];
            !queue.frames.is_empty() && queue.paused_until <= now
        })?;
        self.last_class = class;
        let queued = self.queues[class].frames.pop_front()?;
        self.queues[class].bytes -= queued.frame.len();
        self.counters.frames += 1;
        self.counters.bytes += queued.frame.len() as u64;
        Some(Leaving::Frame(queued, class))
    }

    pub(super) fn busy_until(&mut self, until: Time) {
        self.busy_until = until;
    }
}
