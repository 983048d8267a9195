//! Before a device is judged, the recording is.

mod common;

use common::{emulator, run_on, script};
use rocespec::dut::{Addresses, Dut, DutError, Emulator, Stamped};
use rocespec::profile::Profile;
use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::{Case, Verdict};

const TWO: &str =
    "dut recv 2 x 64\n> SEND_ONLY psn=0 ack 64B\n> SEND_ONLY psn=1 ack 64B\n< ACK psn=0 msn=1\n< ACK psn=1 msn=2";

/// A device that is well, on a wire that is not.
struct BadWire {
    device: Emulator,
    /// Frames of the device that still get lost.
    loses: u64,
    lost: u64,
    /// It knows what it lost.
    tells: bool,
    /// Each frame is stamped so much earlier than the one before it.
    goes_back: std::time::Duration,
    frames: u32,
}

impl BadWire {
    fn new() -> BadWire {
        BadWire { device: emulator(""), loses: 0, lost: 0, tells: true, goes_back: Default::default(), frames: 0 }
    }

    fn play(&mut self, text: &str) -> Case {
        run_on(self, &[script("must", text)]).0.cases.remove(0)
    }
}

impl Dut for BadWire {
    fn profile(&self) -> &Profile {
        self.device.profile()
    }

    fn device(&self) -> &Device {
        self.device.device()
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.device.control(command)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.device.transmit(frame)
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        let BadWire { device, loses, lost, goes_back, frames, .. } = self;
        device.advance(until, &mut |stamped| {
            if *loses > 0 {
                (*loses, *lost) = (*loses - 1, *lost + 1);
                return;
            }
            *frames += 1;
            let time = Time::ZERO + (stamped.time - Time::ZERO).saturating_sub(*goes_back * *frames);
            seen(Stamped { time, ..stamped });
        })
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn is_virtual(&self) -> bool {
        self.device.is_virtual()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.device.next_timeout()
    }

    fn tester(&self) -> &Addresses {
        self.device.tester()
    }

    fn restart(&mut self) -> Result<(), DutError> {
        self.device.restart()
    }

    fn lost_frames(&mut self) -> Result<u64, DutError> {
        Ok(if self.tells { std::mem::take(&mut self.lost) } else { 0 })
    }
}

#[test]
fn a_whole_recording_is_judged() {
    assert_eq!(BadWire::new().play(TWO).verdict, Verdict::Pass);
}

#[test]
fn a_lost_frame_is_not_the_devices_fault() {
    let mut wire = BadWire { loses: 1, ..BadWire::new() };
    let case = wire.play(&format!("wait 1ms\n{TWO}"));
    assert_eq!(case.verdict, Verdict::Inconclusive);
    assert!(case.reason.contains("1 frames of the device did not reach it"), "{}", case.reason);
    assert_eq!(wire.play(TWO).verdict, Verdict::Pass, "the next case is whole again");
    let mut silent = BadWire { loses: 1, tells: false, ..BadWire::new() };
    assert_eq!(silent.play(TWO).verdict, Verdict::Fail);
}

#[test]
fn frames_out_of_order_are_not_judged() {
    let mut wire = BadWire { goes_back: std::time::Duration::from_micros(50), ..BadWire::new() };
    let case = wire.play(&format!("wait 1ms\n{TWO}"));
    assert_eq!(case.verdict, Verdict::Inconclusive);
    assert!(case.reason.contains("a time before"), "{}", case.reason);
}
