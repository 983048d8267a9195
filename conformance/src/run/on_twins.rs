//! Cases on devices that cost nothing: a new one for each, several at once.
//!
//! Nothing of a case reaches another, so its result depends on the case and the seed alone: not on the filter, not on the
//! order, not on the number of jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::one_by_one::OneByOne;
use super::results::Results;
use super::{Options, Planned};
use crate::dut::Dut;

/// Results that may wait for the one who takes them.
const AHEAD: usize = 16;

/// Plays all cases, one job on each twin.
pub(super) fn play(twins: Vec<Box<dyn Dut>>, planned: &[Planned<'_>], options: &Options, results: &mut Results<'_>) {
    let stop = results.stop();
    let next = &AtomicUsize::new(0);
    let (tell, told) = sync_channel(AHEAD);
    thread::scope(|scope| {
        for mut twin in twins {
            let tell = tell.clone();
            scope.spawn(move || {
                while !stop() {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(planned) = planned.get(place) else { return };
                    let done = OneByOne::anew(&mut *twin).case(planned, options);
                    if tell.send((place, done)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        for (place, done) in told {
            results.put(place, done);
        }
    });
}
