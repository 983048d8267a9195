//! `socket:wire=PATH,control=PATH`: a simulator that listens on unix sockets.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rocespec_control::{Command, VERSION};

use super::{ORDER_LIMIT, Software};
use crate::dut::clock::Clock;
use crate::dut::control_client::ControlClient;
use crate::dut::nic::options::token_of_environment;
use crate::dut::remote::{Control, Line, OutOfSight, Place, Remote};
use crate::dut::{Addresses, DutError, Prepared, TESTER, port};
use crate::profile::Profile;

/// How long a device may take for its first answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one that died may take to listen again.
const COME_BACK: Duration = Duration::from_secs(10);
/// How often that is tried.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Connects to a simulator. `words` is what stands behind `socket:`; with `prepared` queue pairs it needs no control socket.
///
/// # Errors
/// [`DutError::Unreachable`] when the words are wrong or nobody is there; the text says what to do.
pub fn start(words: &str, prepared: Option<Prepared>, profile: Profile) -> Result<Remote, DutError> {
    let place = Socket::parse(words, prepared).map_err(DutError::Unreachable)?;
    Remote::start(Box::new(place), profile, Clock::new())
}

/// A simulator to be connected to.
#[derive(Debug)]
pub(super) struct Socket {
    wire: PathBuf,
    software: Software<PathBuf>,
    pub(super) tester: Addresses,
    pub(super) patience: Duration,
    /// It was there once.
    known: bool,
}

impl Socket {
    pub(super) fn parse(words: &str, prepared: Option<Prepared>) -> Result<Socket, String> {
        let (mut wire, mut control, mut tester) = (None, None, TESTER);
        for word in words.split(',') {
            let wrong = |what: &str| format!("--dut socket: {word:?} is not {what}");
            match word.split_once('=') {
                Some(("wire", path)) if !path.is_empty() => wire = Some(PathBuf::from(path)),
                Some(("control", path)) if !path.is_empty() => control = Some(PathBuf::from(path)),
                Some(("mac", mac)) => tester.mac = mac.parse().map_err(|()| wrong("a MAC address"))?,
                Some(("ip4", ip)) => tester.v4 = ip.parse().map_err(|_| wrong("an IPv4 address"))?,
                Some(("ip6", ip)) => tester.v6 = ip.parse().map_err(|_| wrong("an IPv6 address"))?,
                _ => return Err(wrong("one of wire=PATH, control=PATH, mac=MAC, ip4=ADDRESS, ip6=ADDRESS")),
            }
        }
        let wire = wire.ok_or("--dut socket: say where its frames come from: socket:wire=PATH,control=PATH")?;
        let software = match (control, prepared) {
            (Some(control), None) => Software::Agent(control),
            (None, Some(prepared)) => Software::Prepared(prepared),
            (Some(_), Some(_)) => return Err("--dut socket: take control=PATH or --qp FILE, not both".to_owned()),
            (None, None) => {
                let who = "who drives the device? Say control=PATH, or give its queue pairs with --qp FILE";
                return Err(format!("--dut socket: {who}"));
            }
        };
        Ok(Socket { wire, software, tester, patience: PATIENCE, known: false })
    }

    /// Connects to a path; to a device that is to come back, as soon as it listens.
    fn dial(&self, what: &str, path: &Path) -> Result<UnixStream, DutError> {
        let started = Instant::now();
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => return Ok(stream),
                Err(_) if self.known && started.elapsed() < COME_BACK => thread::sleep(TRY_AGAIN),
                Err(error) => {
                    return Err(DutError::Unreachable(format!(
                        "nobody listens on the {what} socket {}: {error}; start the simulator first: it listens, rocespec \
                         connects",
                        path.display()
                    )));
                }
            }
        }
    }
}

impl Place for Socket {
    fn name(&self) -> String {
        format!("the device at {}", self.wire.display())
    }

    fn tester(&self) -> &Addresses {
        &self.tester
    }

    fn connect(&mut self, clock: Clock) -> Result<Line, DutError> {
        let cannot = |what: &'static str| {
            move |error: std::io::Error| DutError::Unreachable(format!("the {what} socket: {error}"))
        };
        let wire = self.dial("wire", &self.wire)?;
        let port = port::stream::open(wire.into(), &self.tester, clock).map_err(cannot("wire"))?;
        let control = match &self.software {
            Software::Agent(path) => {
                ControlClient::new(self.dial("control", path)?.into()).map_err(cannot("control"))?.into()
            }
            Software::Prepared(prepared) => Control::Prepared(prepared.clone()),
        };
        self.known = true;
        Ok(Line { life: Box::new(OutOfSight), port, control })
    }

    fn hello(&self) -> Command {
        // An agent that asks for no token ignores it.
        Command::Hello { version: VERSION, token: token_of_environment() }
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn order_limit(&self) -> Duration {
        ORDER_LIMIT
    }

    fn frames_itself(&self) -> bool {
        true
    }
}
