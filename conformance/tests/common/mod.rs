//! What the integration tests share: packets and captures, the catalogue, the emulator, and a device that misbehaves to
//! order.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its own part")]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rocespec::capture::{CapturedFrame, Reader};
use rocespec::dut::{Addresses, Dut, DutError, Emulator, Stamped};
use rocespec::profile::Profile;
use rocespec::run::{Done, Options, Planned, plan, run};
use rocespec::scenario::{self, Scenario};
use rocespec_codec::notation::{Scope, parse};
use rocespec_codec::{
    Bth, Extensions, Frame, Net, Opcode, Qpn, RnrTimer, Syndrome, decode, encode, encoded_len, field,
};
use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::Run;

/// What a command printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bytes of a packet in the notation.
pub fn frame(line: &str) -> Vec<u8> {
    frame_in(&Scope::default(), line)
}

/// The same where other things are ordinary.
pub fn frame_in(scope: &Scope<'_>, line: &str) -> Vec<u8> {
    let (mut buffer, mut out) = ([0; 8192], [0; 8192]);
    let read = parse(line, scope, &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    read.encode(&mut out).unwrap().to_vec()
}

/// A capture from the field, which lies beside some checkouts only, or where `ROCESPEC_CAPTURES` says.
pub fn field(name: &str) -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures");
    std::env::var_os("ROCESPEC_CAPTURES").map_or_else(|| PathBuf::from(beside), PathBuf::from).join(name)
}

/// Says why a test does nothing, past the test harness, which shows what is printed of failed tests alone.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// The frames of a capture file.
pub fn frames(path: &Path) -> Vec<CapturedFrame> {
    Reader::new(std::fs::File::open(path).unwrap()).map(Result::unwrap).collect()
}

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
    Options { seed: 1, dut: "test".to_owned(), repeat: String::new(), jobs: 1, counters: false }
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
    /// Dies of a frame that holds these bytes, and shows it only when it is asked the next time.
    pub poison: Option<Vec<u8>>,
    pub poisoned: bool,
    /// Does not come back after it died.
    pub stays_dead: bool,
    /// Its software does not answer at all.
    pub mute: bool,
    /// Answers so many requests with an RNR NAK instead of carrying them out.
    pub puts_off: usize,
    pub peer: u32,
    pub waiting: Vec<Vec<u8>>,
    pub sent: usize,
    pub restarts: usize,
}

impl Unwell {
    pub fn new(behaviours: &str) -> Unwell {
        let (inner, profile) = (emulator(behaviours), profile());
        Unwell {
            inner,
            profile,
            dies_on: None,
            poison: None,
            poisoned: false,
            stays_dead: false,
            mute: false,
            puts_off: 0,
            peer: 0,
            waiting: Vec::new(),
            sent: 0,
            restarts: 0,
        }
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
        if let Command::ModifyQp { attributes, .. } = command {
            self.peer = attributes.dest_qpn.unwrap_or(self.peer);
        }
        if self.poisoned {
            return Err(DutError::Crash("Kernel panic".to_owned()));
        }
        self.inner.control(command)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        let holds = |poison: &Vec<u8>| frame.windows(poison.len()).any(|part| part == &poison[..]);
        self.poisoned |= self.poison.as_ref().is_some_and(holds);
        self.sent += 1;
        if self.dies_on == Some(self.sent) {
            return Err(DutError::Crash("the console says: Kernel panic\nand more".to_owned()));
        }
        if self.puts_off > 0 {
            self.puts_off -= 1;
            self.waiting.push(rnr_nak(frame, self.peer));
            return Ok(());
        }
        self.inner.transmit(frame)
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        for frame in self.waiting.drain(..) {
            seen(Stamped { time: self.inner.now(), frame: &frame });
        }
        self.inner.advance(until, seen)
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn is_virtual(&self) -> bool {
        self.inner.is_virtual()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn tester(&self) -> &Addresses {
        self.inner.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.restarts += 1;
        self.poisoned = false;
        if self.stays_dead {
            return Err(DutError::Unreachable("the guest does not boot".to_owned()));
        }
        self.inner.restart()
    }
}

/// The RNR NAK that puts off this request, to the queue pair `peer`.
fn rnr_nak(request: &[u8], peer: u32) -> Vec<u8> {
    let Ok(Frame::Roce(mut packet)) = decode(request) else { panic!("not RoCE") };
    std::mem::swap(&mut packet.eth.src, &mut packet.eth.dst);
    if let Net::V4(ip) = &mut packet.net {
        std::mem::swap(&mut ip.src, &mut ip.dst);
    }
    packet.bth = Bth { dest_qp: Qpn::new(peer), psn: packet.bth.psn, ..Bth::new(Opcode::RC_ACKNOWLEDGE) };
    packet.ext = Extensions::default();
    packet.ext.aeth.syndrome = Syndrome::rnr_nak(RnrTimer::new(1));
    packet.payload = &[];
    field::complete(&mut packet, |_| false);
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}
