//! `exec:COMMAND`: a device that is started for the run, and again when it died.
//!
//! Where its two sockets are it learns from the environment: we listen, it connects. They lie in a folder of their own that
//! is gone as soon as it has connected.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{ORDER_LIMIT, Software};
use crate::dut::clock::Clock;
use crate::dut::control_client::ControlClient;
use crate::dut::process::{Manner, Process};
use crate::dut::remote::{Control, Life, Line, Place, Remote};
use crate::dut::{Addresses, DutError, Prepared, TESTER, port};
use crate::profile::Profile;

/// How long the command may take until it has connected, on a busy machine, and then to its first answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often we look whether it has.
const LOOK: Duration = Duration::from_millis(5);

const MANNER: Manner = Manner { name: "the command", voice: "the command", words_of_death: &[], output_is_voice: true };

/// Starts a device. `command` is for `sh -c`; with `prepared` queue pairs it gets no control socket.
///
/// # Errors
/// [`DutError::Unreachable`] when it does not start or does not connect; the text has its last words.
pub fn start(command: &str, prepared: Option<Prepared>, profile: Profile) -> Result<Remote, DutError> {
    if command.trim().is_empty() {
        return Err(DutError::Unreachable(
            "--dut exec: say which command is the device: 'exec:./simulator'".to_owned(),
        ));
    }
    Remote::start(Box::new(Exec { command: command.to_owned(), prepared }), profile, Clock::new())
}

/// A device to be started.
#[derive(Debug)]
struct Exec {
    command: String,
    prepared: Option<Prepared>,
}

impl Place for Exec {
    fn name(&self) -> String {
        format!("the device `{}`", self.command)
    }

    fn tester(&self) -> &Addresses {
        &TESTER
    }

    fn connect(&mut self, clock: Clock) -> Result<Line, DutError> {
        let failed =
            |what: &'static str| move |error: std::io::Error| DutError::Unreachable(format!("{what}: {error}"));
        let folder = Folder::new().map_err(failed("cannot make a folder for the device's sockets"))?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&self.command).stdin(Stdio::null()).stdout(Stdio::null());
        shell
            .env("ROCESPEC_TESTER_MAC", TESTER.mac.to_string())
            .env("ROCESPEC_TESTER_IP4", TESTER.v4.to_string())
            .env("ROCESPEC_TESTER_IP6", TESTER.v6.to_string())
            .env_remove("ROCESPEC_CONTROL");
        let mut listen = |variable: &'static str, name: &str| {
            let path = folder.0.join(name);
            shell.env(variable, &path);
            let listener = UnixListener::bind(&path)?;
            listener.set_nonblocking(true)?;
            Ok(Door { variable, listener })
        };
        let wire = listen("ROCESPEC_WIRE", "wire").map_err(failed("cannot listen for the device"))?;
        let software = match &self.prepared {
            Some(prepared) => Software::Prepared(prepared.clone()),
            None => {
                let door = listen("ROCESPEC_CONTROL", "control");
                Software::Agent(door.map_err(failed("cannot listen for the device"))?)
            }
        };

        let process = Process::start(shell, MANNER).map_err(failed("cannot run sh"))?;
        let deadline = Instant::now() + PATIENCE;
        let wire = self.accept(&wire, &process, deadline)?;
        let port = port::stream::open(wire.into(), &TESTER, clock).map_err(failed("the wire"))?;
        let control = match software {
            Software::Prepared(prepared) => Control::Prepared(prepared),
            Software::Agent(door) => {
                let stream = self.accept(&door, &process, deadline)?;
                ControlClient::new(stream.into()).map_err(failed("the control stream"))?.into()
            }
        };
        Ok(Line { life: Box::new(process), port, control })
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn order_limit(&self) -> Duration {
        ORDER_LIMIT
    }

    fn frames_itself(&self) -> bool {
        true
    }
}

impl Exec {
    /// Waits until the device has come through a door.
    fn accept(&self, door: &Door, process: &Process, deadline: Instant) -> Result<UnixStream, DutError> {
        loop {
            let problem = match door.listener.accept() {
                Ok((stream, _)) => match stream.set_nonblocking(false) {
                    Ok(()) => return Ok(stream),
                    Err(error) => error.to_string(),
                },
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    let late = Instant::now() >= deadline;
                    match process.death() {
                        Some(how) => how,
                        None if late => format!(
                            "it has not connected to the socket in {} within {} s; {}",
                            door.variable,
                            PATIENCE.as_secs(),
                            process.last_words()
                        ),
                        None => {
                            thread::sleep(LOOK);
                            continue;
                        }
                    }
                }
                Err(error) => error.to_string(),
            };
            return Err(DutError::Unreachable(format!("{} did not come up: {problem}", self.name())));
        }
    }
}

/// A socket that the device is to connect to.
struct Door {
    /// Where the device reads its path.
    variable: &'static str,
    listener: UnixListener,
}

/// A folder of our own, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("rocespec-{}-{count}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Somebody's who had our number before.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
