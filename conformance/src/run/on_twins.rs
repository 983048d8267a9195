//! Cases on devices that cost nothing: a new one for each, several at once.
//!
//! Nothing of a case reaches another, so its result depends on the case and the seed alone: not on the filter, not on the
//! order, not on the number of jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::one_by_one::OneByOne;
use super::results::Results;
use super::{Done, Options, Planned};
use crate::dut::Dut;

/// Results that may wait for the one who takes them.
const AHEAD: usize = 16;

/// Plays all cases, one job on each twin.
pub(super) fn play(twins: Vec<Box<dyn Dut>>, planned: &[Planned<'_>], options: &Options, results: &mut Results<'_>) {
    let case = |twin: &mut Box<dyn Dut>, place: usize| OneByOne::anew(&mut **twin).case(&planned[place], options);
    spread(twins, planned.len(), &case, results);
}

/// Plays so many cases, by their places, one job with each player.
pub(super) fn spread<P: Send>(
    players: Vec<P>,
    count: usize,
    case: &(impl Fn(&mut P, usize) -> Done + Sync),
    results: &mut Results<'_>,
) {
    let stop = results.stop();
    let next = &AtomicUsize::new(0);
    let (tell, told) = sync_channel(AHEAD);
    thread::scope(|scope| {
        for mut player in players {
            let tell = tell.clone();
            scope.spawn(move || {
                while !stop() {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count || tell.send((place, case(&mut player, place))).is_err() {
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
