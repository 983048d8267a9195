//! One direction of a cable.

use std::collections::BTreeMap;
use std::time::Duration;

use rocespec_model::Time;

use super::damage;
use super::fate::Fate;

/// How long a frame waits for others to overtake it, unless it is told otherwise.
const PATIENCE: Duration = Duration::from_micros(100);

/// When a frame arrives; of two at one time, the lower number first.
type Place = (Time, u64);

/// One direction of a cable.
#[derive(Debug)]
pub(super) struct Wire {
    delay: Duration,
    patience: Duration,
    frames: BTreeMap<Place, Vec<u8>>,
    /// Frames that let others pass, with how many still.
    held: Vec<(Place, u32)>,
    /// Arrival of the last frame that kept its place in the queue.
    last: Time,
    placed: u64,
}

impl Wire {
    pub(super) fn new(delay: Duration) -> Wire {
        Wire { delay, patience: PATIENCE, frames: BTreeMap::new(), held: Vec::new(), last: Time::ZERO, placed: 0 }
    }

    /// A frame waits so long for others to overtake it.
    pub(super) fn wait_for_others(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(super) fn send(&mut self, now: Time, mut frame: Vec<u8>, fate: Fate) {
        if fate.lost {
            return;
        }
        if fate.congested {
            damage::mark_ce(&mut frame);
        }
        let keeps_place = fate.late == Duration::ZERO && fate.behind == 0;
        let mut arrival = now + self.delay + fate.queued + fate.late;
        if keeps_place {
            arrival = arrival.max(self.last);
            self.last = arrival;
        }
        let place = self.next_place(if fate.behind > 0 { arrival + self.patience } else { arrival });
        let copies: Vec<Vec<u8>> = (0..fate.copies).map(|_| frame.clone()).collect();
        if let Some(damage) = fate.damage {
            damage::apply(&mut frame, damage);
        }
        self.frames.insert(place, frame);
        for copy in copies {
            let place = self.next_place(place.0);
            self.frames.insert(place, copy);
        }
        if keeps_place {
            self.let_pass(arrival);
        } else if fate.behind > 0 {
            self.held.push((place, fate.behind));
        }
    }

    /// A frame that arrives then passes those that wait for it.
    fn let_pass(&mut self, arrival: Time) {
        let mut freed = Vec::new();
        self.held.retain_mut(|(place, behind)| {
            *behind -= 1;
            if *behind == 0 {
                freed.push(*place);
            }
            *behind > 0
        });
        for place in freed {
            if let Some(frame) = self.frames.remove(&place) {
                let place = self.next_place(arrival.min(place.0));
                self.frames.insert(place, frame);
            }
        }
    }

    fn next_place(&mut self, arrival: Time) -> Place {
        self.placed += 1;
        (arrival, self.placed)
    }

    pub(super) fn next_arrival(&self) -> Option<Time> {
        self.frames.first_key_value().map(|((arrival, _), _)| *arrival)
    }

    /// The next frame, whatever the time.
    pub(super) fn receive(&mut self) -> Option<Vec<u8>> {
        let (place, frame) = self.frames.pop_first()?;
        self.held.retain(|(held, _)| *held != place);
        Some(frame)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.frames.len()
    }
}
