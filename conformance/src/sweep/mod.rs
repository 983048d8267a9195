//! Sweeps: goodput against one thing that is changed step by step, and what else was counted on the way.
//!
//! Over a cable between two ends that is the share of frames that are lost, overtaken or marked; through a switch it
//! is the number of senders to one receiver. Both run on the model, in virtual time, and repeat to the bit.
//! Nothing is judged by its goodput; a rule that is broken on the way, or data that is wrong, is a finding.

mod axis;
mod between;
mod cable;
mod curves;
mod formula;
mod incast;
mod settings;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rocespec_reports::sweep::{Counts, Incast};

use crate::link::{End, Faults, Rate};

pub use axis::{Axis, Fault, MOST_SENDERS, Value};
pub use between::between;
pub use curves::{Setting, curves};
pub use settings::{DCQCN, PFC, Settings};

/// One run of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Job {
    /// Place of its curve.
    curve: usize,
    /// Place of its value.
    value: usize,
    seed: u64,
}

/// What one run came to.
#[derive(Debug, Clone, PartialEq)]
struct Measured {
    goodput_bps: f64,
    /// What the goodput is counted over.
    time: Duration,
    /// Why it ended early, where it did.
    ended: Option<String>,
    counts: Counts,
    incast: Option<Incast>,
}

/// What should not be, whatever the link does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    end: Option<End>,
    rule: Option<String>,
    sentence: String,
}

/// Bytes over time in bits per second.
fn goodput(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 * 8.0 / time.as_secs_f64() }
}

/// Whoever waits for a sweep.
pub struct Watch<'w> {
    /// Asked before each run: true ends the sweep.
    pub stop: &'w (dyn Fn() -> bool + Sync),
    /// Told of each run that is done.
    pub done: &'w (dyn Fn() + Sync),
}

/// One run on the model.
fn on_model(settings: &Settings, value: Value, seed: u64) -> Result<Measured, Wrong> {
    match value {
        Value::Share(fault, rate) => cable::run(settings, faults(settings, fault, rate), seed),
        Value::Senders(senders) => incast::run(settings, senders, seed),
    }
}

/// A cable on which this fault happens so often.
fn faults(settings: &Settings, fault: Fault, rate: Rate) -> Faults {
    let none = Faults { depth: settings.depth, ..Faults::default() };
    match fault {
        Fault::Loss => Faults { loss: rate, ..none },
        Fault::Reorder => Faults { reordering: rate, ..none },
        Fault::Ce => Faults { congestion: rate, ..none },
    }
}

/// Results by job, in the order of the jobs. Runs that were not made have none.
type Results = Vec<(Job, Option<Result<Measured, Wrong>>)>;

/// Carries out runs, as many at once as there are processors: they have nothing to do with each other.
fn side_by_side(jobs: Vec<Job>, watch: &Watch<'_>, run: impl Fn(Job) -> Result<Measured, Wrong> + Sync) -> Results {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(jobs.len());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(jobs.iter().map(|job| (*job, None)).collect::<Results>());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place).filter(|_| !(watch.stop)()) else { return };
                    let result = run(*job);
                    if let Ok(mut results) = results.lock() {
                        results[place].1 = Some(result);
                    }
                    (watch.done)();
                }
            });
        }
    });
    results.into_inner().unwrap_or_default()
}
