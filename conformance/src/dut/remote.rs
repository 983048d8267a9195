//! A device in real time, whatever it is: a wire, a voice to its software, and something that tells whether it lives.
//!
//! What is special about a kind of device is its [`Place`]: how it is reached or started. The rest is here once.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use rocespec_control::{Command, Device, ErrorCode, Reply, VERSION};
use rocespec_model::Time;

use super::clock::Clock;
use super::control_client::{ControlClient, ControlError};
use super::port::{Port, PortError, Received};
use super::prepared::Prepared;
use super::{Addresses, Dut, DutError, Stamped, Waker};
use crate::profile::Profile;

/// How long the agent may take for an order. Moving a queue pair to RTR resolves the peer's address.
const CONTROL_LIMIT: Duration = Duration::from_secs(20);
/// How long a frame may take from the device's own counter to us.
const BEHIND: Duration = Duration::from_millis(200);
/// How often a wait for frames looks whether the device lives.
const LOOK: Duration = Duration::from_millis(20);

/// Where a device is and how one comes to it.
pub(crate) trait Place: Send + Debug {
    /// The device in messages: `the guest 6.1`.
    fn name(&self) -> String;

    /// The tester's own addresses on this wire.
    fn tester(&self) -> &Addresses;

    /// Starts the device or connects to it. Called again for a restart, when the last line is closed.
    ///
    /// # Errors
    /// [`DutError::Unreachable`], with what to do.
    fn connect(&mut self, clock: Clock) -> Result<Line, DutError>;

    /// The first order.
    fn hello(&self) -> Command {
        Command::hello()
    }

    /// How long the device may take from [`Place::connect`] to its answer to `hello`.
    fn patience(&self) -> Duration;

    /// How long its software may take for an order.
    fn order_limit(&self) -> Duration {
        CONTROL_LIMIT
    }

    /// Looks whether the way to the device suits it, once it has said who it is.
    ///
    /// # Errors
    /// [`DutError::Unreachable`], with what to do.
    fn check(&self, _device: &Device) -> Result<(), DutError> {
        Ok(())
    }

    /// The device's own counter of frames that it sent, where it has one that is exact: what is missing on the wire is then
    /// known.
    fn sent_counter(&self) -> Option<&'static str> {
        None
    }

    /// How many frames get lost or change their order on the way to the device and back, by a trial of now. Zero where that
    /// cannot be tried.
    fn lost_on_the_way(&self, _device: &Device) -> u64 {
        0
    }

    /// True where the device itself puts frames on a byte stream: that it loses the framing is its own fault then.
    fn frames_itself(&self) -> bool {
        false
    }
}

/// What is made anew by a restart. The order is that of the drops: first the device, then the ends of its wires.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) life: Box<dyn Life>,
    pub(crate) port: Port,
    pub(crate) control: Control,
}

/// Who carries out what the device's own software is to do.
#[derive(Debug)]
pub(crate) enum Control {
    /// An agent.
    Agent(ControlClient),
    /// Nobody: it was done before the run.
    Prepared(Prepared),
}

impl From<ControlClient> for Control {
    fn from(client: ControlClient) -> Control {
        Control::Agent(client)
    }
}

impl Control {
    fn call(
        &mut self,
        command: &Command,
        limit: Duration,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, ControlError> {
        match self {
            Control::Agent(client) => client.call(command, limit, alive),
            Control::Prepared(prepared) => Ok(prepared.call(command)?),
        }
    }
}

/// Whether the device lives, as far as that is seen beside its wire.
pub(crate) trait Life: Send + Debug {
    /// Cheap: for loops.
    fn is_dead(&self) -> bool;

    /// How it died, if it did.
    fn death(&self) -> Option<String>;

    /// What it said last, for a message.
    fn last_words(&self) -> String;

    /// Waits a moment for one that seems to die to say why.
    fn wait_for_last_words(&self);
}

/// Nothing tells whether the device lives but its wire and its agent.
#[derive(Debug)]
pub(crate) struct OutOfSight;

impl Life for OutOfSight {
    fn is_dead(&self) -> bool {
        false
    }

    fn death(&self) -> Option<String> {
        None
    }

    fn last_words(&self) -> String {
        String::new()
    }

    fn wait_for_last_words(&self) {}
}

/// A device in real time.
#[derive(Debug)]
pub struct Remote {
    place: Box<dyn Place>,
    profile: Profile,
    device: Device,
    clock: Clock,
    /// Missing after a restart that failed.
    line: Option<Line>,
    /// Lost frames that were told of.
    reported: u64,
}

impl Remote {
    /// Connects to the device, and waits until it says who it is.
    ///
    /// # Errors
    /// [`DutError::Unreachable`] when it does not come up; the text says what to do or what it said.
    pub(crate) fn start(mut place: Box<dyn Place>, mut profile: Profile, clock: Clock) -> Result<Remote, DutError> {
        let (line, device) = connect(&mut *place, clock)?;
        if profile.capabilities.is_empty() {
            profile.capabilities.clone_from(&device.capabilities);
            // These are about the speed of its port and microseconds there, of which only a profile can tell.
            let of_port = |capability: &String| ["pfc", "pause", "dcqcn"].contains(&capability.as_str());
            profile.capabilities.retain(|capability| profile.port.is_some() || !of_port(capability));
        }
        Ok(Remote { place, profile, device, clock, line: Some(line), reported: 0 })
    }

    fn line(&mut self) -> Result<&mut Line, DutError> {
        let name = &self.place;
        self.line.as_mut().ok_or_else(|| DutError::Unreachable(format!("{} did not come back", name.name())))
    }

