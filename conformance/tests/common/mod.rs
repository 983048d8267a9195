//! What the integration tests share: the catalogue, the emulator, and a device that misbehaves to order.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its own part")]

use rocespec::dut::{Addresses, Dut, DutError, Emulator, Stamped};
use rocespec::profile::Profile;
use rocespec::run::{Done, Options, Planned, plan, run};
use rocespec::scenario::{self, Scenario};
use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::Run;

pub fn profile() -> Profile {
    Profile::parse("emulator", include_str!("../../../fixtures/profiles/emulator.toml")).unwrap()
}

pub fn emulator(behaviours: &str) -> Emulator {
    Emulator::named(behaviours, profile()).unwrap()
}

pub fn scenario(text: &str) -> Scenario {
    scenario::parse("test.toml", "test/case", text).unwrap_or_else(|error| panic!("{error}"))
}

/// A scenario with this level and script.
pub fn script(level: &str, script: &str) -> Scenario {
    scenario(&format!(
        "title = 'A test'\nabout = 'A test.'\nrules = ['rc.responder.gap-nak']\nlevel = '{level}'\nscript = '''\n{script}\n'''\n"
    ))
}

pub fn options() -> Options {
    Options { seed: 1, dut: "test".to_owned(), repeat: String::new() }
}

/// Runs the usual variants of these scenarios.
pub fn run_on(dut: &mut dyn Dut, scenarios: &[Scenario]) -> (Run, Vec<Vec<u8>>) {
    let planned: Vec<Planned<'_>> = plan(scenarios, &[], false).unwrap();
    let mut files = Vec::new();
    let result = run(dut, &planned, &options(), &mut |done: &mut Done| files.push(done.pcapng.clone()));
    (result, files)
}

/// An emulator that fails in other ways than a protocol can.
pub struct Unwell {
    pub inner: Emulator,
    pub profile: Profile,
    /// Dies on this transmitted frame, counted from 1 over its whole life.
    pub dies_on: Option<usize>,
    /// Does not come back after it died.
    pub stays_dead: bool,
    /// Its software does not answer at all.
    pub mute: bool,
    pub sent: usize,
    pub restarts: usize,
}

impl Unwell {
    pub fn new(behaviours: &str) -> Unwell {
        let (inner, profile) = (emulator(behaviours), profile());
        Unwell { inner, profile, dies_on: None, stays_dead: false, mute: false, sent: 0, restarts: 0 }
    }
}

impl Dut for Unwell {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        if self.mute {
            return Err(DutError::Unreachable("the agent does not answer".to_owned()));
        }
        self.inner.control(command)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.sent += 1;
        if self.dies_on == Some(self.sent) {
            return Err(DutError::Crash("the console says: Kernel panic\nand more".to_owned()));
        }
        self.inner.transmit(frame)
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        self.inner.advance(until, seen)
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn tester(&self) -> &Addresses {
        self.inner.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.restarts += 1;
        if self.stays_dead {
            return Err(DutError::Unreachable("the guest does not boot".to_owned()));
        }
        self.inner.restart()
    }
}
