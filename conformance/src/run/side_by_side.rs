//! Cases side by side on one device, each with queue pairs of its own.
//!
//! First those that want to be alone, one after the other; then all others, several at once; then, alone again, those
//! whose result in company says nothing, or is one that somebody has to look at. So a verdict that counts against the
//! device was reached without company, and is the one that a run with one job gives.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rocespec_reports::outcome::{Actor, Verdict};

use super::bench::Pace;
use super::execute::{Executed, execute};
use super::judge::{Ending, Known};
use super::one_by_one::OneByOne;
use super::results::Results;
use super::{Done, Options, Planned, conclude};
use crate::dut::switchboard::{Seat, Switchboard};
use crate::dut::{Dut, Waker};

/// Plays all cases, `options.jobs` at once. `waker` is the device's.
pub(super) fn play(
    dut: &mut dyn Dut,
    waker: Waker,
    planned: &[Planned<'_>],
    options: &Options,
    results: &mut Results<'_>,
) {
    let (alone, mut company): (Vec<usize>, Vec<usize>) =
        (0..planned.len()).partition(|place| planned[*place].scenario.runs_alone());
    let mut single = OneByOne::new(dut);
    single.play(alone, planned, options, results);
    let mut again = Vec::new();
    let mut waker = Some(waker);
    while !company.is_empty()
        && !results.stop()()
        && let Some(current) = waker.take_if(|_| !single.is_lost())
    {
        let round = Round::play(&mut single, &current, &company, planned, options, results);
        again.extend(round.again);
        company = round.left;
        if round.dead {
            single.restart();
            company.extend(convict(&mut single, round.suspects, planned, options, results));
        }
        waker = single.dut.waker();
    }
    again.extend(company);
    again.sort_unstable();
    single.play(again, planned, options, results);
}

/// Cases in company, until all are played or the device is dead.
#[derive(Default)]
struct Round {
    /// Cases to be played again alone.
    again: Vec<usize>,
    /// Cases that were at work when the device died, and what they saw.
    suspects: Vec<(usize, Executed)>,
    /// Cases not begun.
    left: Vec<usize>,
    dead: bool,
}

/// What a job says of a case.
enum Told {
    Result(Box<Done>),
    Again,
    Suspect(Box<Executed>),
}

impl Round {
    fn play(
        single: &mut OneByOne<'_>,
        waker: &Waker,
        places: &[usize],
        planned: &[Planned<'_>],
        options: &Options,
        results: &mut Results<'_>,
    ) -> Round {
        let dut = &mut *single.dut;
        let (board, seats) = Switchboard::new(dut, waker, options.jobs.min(places.len()));
        let past = Mutex::new(mem::take(&mut single.past));
        let (next, stop) = (AtomicUsize::new(0), results.stop());
        let job = |seat: &mut Seat| {
            let place = *places.get(next.fetch_add(1, Ordering::Relaxed))?;
            let mut used = lock(&past).clone();
            let executed = execute(seat, &planned[place], options.seed, Pace::Script, &mut used);
            lock(&past).append(&mut used);
            let trusted = seat.finish();
            if matches!(executed.ending, Ending::Crashed(_)) {
                // Without a packet it had not begun.
                let begun = !executed.trace.is_empty();
                return Some((place, if begun { Told::Suspect(Box::new(executed)) } else { Told::Again }));
            }
            let command = options.command(&planned[place]);
            let done = conclude(&Known::one(seat.profile()), &planned[place], command, executed);
            let counts = trusted && !wants_another_look(done.case.verdict);
            Some((place, if counts { Told::Result(Box::new(done)) } else { Told::Again }))
        };
        let mut round = Round::default();
        let (tell, told) = channel();
        thread::scope(|scope| {
            let served = scope.spawn(move || board.serve(dut));
            for mut seat in seats {
                let (tell, job) = (tell.clone(), &job);
                scope.spawn(move || {
                    while !stop()
                        && let Some(told) = job(&mut seat)
                        && tell.send(told).is_ok()
                    {}
                });
            }
            drop(tell);
            for (place, told) in told {
                match told {
                    Told::Result(done) => results.put(place, *done),
                    Told::Again => round.again.push(place),
                    Told::Suspect(executed) => round.suspects.push((place, *executed)),
                }
            }
            round.dead = served.join().expect("the board does not panic").is_some();
        });
        round.left = places.iter().skip(next.into_inner()).copied().collect();
        single.past = past.into_inner().unwrap_or_else(PoisonError::into_inner);
        round
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A verdict that somebody has to act on must not come from the company.
fn wants_another_look(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Pass | Verdict::Unsupported | Verdict::Xfail)
}

/// Finds out which of the cases killed the device. Most likely it is the one that sent last: when it does so again, packet
/// by packet, the others are free to go, and given back. Else each is played alone; where all live, it was the last one.
fn convict(
    single: &mut OneByOne<'_>,
    mut suspects: Vec<(usize, Executed)>,
    planned: &[Planned<'_>],
    options: &Options,
    results: &mut Results<'_>,
) -> Vec<usize> {
    suspects.sort_by_key(|(_, executed)| since_last_packet(executed));
    let places: Vec<usize> = suspects.iter().map(|(place, _)| *place).collect();
    let Some((last, seen)) = suspects.into_iter().next().filter(|_| !single.is_lost()) else { return places };
    if let Some(done) = single.kills_again(&planned[last], options) {
        results.put(last, done);
        return places[1..].to_vec();
    }
    let mut found = Vec::new();
    for place in places {
        if results.stop()() {
            return Vec::new();
        }
        found.push((place, single.case(&planned[place], options)));
    }
    if found.iter().all(|(_, done)| done.case.verdict != Verdict::Crash) {
        let (known, command) = (Known::one(single.dut.profile()), options.command(&planned[last]));
        found[0].1 = conclude(&known, &planned[last], command, Executed { once: true, ..seen });
    }
    for (place, done) in found {
        results.put(place, done);
    }
    Vec::new()
}

/// Nanoseconds from the tester's last packet to the end.
fn since_last_packet(executed: &Executed) -> u64 {
    let sent = executed.trace.iter().rev().find(|line| line.actor == Actor::Tester);
    sent.map_or(u64::MAX, |line| executed.duration_ns.saturating_sub(line.time_ns))
}
