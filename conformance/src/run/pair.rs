//! Two devices face to face: our process is the wire between them, and both are judged.

use std::collections::BTreeSet;
use std::time::Duration;

use rocespec_codec::Qpn;
use rocespec_control::Command;
use rocespec_reports::outcome::{Device, Finding, Run};

use super::bench::{Bench, Pace, Stop, Traffic};
use super::connection::{Connection, Made, TesterEnd};
use super::counted::{self, Counted};
use super::execute::{Executed, choose, lacking};
use super::judge::{Ending, Known};
use super::record::Recorder;
use super::results::Results;
use super::{Done, Planned, Watch, conclude, ending, on_twins, outcome};
use crate::dut::{Dut, DutError, Two};
use crate::link::{End, Link};
use crate::scenario::Setup;

/// What a frame takes on its way between two devices in virtual time.
const DELAY: Duration = Duration::from_micros(1);

/// How long a packet waits for others to overtake it in real time, where they do not leave at once.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a run of two devices needs to know besides the cases.
#[derive(Debug, Clone)]
pub struct Pairing {
    /// The devices as named on the command line, A first.
    pub duts: [String; 2],
    /// Seed of everything that is chosen at random. Same seed, same bytes on devices in virtual time.
    pub seed: u64,
    /// The command that repeats a case, in front of its id: `rocespec pair emulator rxe:6.1`.
    pub command: String,
    /// And behind it.
    pub repeat: String,
    /// Compares the counters of both devices with the wire, where a device gives some that are known.
    pub counters: bool,
    /// Cases at once, at least 1, where both devices are in virtual time. Others play one after the other.
    pub jobs: usize,
}

impl Pairing {
    /// How findings call the device at this end: `A (rxe:6.1)`.
    pub fn name(&self, end: End) -> String {
        format!("{end} ({})", self.duts[end as usize])
    }

    fn names(&self) -> [String; 2] {
        End::BOTH.map(|end| self.name(end))
    }
}

