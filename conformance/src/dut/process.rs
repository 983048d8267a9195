//! A process that is a device: started, watched, and ended whatever happens to us.
//!
//! It runs in a process group of its own, so that a Ctrl-C in the terminal reaches us alone. If we end, also by SIGKILL,
//! the kernel kills it: it was asked to by `PR_SET_PDEATHSIG`. That signal follows the *thread* that started the process,
//! so a thread of its own starts it and stays until it has ended. What it started itself goes with it, as far as it stayed
//! in the group.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::console::Console;
use super::remote::Life;

/// How often the keeper looks whether the process has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long a dying process may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Its lines in a message.
const SHOWN: usize = 15;

/// What a running process is called in messages, and what it says when it dies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// The process: `QEMU`.
    pub(super) name: &'static str,
    /// What it says on its standard error: `the console`.
    pub(super) voice: &'static str,
    /// A line with one of these is its death, even while it runs on.
    pub(super) words_of_death: &'static [&'static str],
    /// Its standard output is heard with its standard error.
    pub(super) output_is_voice: bool,
}

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    manner: Manner,
    console: Arc<Console>,
    ended: Arc<OnceLock<ExitStatus>>,
    /// Closed to ask the keeper to kill.
    leave: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts it. Its standard error is read.
    pub(super) fn start(mut command: Command, manner: Manner) -> std::io::Result<Process> {
        command.stderr(Stdio::piped()).process_group(0);
        die_with_us(&mut command, manner.output_is_voice);

        let console = Arc::new(Console::new(manner.words_of_death));
        let ended = Arc::new(OnceLock::new());
        let (leave, left) = channel();
        let (tell, told) = channel();
        let keeper = {
            let ended = Arc::clone(&ended);
            thread::Builder::new().name("keeper".to_owned()).spawn(move || {
                let spawned = command.spawn();
                // The streams' ends in `command` would keep the wire open when the process is gone.
                drop(command);
                match spawned {
                    Ok(mut child) => {
                        let _ = tell.send(Ok(child.stderr.take()));
                        keep(&mut child, &left, &ended);
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                    }
                }
            })?
        };
        let stderr = told.recv().map_err(|_| std::io::Error::other("its keeper died"))??;
        let reader = {
            let console = Arc::clone(&console);
            let watch = move || stderr.into_iter().for_each(|stderr| console.watch(stderr));
            thread::Builder::new().name("console".to_owned()).spawn(watch)?
        };
        Ok(Process { manner, console, ended, leave: Some(leave), keeper: Some(keeper), reader: Some(reader) })
    }

    /// Kills it and waits until it is gone.
    fn kill(&mut self) {
        drop(self.leave.take());
        // A panic of theirs has been printed; there is nothing to add.
        let _ = self.keeper.take().map(JoinHandle::join);
        // Who left the group may hold the other end of its voice for as long as it likes: that is not waited for.
        let started = Instant::now();
        while !self.console.ended() && started.elapsed() < LAST_WORDS {
            thread::sleep(LOOK);
        }
        if self.console.ended() {
            let _ = self.reader.take().map(JoinHandle::join);
        }
    }
}

impl Life for Process {
    fn is_dead(&self) -> bool {
        self.ended.get().is_some() || self.console.crashed()
    }

    fn death(&self) -> Option<String> {
        if !self.is_dead() {
            return None;
        }
        self.wait_for_last_words();
        if let Some(crash) = self.console.crash() {
            return Some(format!("{} says:\n{crash}", self.manner.voice));
        }
        let status = self.ended.get()?;
        Some(format!("{} ended ({status}); {}", self.manner.name, self.last_words()))
    }

    fn last_words(&self) -> String {
        let voice = self.manner.voice;
        match self.console.last_lines(SHOWN) {
            lines if lines.is_empty() => format!("{voice} said nothing"),
            lines => format!("{voice}'s last lines:\n{lines}"),
        }
    }

    /// A kernel that dies says so over a slow serial line, after the wire has fallen silent. That a process ended, and how,
    /// is known a little later than that its console did.
    fn wait_for_last_words(&self) {
        let started = Instant::now();
        while !(self.console.ended() && self.is_dead()) && started.elapsed() < LAST_WORDS {
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Stays with the process until it ends by itself or is to be killed. Either way nobody of its group is left.
fn keep(child: &mut Child, left: &Receiver<()>, ended: &OnceLock<ExitStatus>) {
    while !has_ended(child) {
        match left.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    kill_group(child);
    if let Ok(status) = child.wait() {
        let _ = ended.set(status);
    }
}

/// Looks whether the process has ended, and leaves it to be waited for: its number stays its own until then.
fn has_ended(child: &Child) -> bool {
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeroes are a value of this plain structure.
    let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: a system call that writes to the structure at hand. An error tells that there is nothing to wait for.
    let asked = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut seen, look) };
    // SAFETY: the field is there after a call that succeeded; zero as it was unless the process has ended.
    asked != 0 || unsafe { seen.si_pid() } != 0
}

/// Kills the process and those that it started.
fn kill_group(child: &mut Child) {
    let group = child.id().cast_signed();
    // SAFETY: a plain system call. The group is that of the child, which leads it and has not been waited for: its number
    // is nobody else's.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    let _ = child.kill();
}

/// Asks the kernel to kill the process when the thread that starts it ends, and joins its output to its errors if wanted.
fn die_with_us(command: &mut Command, output_is_voice: bool) {
    let us = std::process::id().cast_signed();
    let ask = move || {
        // SAFETY: both are plain system calls without pointers, allowed between fork and exec.
        let (asked, parent) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        if asked != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: a plain system call on descriptors that are set up by now.
        if output_is_voice && unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // We may have died before the kernel was asked: then nobody would ever kill it.
        if parent == us { Ok(()) } else { Err(std::io::ErrorKind::NotConnected.into()) }
    };
    // SAFETY: the closure makes a few system calls and allocates nothing, as the time between fork and exec demands.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANNER: Manner = Manner { name: "it", voice: "it", words_of_death: &[], output_is_voice: true };

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdin(Stdio::null()).stdout(Stdio::null());
        Process::start(command, MANNER).unwrap()
    }

    #[test]
    fn children_that_outlive_it_hold_nobody_up() {
        // The first stays in the group and ends with it, the second leaves the group.
        for script in ["sleep 60 & exit 3", "setsid sleep 20 & exit 3"] {
            let process = shell(script);
            let started = Instant::now();
            let how = process.death_within(started);
            assert!(how.contains("exit status: 3"), "{how}");
            let (done, waited) = channel();
            thread::spawn(move || {
                drop(process);
                let _ = done.send(());
            });
            assert!(waited.recv_timeout(Duration::from_secs(15)).is_ok(), "{script}");
        }
    }

    impl Process {
        fn death_within(&self, started: Instant) -> String {
            loop {
                if let Some(how) = self.death() {
                    return how;
                }
                assert!(started.elapsed() < Duration::from_secs(15), "it does not end");
                thread::sleep(LOOK);
            }
        }
    }
}
