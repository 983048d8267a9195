//! Results as they come, given out in the order of the plan.

use rocespec_reports::outcome::{Case, Observation};

use super::observations::Observer;
use super::{Done, Watch};

/// Results by their place in the plan.
pub(super) struct Results<'w> {
    watch: Watch<'w>,
    /// Those that are known and wait for one before them.
    waiting: Vec<Option<Done>>,
    /// Those that were given out.
    told: Vec<Case>,
    observer: Observer,
}

impl<'w> Results<'w> {
    /// For so many cases.
    pub(super) fn new(count: usize, watch: Watch<'w>) -> Results<'w> {
        Results {
            watch,
            waiting: (0..count).map(|_| None).collect(),
            told: Vec::with_capacity(count),
            observer: Observer::default(),
        }
    }

    /// What says whether to stop.
    pub(super) fn stop(&self) -> &'w (dyn Fn() -> bool + Sync) {
        self.watch.stop
    }

    /// Takes a result.
    pub(super) fn put(&mut self, place: usize, done: Done) {
        (self.watch.finished)(&done.case);
        self.waiting[place] = Some(done);
        while let Some(done) = self.waiting.get_mut(self.told.len()).and_then(Option::take) {
            self.tell(done);
        }
    }

    fn tell(&mut self, mut done: Done) {
        (self.watch.done)(&mut done);
        self.observer.note(&done.handed_out);
        self.told.push(done.case);
    }

    /// All results, and what they tell together; `missing` makes the one of a case that was not run.
    pub(super) fn finish(mut self, missing: impl Fn(usize) -> Case) -> (Vec<Case>, Vec<Observation>) {
        for place in self.told.len()..self.waiting.len() {
            match self.waiting[place].take() {
                Some(done) => self.tell(done),
                None => self.told.push(missing(place)),
            }
        }
        let observations = self.observer.finish();
        (self.told, observations)
    }
}
