//! Cases one after the other on one device.

use std::collections::BTreeSet;

use rocespec_codec::Qpn;
use rocespec_control::Command;
use rocespec_reports::outcome::Actor;

use super::bench::Pace;
use super::execute::{Executed, execute};
use super::judge::{Ending, Known};
use super::results::Results;
use super::{Done, Options, Planned, conclude, counted};
use crate::dut::Dut;

/// A device and what it has been through.
pub(super) struct OneByOne<'d> {
    pub(super) dut: &'d mut dyn Dut,
    /// Queue pair numbers that the tester has used.
    pub(super) past: BTreeSet<Qpn>,
    /// Why the device is of no use any more.
    lost: Option<String>,
}

impl<'d> OneByOne<'d> {
    /// Begins on a device that may have been in use.
    pub(super) fn new(dut: &'d mut dyn Dut) -> OneByOne<'d> {
        let lost = dut.control(&Command::Reset {}).err().map(|error| error.to_string());
        OneByOne { dut, past: BTreeSet::new(), lost }
    }

    /// Begins on a device as new.
    pub(super) fn anew(dut: &'d mut dyn Dut) -> OneByOne<'d> {
        let mut new = OneByOne { dut, past: BTreeSet::new(), lost: None };
        new.restart();
        new
    }

    /// Plays the cases at these places of the plan.
    pub(super) fn play(
        &mut self,
        places: impl IntoIterator<Item = usize>,
        planned: &[Planned<'_>],
        options: &Options,
        results: &mut Results<'_>,
    ) {
        for place in places {
            if results.stop()() {
                return;
            }
            let done = self.case(&planned[place], options);
            results.put(place, done);
        }
    }

    /// Plays one case. A device that dies of it is restarted.
    pub(super) fn case(&mut self, planned: &Planned<'_>, options: &Options) -> Done {
        let mut executed = match &self.lost {
            Some(why) => Executed::nothing(Ending::Unknown(format!("the device is lost: {why}"))),
            None if options.counters || counted::is_asked_for(planned) => {
                counted::execute(self.dut, planned, options.seed, &mut self.past)
            }
            None => execute(self.dut, planned, options.seed, Pace::Script, &mut self.past),
        };
        if matches!(executed.ending, Ending::Crashed(_)) {
            executed = self.find_killer(planned, options.seed, executed);
        }
        if matches!(executed.ending, Ending::Crashed(_)) {
            self.restart();
        }
        conclude(&Known::one(self.dut.profile()), planned, options.command(planned), executed)
    }

    /// Plays a case packet by packet. Its result, when the device dies of it; it is restarted then.
    pub(super) fn kills_again(&mut self, planned: &Planned<'_>, options: &Options) -> Option<Done> {
        let executed = execute(self.dut, planned, options.seed, Pace::PacketByPacket, &mut self.past);
        matches!(executed.ending, Ending::Crashed(_)).then(|| {
            self.restart();
            conclude(&Known::one(self.dut.profile()), planned, options.command(planned), executed)
        })
    }

    /// Restarts the device. Without success it is lost.
    pub(super) fn restart(&mut self) {
        self.lost = self.dut.restart().err().map(|error| error.to_string());
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Plays a case that killed the device once more on a new device, packet by packet, so that the last packet of the
    /// trace is the one that did it. Gives the first try where that does not work.
    fn find_killer(&mut self, planned: &Planned<'_>, seed: u64, first: Executed) -> Executed {
        let sent = first.trace.iter().filter(|line| line.actor == Actor::Tester).count();
        if sent < 2 || self.dut.restart().is_err() {
            return first;
        }
        let again = execute(self.dut, planned, seed, Pace::PacketByPacket, &mut self.past);
        if matches!(again.ending, Ending::Crashed(_)) { again } else { Executed { once: true, ..first } }
    }
}
