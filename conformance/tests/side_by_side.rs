//! Cases side by side on one device: the emulator, slowed down to real time and shared.

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::{emulator, options, profile, scenario};
use rocespec::dut::{Addresses, Dut, DutError, Emulator, Stamped, Waker};
use rocespec::profile::Profile;
use rocespec::run::{Options, plan, run};
use rocespec::scenario::Scenario;
use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::{Run, Verdict};

/// The emulator as a real device has it: the clock goes on by itself.
struct RealTime {
    inner: Emulator,
    profile: Profile,
    origin: Instant,
    woken: Arc<(Mutex<bool>, Condvar)>,
    /// Frames that came while nobody looked.
    waiting: Vec<(Time, Vec<u8>)>,
    /// Dies of a frame that holds these bytes.
    poison: Option<[u8; 8]>,
    dead: bool,
    restarts: usize,
    /// With the first frame that holds these bytes it sends one to a queue pair that nobody has named.
    stray: Option<[u8; 8]>,
    /// Queue pairs on the device at this moment, and the most that there were.
    live: BTreeSet<u32>,
    most: usize,
    /// Frames that it was sent.
    sent: usize,
}

impl RealTime {
    fn new() -> RealTime {
        let mut profile = profile();
        profile.timing.silence = Duration::from_millis(50);
        RealTime {
            inner: emulator(""),
            profile,
            origin: Instant::now(),
            woken: Arc::default(),
            waiting: Vec::new(),
            poison: None,
            dead: false,
            restarts: 0,
            stray: None,
            live: BTreeSet::new(),
            most: 0,
            sent: 0,
        }
    }

    /// Brings the emulator's time to ours.
    fn catch_up(&mut self) {
        let now = self.now();
        while self.inner.now() < now {
            let waiting = &mut self.waiting;
            self.inner.advance(now, &mut |stamped| waiting.push((stamped.time, stamped.frame.to_vec()))).unwrap();
        }
    }

    fn alive(&self) -> Result<(), DutError> {
        if self.dead { Err(DutError::Crash("Kernel panic".to_owned())) } else { Ok(()) }
    }
}

fn holds(frame: &[u8], bytes: [u8; 8]) -> bool {
    frame.windows(bytes.len()).any(|part| part == bytes)
}