/// Plays the cases until the watcher says to stop. Those that are left are INCONCLUSIVE, and `done` does not see them.
///
/// `dut` steps are those of the first device, `peer` steps those of the second; each has the other at the far end of its wire.
/// Where both have twins, every case begins on new ones. A device that dies is restarted; when it does not come back, what is
/// left is INCONCLUSIVE.
pub fn run_watched([a, b]: [&mut dyn Dut; 2], planned: &[Planned<'_>], pairing: &Pairing, watch: Watch<'_>) -> Run {
    let mut results = Results::new(planned.len(), watch);
    let twins = (0..pairing.jobs.clamp(1, planned.len().max(1))).map_while(|_| Some([a.twin()?, b.twin()?]));
    let twins: Vec<_> = twins.collect();
    if twins.is_empty() {
        let mut couple = Couple::new([a, b]);
        for (place, planned) in planned.iter().enumerate() {
            if results.stop()() {
                break;
            }
            let done = couple.case(planned, pairing);
            results.put(place, done);
        }
    } else {
        let case = |[a, b]: &mut [Box<dyn Dut>; 2], place: usize| {
            Couple::anew([&mut **a, &mut **b]).case(&planned[place], pairing)
        };
        on_twins::spread(twins, planned.len(), &case, &mut results);
    }
    let profiles = [a.profile().clone(), b.profile().clone()];
    let names = pairing.names();
    let known = Known::two([(&names[0], &profiles[0]), (&names[1], &profiles[1])]);
    let (cases, _) = results.finish(|index| {
        let not_run = Executed::nothing(Ending::Unknown("not run: the run was stopped".to_owned()));
        told(&known, &planned[index], pairing, not_run).case
    });
    let of = |place: usize, dut: &dyn Dut| Device {
        dut: pairing.duts[place].clone(),
        profile: dut.profile().name.clone(),
        system: dut.device().system.clone(),
    };
    let pair = [of(0, a), of(1, b)];
    let both = |text: fn(&Device) -> &str| format!("{} with {}", text(&pair[0]), text(&pair[1]));
    let device =
        Device { dut: both(|one| &one.dut), profile: both(|one| &one.profile), system: both(|one| &one.system) };
    Run { pair: Some(pair), ..outcome(device, pairing.seed, Vec::new(), cases) }
}

/// The result of a case, with the command that repeats it.
fn told(known: &Known<'_>, planned: &Planned<'_>, pairing: &Pairing, executed: Executed) -> Done {
    let Pairing { seed, command, repeat, .. } = pairing;
    conclude(known, planned, format!("{command} '{}'{repeat} --seed {seed}", planned.id()), executed)
}

/// A request failed because nothing answered, which no step had led to. A mute device does that every time; one whose processor
/// stands still for longer than all retries take does it now and then, and is not to blame.
fn retries_ran_out(executed: &Executed) -> bool {
    let names = |text: &str| {
        text.split(|letter: char| letter != '_' && !letter.is_alphanumeric()).any(|word| word == "retry_exc_err")
    };
    let unexpected = |finding: &Finding| finding.line.is_some() && names(&finding.seen) && !names(&finding.expected);
    executed.blames() && executed.findings.iter().any(unexpected)
}

/// Two devices and what they have been through.
struct Couple<'d> {
    ends: [&'d mut dyn Dut; 2],
    /// Queue pair numbers that were used before.
    past: BTreeSet<Qpn>,
    /// Why nothing can be played any more.
    lost: Option<String>,
}

impl<'d> Couple<'d> {
    /// Begins on devices that may have been in use.
    fn new(ends: [&'d mut dyn Dut; 2]) -> Couple<'d> {
        Couple::after(ends, |dut| dut.control(&Command::Reset {}).map(|_| ()))
    }

    /// Begins on devices as new.
    fn anew(ends: [&'d mut dyn Dut; 2]) -> Couple<'d> {
        Couple::after(ends, |dut| dut.restart())
    }

    fn after(mut ends: [&'d mut dyn Dut; 2], prepare: fn(&mut dyn Dut) -> Result<(), DutError>) -> Couple<'d> {
        let lost = ends.iter_mut().try_for_each(|dut| prepare(&mut **dut)).err().map(|error| error.to_string());
        Couple { ends, past: BTreeSet::new(), lost }
    }

    /// Plays one case. A device that dies of it is restarted.
    fn case(&mut self, planned: &Planned<'_>, pairing: &Pairing) -> Done {
        let names = pairing.names();
        let mut executed = match &self.lost {
            Some(why) => Executed::nothing(Ending::Unknown(format!("a device is lost: {why}"))),
            None => self.play(planned, pairing, &names),
        };
        if retries_ran_out(&executed) && self.ends.iter().any(|dut| !dut.is_virtual()) {
            let again = self.play(planned, pairing, &names);
            executed = match again.ending {
                Ending::Ran if !retries_ran_out(&again) => {
                    let why = "retries ran out once, and not when it was played again: did a device stand still?";
                    Executed { ending: Ending::Unknown(why.to_owned()), ..executed }
                }
                _ => again,
            };
        }
        let mut dead = None;
        if let Ending::Crashed(how) = &executed.ending {
            let who = self.bring_back(&names);
            executed.ending = Ending::Crashed(format!("{who} died: {how}"));
            dead = Some(who);
        }
        let profiles = [self.ends[0].profile(), self.ends[1].profile()];
        let known = Known::two([(&names[0], profiles[0]), (&names[1], profiles[1])]);
        let mut done = told(&known, planned, pairing, executed);
        if let (Some(finding), Some(_)) = (done.case.findings.first_mut(), &dead) {
            finding.device = dead;
        }
        done
    }

    /// Plays one case, with the counters of both looked at where that is asked for.
    fn play(&mut self, planned: &Planned<'_>, pairing: &Pairing, names: &[String; 2]) -> Executed {
        if pairing.counters {
            return self.counted(planned, pairing.seed, names);
        }
        let [a, b] = &mut self.ends;
        execute([&mut **a, &mut **b], &mut self.past, planned, pairing.seed, names)
    }

    /// After a crash: restarts who does not answer any more, and clears up with the other. Gives who was dead.
    fn bring_back(&mut self, names: &[String; 2]) -> String {
        let mut dead = Vec::new();
        for (dut, name) in self.ends.iter_mut().zip(names) {
            // Software that answers has cleared up with it.
            let lives = matches!(dut.control(&Command::Reset {}), Ok(_) | Err(DutError::Refused(_)));
            if !lives {
                dead.push(name.as_str());
                self.lost = self.lost.take().or(dut.restart().err().map(|error| format!("{name}: {error}")));
            }
        }
        if dead.is_empty() { "one of the two".to_owned() } else { dead.join(" and ") }
    }

    /// Plays one case with the counters of both read before and after it.
    fn counted(&mut self, planned: &Planned<'_>, seed: u64, names: &[String; 2]) -> Executed {
        let [a, b] = &mut self.ends;
        let [mut a, mut b] = [Counted::new(&mut **a, false), Counted::new(&mut **b, false)];
        let mut executed = execute([&mut a, &mut b], &mut self.past, planned, seed, names);
        if !matches!(executed.ending, Ending::Ran) {
            return executed;
        }
        for (counted, name) in [a, b].iter_mut().zip(names) {
            let breaches = match counted.compare() {
                Ok(breaches) => breaches,
                Err(death @ Ending::Crashed(_)) => {
                    executed.ending = death;
                    return executed;
                }
                // Without counters that are known there is nothing to be wrong about.
                Err(_) => continue,
            };
            if !breaches.is_empty() {
                executed.note_lost(counted, name);
            }
            counted::add(&mut executed, breaches, Some(name));
        }
        executed
    }
}

fn execute(
    mut ends: [&mut dyn Dut; 2],
    past: &mut BTreeSet<Qpn>,
    planned: &Planned<'_>,
    seed: u64,
    names: &[String; 2],
) -> Executed {
    let Planned { scenario, variant } = planned;
    let setups = [variant.setup.clone(), variant.setup.of_peer()];
    for ((dut, setup), name) in ends.iter().zip(&setups).zip(names) {
        if let Some(what) = lacking(&**dut, scenario, setup) {
            return Executed::nothing(Ending::Lacks(format!("{name} {what}")));
        }
    }
    let chosen = choose(seed, &planned.id(), &BTreeSet::new());
    let [a, b] = &mut ends;
    // Late words of the case before are nobody's traffic now.
    let mut two = Two::new(&mut **a, &mut **b);
    if let Err(failed) = two.advance(two.now(), &mut |_, _| ()) {
        return Executed::nothing(ending(failed.error));
    }
    for end in End::BOTH {
        two.at(end).prepare(&scenario.needs);
    }
    let (connection, peered) = match connect(&mut **a, &mut **b, &setups, chosen.sport) {
        Ok(connections) => connections,
        Err(error) => {
            let _ = [a, b].map(|dut| dut.control(&Command::Reset {}));
            return Executed::nothing(ending(error));
        }
    };
    past.extend([connection.device_qpn(), peered.device_qpn()]);
    let skew = a.profile().timing.slack.max(b.profile().timing.slack);
    let link = match a.is_virtual() && b.is_virtual() {
        true => Link::new(DELAY, ()),
        false => Link::new(Duration::ZERO, ()).patient(PATIENCE),
    };
    let traffic = Traffic::new(&**a, &mut **b, &setups[0], peered, u64::from(chosen.qpn.get()));
    let traffic = traffic.judged(&setups[0], names.clone(), skew, link);
    let recorder = Recorder::new(a.now());
    let bench = Bench::new(&mut **a, planned, connection, recorder, Pace::Script, past);
    let mut bench = bench.with(Some(traffic)).tolerating(skew, &setups[0]);
    let stop = bench.play();
    let (connection, peered, mut executed) = bench.finish(match stop {
        Ok(()) | Err(Stop::Found) => Ending::Ran,
        Err(Stop::Device(error)) => ending(error),
    });
    if !matches!(executed.ending, Ending::Crashed(_)) {
        let closed = connection.close(&mut **a).and_then(|()| peered.map_or(Ok(()), |peered| peered.close(&mut **b)));
        if let Err(error @ DutError::Crash(_)) = closed {
            executed.ending = ending(error);
        }
    }
    if executed.blames() {
        for (dut, name) in ends.iter_mut().zip(names) {
            executed.note_lost(&mut **dut, name);
        }
    }
    executed
}

/// A queue pair on each, connected with the other.
fn connect(
    a: &mut dyn Dut,
    b: &mut dyn Dut,
    setups: &[Setup; 2],
    sport: u16,
) -> Result<(Connection, Connection), DutError> {
    let make = |dut: &mut dyn Dut, setup: &Setup| Made::new(dut, setup.transport, setup.srq);
    let made = (make(a, &setups[0])?, make(b, &setups[1])?);
    let (to_b, to_a) = (TesterEnd { qpn: made.1.qpn(), sport }, TesterEnd { qpn: made.0.qpn(), sport });
    Ok((Connection::connect(a, made.0, &setups[0], to_b)?, Connection::connect(b, made.1, &setups[1], to_a)?))
}