    /// What a wire that is of no more use says about the device.
    fn wire_failed(&self, error: PortError) -> DutError {
        match error {
            PortError::Failed(why) => DutError::Unreachable(why),
            PortError::Garbled(why) if !self.place.frames_itself() => DutError::Unreachable(why),
            PortError::Garbled(why) | PortError::Closed(why) => match &self.line {
                Some(line) => {
                    line.life.wait_for_last_words();
                    let how = line.life.death();
                    DutError::Crash(how.unwrap_or_else(|| with(&why, &line.life.last_words())))
                }
                None => DutError::Crash(why),
            },
        }
    }
}

/// A fact and the last words, where there are any.
fn with(fact: &str, last_words: &str) -> String {
    if last_words.is_empty() { fact.to_owned() } else { format!("{fact}; {last_words}") }
}

fn connect(place: &mut dyn Place, clock: Clock) -> Result<(Line, Device), DutError> {
    let mut line = place.connect(clock)?;
    let Line { life, port, control } = &mut line;
    match control.call(&place.hello(), place.patience(), &mut || !life.is_dead()) {
        Ok(Reply::Device(device)) if device.version != VERSION => Err(DutError::Unreachable(format!(
            "{} speaks version {} of the control protocol, rocespec {VERSION}",
            place.name(),
            device.version
        ))),
        Ok(Reply::Device(device)) => {
            // What the device sent while it came up is nobody's traffic.
            port.drain(&mut |_| {});
            place.check(&device)?;
            Ok((line, device))
        }
        Ok(other) => Err(DutError::Unreachable(format!("{} answers `hello` with {other:?}", place.name()))),
        Err(error) => {
            let advice = match &error {
                ControlError::Refused(failure) if failure.code == ErrorCode::Unauthorized => {
                    "; the agent's token goes into the variable ROCESPEC_TOKEN or, with nic:, into a file: token=FILE"
                }
                _ => "",
            };
            let how = life.death().unwrap_or_else(|| with(&format!("{error}{advice}"), &life.last_words()));
            Err(DutError::Unreachable(format!("{} did not come up: {how}", place.name())))
        }
    }
}

impl Dut for Remote {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        let limit = self.place.order_limit();
        let Line { life, control, .. } = self.line()?;
        match control.call(command, limit, &mut || !life.is_dead()) {
            Ok(reply) => Ok(reply),
            Err(ControlError::Refused(failure)) => Err(DutError::Refused(failure)),
            Err(error @ ControlError::Nonsense(_)) => Err(DutError::Unreachable(error.to_string())),
            Err(error) => {
                let how = life.death().unwrap_or_else(|| life.last_words());
                Err(DutError::Crash(with(&error.to_string(), &how)))
            }
        }
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        let sent = self.line()?.port.send(frame);
        sent.map_err(|error| self.wire_failed(error))
    }

    /// Ethernet housekeeping (ARP, neighbour discovery, multicast reports) is answered or dropped here, not given to `seen`.
    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        loop {
            let now = self.now();
            let Line { life, port, .. } = self.line()?;
            match port.receive((until - now).min(LOOK)) {
                Ok(Received::Frame) => {
                    let mut last = now;
                    port.drain(&mut |stamped| {
                        last = last.max(stamped.time);
                        seen(stamped);
                    });
                    return Ok(last);
                }
                Ok(Received::Woken) => return Ok(now),
                Ok(Received::Nothing) => {}
                Err(error) => return Err(self.wire_failed(error)),
            }
            if life.is_dead()
                && let Some(how) = life.death()
            {
                return Err(DutError::Crash(how));
            }
            let now = self.now();
            if now >= until {
                return Ok(now);
            }
        }
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn tester(&self) -> &Addresses {
        self.place.tester()
    }

    /// Frames that our side is known to have lost, and those that the device counts as sent and that the wire has not
    /// brought, a moment later either; else those that the way loses when it is tried.
    fn lost_frames(&mut self) -> Result<u64, DutError> {
        let sent = match self.place.sent_counter() {
            None => 0,
            Some(name) => match self.control(&Command::Counters {})? {
                Reply::Counters(counters) => counters.get(name).copied().unwrap_or_default(),
                other => return Err(DutError::Unreachable(format!("the agent answers `counters` with {other:?}"))),
            },
        };
        let reported = self.reported;
        let port = &self.line()?.port;
        let deadline = Instant::now() + BEHIND;
        let lost = loop {
            let lost = port.lost().max(sent.saturating_sub(port.brought())).saturating_sub(reported);
            if lost == 0 || Instant::now() >= deadline {
                break lost;
            }
            std::thread::sleep(LOOK);
        };
        self.reported += lost;
        if lost == 0 {
            return Ok(self.place.lost_on_the_way(&self.device));
        }
        Ok(lost)
    }

    fn restart(&mut self) -> Result<(), DutError> {
        drop(self.line.take());
        self.reported = 0;
        let (line, device) = connect(&mut *self.place, self.clock)?;
        (self.line, self.device) = (Some(line), device);
        Ok(())
    }

    /// Prepared queue pairs are for one case after the other.
    fn waker(&self) -> Option<Waker> {
        match self.line.as_ref()? {
            Line { control: Control::Prepared(_), .. } => None,
            Line { port, .. } => Some(port.waker()),
        }
    }

    fn prepared(&mut self) -> Option<&mut Prepared> {
        match self.line.as_mut()? {
            Line { control: Control::Prepared(prepared), .. } => Some(prepared),
            _ => None,
        }
    }
}