impl Dut for RealTime {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.alive()?;
        self.catch_up();
        let reply = self.inner.control(command)?;
        match (command, &reply) {
            (_, Reply::Qp { qp, .. }) => drop(self.live.insert(*qp)),
            (Command::DestroyQp { qp }, _) => drop(self.live.remove(qp)),
            _ => {}
        }
        self.most = self.most.max(self.live.len());
        Ok(reply)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.alive()?;
        self.catch_up();
        if self.poison.is_some_and(|poison| holds(frame, poison)) {
            self.dead = true;
            return Ok(());
        }
        if self.stray.take_if(|stray| holds(frame, *stray)).is_some() {
            let mut stray = frame.to_vec();
            // Its queue pair number becomes one that nobody has named.
            stray[47..50].copy_from_slice(&[0xee, 0xee, 0xee]);
            self.waiting.push((self.inner.now(), stray));
        }
        self.sent += 1;
        self.inner.transmit(frame)
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        loop {
            self.alive()?;
            self.catch_up();
            let reached = self.inner.now();
            if !self.waiting.is_empty() {
                for (time, frame) in self.waiting.drain(..) {
                    seen(Stamped { time, frame: &frame });
                }
                return Ok(reached);
            }
            let (woken, condition) = &*self.woken;
            let tick = (until - reached).min(Duration::from_millis(1));
            let (mut woken, _) = condition.wait_timeout_while(woken.lock().unwrap(), tick, |woken| !*woken).unwrap();
            if std::mem::take(&mut *woken) || reached >= until {
                return Ok(reached);
            }
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    fn tester(&self) -> &Addresses {
        self.inner.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.restarts += 1;
        self.dead = false;
        self.live.clear();
        self.origin = Instant::now();
        self.inner.restart()
    }

    fn waker(&self) -> Option<Waker> {
        let woken = Arc::clone(&self.woken);
        Some(Arc::new(move || {
            *woken.0.lock().unwrap() = true;
            woken.1.notify_one();
        }))
    }
}

/// A scenario of this name.
fn named(name: &str, header: &str, script: &str) -> Scenario {
    let text = format!(
        "title = 'A test'\nabout = 'A test.'\nrules = ['rc.responder.gap-nak']\nlevel = 'must'\n{header}\nscript = '''\n{script}\n'''\n"
    );
    Scenario { id: format!("test/{name}"), ..scenario(&text) }
}

const QUIET: &str = "dut recv 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0 msn=1\nsilence";

fn quiet(count: usize) -> Vec<Scenario> {
    (0..count).map(|number| named(&format!("quiet-{number:02}"), "", QUIET)).collect()
}

fn run_with(dut: &mut dyn Dut, scenarios: &[Scenario], jobs: usize) -> Run {
    let planned = plan(scenarios, &[], false).unwrap();
    run(dut, &planned, &Options { jobs, ..options() }, &mut |_| ())
}

fn verdicts(run: &Run) -> Vec<(String, Verdict)> {
    run.cases.iter().map(|case| (case.id(), case.verdict)).collect()
}

#[test]
fn company_saves_time_and_changes_no_verdict() {
    let mut scenarios = quiet(12);
    scenarios.push(named("wrong", "", "dut recv 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0 msn=2"));
    let mut device = RealTime::new();
    let started = Instant::now();
    let together = run_with(&mut device, &scenarios, 8);
    let time_together = started.elapsed();
    assert!(device.most > 4, "only {} at once", device.most);
    let started = Instant::now();
    let one_by_one = run_with(&mut RealTime::new(), &scenarios, 1);
    assert!(time_together < started.elapsed());
    assert_eq!(verdicts(&together), verdicts(&one_by_one));
    assert_eq!(together.count(Verdict::Pass), 12);
    assert_eq!(together.count(Verdict::Fail), 1);
}

#[test]
fn a_case_that_wants_to_be_alone_is() {
    let alone: Vec<Scenario> =
        (0..4).map(|number| named(&format!("alone-{number}"), "alone = true", "wait 10ms\ndut qp rts")).collect();
    let mut device = RealTime::new();
    assert_eq!(run_with(&mut device, &alone, 8).count(Verdict::Pass), 4);
    assert_eq!(device.most, 1);
}

#[test]
fn what_concerns_the_whole_port_is_alone_without_saying_so() {
    assert!(
        named("group", "needs = ['ud', 'multicast']\nsetup = { transport = 'ud' }", "dut attach ff0e::1\ndut qp rts")
            .runs_alone()
    );
    assert!(!quiet(1)[0].runs_alone());
}

#[test]
fn the_killer_among_many_is_named_and_the_others_are_judged() {
    let mut scenarios = quiet(6);
    let poison = "dut recv 4 x 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0 msn=1\n> SEND_ONLY psn=1 8B=ab\n> SEND_ONLY psn=2 ack\n< ACK psn=2\nsilence";
    scenarios.insert(2, named("killer", "", poison));
    let mut device = RealTime { poison: Some([0xab; 8]), ..RealTime::new() };
    let run = run_with(&mut device, &scenarios, 4);
    assert_eq!((run.count(Verdict::Pass), run.count(Verdict::Crash)), (6, 1));
    let crash = run.cases.iter().find(|case| case.verdict == Verdict::Crash).unwrap();
    assert_eq!(crash.scenario, "test/killer");
    assert!(crash.findings[0].why.ends_with("SEND_ONLY psn=1 8B=ab"), "{}", crash.findings[0].why);
    // Once to find the packet, once after it.
    assert_eq!(device.restarts, 2);
}

#[test]
fn a_frame_that_nobody_owns_blames_nobody_who_did_not_cause_it() {
    let mut scenarios = quiet(6);
    let cause = "dut recv 2 x 64\n> SEND_ONLY psn=0 ack 8B=cd\n< ACK psn=0 msn=1\nsilence";
    scenarios.push(named("cause", "", cause));
    let mut device = RealTime { stray: Some([0xcd; 8]), ..RealTime::new() };
    let run = run_with(&mut device, &scenarios, 7);
    // The stray frame comes once: alone every case does well. All that were at work have sent their two frames twice.
    assert_eq!(run.count(Verdict::Pass), 7);
    assert!(device.sent > 2 * 7, "{} frames", device.sent);
}
