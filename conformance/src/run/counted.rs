//! A case with the counters of its devices read before and after it.

use std::collections::BTreeSet;
use std::time::Duration;

use rocespec_codec::Qpn;
use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::Finding;

use super::bench::Pace;
use super::execute::{self, Executed};
use super::judge::Ending;
use super::{Planned, ending};
use crate::dut::{Addresses, Dut, DutError, Stamped, Waker};
use crate::oracle::Breach;
use crate::oracle::counters::{self, Reading, Tally};
use crate::profile::Profile;

/// Drivers may give a reading again that is not older than this: Linux does so for 10 ms.
const PAUSE: Duration = Duration::from_millis(20);
/// Drivers may ask their device once in a while only: so long nothing may move, and a reading not be the last one.
const LAG: Duration = Duration::from_secs(2);
/// How often a reading is taken that has to stand still. A device that never does has nothing to compare.
const READINGS: usize = 10;

/// Does the scenario ask for it? Counters are the whole device's: nothing else may run on it.
pub(super) fn is_asked_for(planned: &Planned<'_>) -> bool {
    let scenario = planned.scenario;
    scenario.runs_alone() && scenario.rules.iter().any(|rule| rule == counters::RULE)
}

/// Plays the case and adds what the counters say that the wire does not.
pub(super) fn execute(dut: &mut dyn Dut, planned: &Planned<'_>, seed: u64, past: &mut BTreeSet<Qpn>) -> Executed {
    // What is counted late of the case before would be counted here.
    let mut dut = Counted::new(dut, is_asked_for(planned));
    let mut executed = execute::execute(&mut dut, planned, seed, Pace::Script, past);
    if !matches!(executed.ending, Ending::Ran) {
        return executed;
    }
    match dut.compare() {
        Ok(breaches) => {
            if !breaches.is_empty() {
                executed.note_lost(&mut dut, "the device");
            }
            add(&mut executed, breaches, None);
        }
        // Where the scenario is about the counters, there is nothing to judge.
        Err(why) if is_asked_for(planned) || matches!(why, Ending::Crashed(_)) => executed.ending = why,
        Err(_) => {}
    }
    executed
}

/// Adds what counters say that the wire does not: those of this device, where there are two.
pub(super) fn add(executed: &mut Executed, breaches: Vec<Breach>, device: Option<&str>) {
    executed.findings.extend(breaches.into_iter().map(|breach| Finding {
        rule: breach.rule.to_owned(),
        level: breach.level,
        device: device.map(str::to_owned),
        line: None,
        frame: None,
        packet: None,
        time_ns: executed.duration_ns,
        expected: breach.expected,
        seen: breach.seen,
        why: breach.why.to_owned(),
    }));
}

/// A device whose frames are counted.
pub(super) struct Counted<'d> {
    dut: &'d mut dyn Dut,
    before: Result<Reading, Ending>,
    tally: Tally,
}

impl<'d> Counted<'d> {
    /// Reads the device's counters, once they have `settled` if that is asked for, and counts from here on.
    pub(super) fn new(dut: &'d mut dyn Dut, settled: bool) -> Counted<'d> {
        let mut counted = Counted { dut, before: Ok(Reading::new()), tally: Tally::default() };
        let settled = if settled { counted.settle() } else { Ok(()) };
        counted.before = settled.and_then(|()| counted.steady_reading());
        counted.tally = Tally::default();
        counted
    }

    /// What the counters say now that the wire does not, or why they cannot be compared. Once.
    pub(super) fn compare(&mut self) -> Result<Vec<Breach>, Ending> {
        let before = std::mem::replace(&mut self.before, Ok(Reading::new()))?;
        let after = self.steady_reading()?;
        if counters::comparable(&before, &after) == 0 {
            return Err(Ending::Lacks("gives no counter that is known".to_owned()));
        }
        let breaches = counters::compare(&before, &after, &self.tally);
        if breaches.is_empty() || self.is_virtual() {
            return Ok(breaches);
        }
        // Before a device is blamed.
        self.settle()?;
        let after = self.steady_reading()?;
        Ok(counters::compare(&before, &after, &self.tally))
    }

    /// Gives counters that lag time to come up, where time is real.
    fn settle(&mut self) -> Result<(), Ending> {
        if self.is_virtual() { Ok(()) } else { self.pass(LAG) }
    }

    fn pass(&mut self, time: Duration) -> Result<(), Ending> {
        let until = self.now() + time;
        while self.advance(until, &mut |_| ()).map_err(ending)? < until {}
        Ok(())
    }

    /// A reading of the counters that has stopped moving, or why there is none.
    fn steady_reading(&mut self) -> Result<Reading, Ending> {
        let mut last: Option<Reading> = None;
        for _ in 0..READINGS {
            let frames = self.tally.frames();
            // In virtual time nothing lags, and another device may share the clock.
            self.pass(if self.is_virtual() { Duration::ZERO } else { PAUSE })?;
            let reading = match self.control(&Command::Counters {}).map_err(ending)? {
                Reply::Counters(reading) => reading,
                other => return Err(Ending::Unknown(format!("the agent answers `counters` with {other:?}"))),
            };
            if self.tally.frames() == frames && last.as_ref() == Some(&reading) {
                return Ok(reading);
            }
            last = Some(reading);
        }
        Err(Ending::Unknown("the device's counters do not stand still".to_owned()))
    }
}

impl Dut for Counted<'_> {
    fn profile(&self) -> &Profile {
        self.dut.profile()
    }

    fn device(&self) -> &Device {
        self.dut.device()
    }

    fn prepare(&mut self, needs: &[String]) {
        self.dut.prepare(needs);
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.dut.control(command)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.tally.came(frame);
        self.dut.transmit(frame)
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        let tally = &mut self.tally;
        self.dut.advance(until, &mut |stamped| {
            tally.left(stamped.frame);
            seen(stamped);
        })
    }

    fn now(&self) -> Time {
        self.dut.now()
    }

    fn is_virtual(&self) -> bool {
        self.dut.is_virtual()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.dut.next_timeout()
    }

    fn tester(&self) -> &Addresses {
        self.dut.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.dut.restart()
    }

    fn lost_frames(&mut self) -> Result<u64, DutError> {
        self.dut.lost_frames()
    }

    fn waker(&self) -> Option<Waker> {
        self.dut.waker()
    }
}
