//! The QEMU process: started, watched, and ended whatever happens to us.
//!
//! It runs in a process group of its own, so that a Ctrl-C in the terminal reaches us alone. If we end, also by SIGKILL,
//! the kernel kills it: it was asked to by `PR_SET_PDEATHSIG`. That signal follows the *thread* that started the process,
//! so a thread of its own starts it and stays until it has ended.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::console::Console;
use super::guest::Guest;

/// How often the keeper looks whether QEMU has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long a dying guest may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Console lines in a message.
const SHOWN: usize = 15;

/// A running QEMU. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Qemu {
    console: Arc<Console>,
    ended: Arc<OnceLock<ExitStatus>>,
    /// Closed to ask the keeper to kill.
    leave: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
    reader: Option<JoinHandle<()>>,
}

impl Qemu {
    /// Starts QEMU with these ends of the two streams.
    pub(super) fn start(guest: &Guest, wire: UnixStream, control: UnixStream) -> std::io::Result<Qemu> {
        let mut command = Command::new(&guest.qemu);
        command
            .args(arguments(guest))
            .stdin(Stdio::from(OwnedFd::from(wire)))
            .stdout(Stdio::from(OwnedFd::from(control)))
            .stderr(Stdio::piped())
            .process_group(0);
        die_with_us(&mut command);

        let console = Arc::new(Console::default());
        let ended = Arc::new(OnceLock::new());
        let (leave, left) = channel();
        let (tell, told) = channel();
        let keeper = {
            let ended = Arc::clone(&ended);
            thread::Builder::new().name("qemu-keeper".to_owned()).spawn(move || {
                let spawned = command.spawn();
                // The streams' ends in `command` would keep the wire open when QEMU is gone.
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
            thread::Builder::new().name("qemu-console".to_owned()).spawn(watch)?
        };
        Ok(Qemu { console, ended, leave: Some(leave), keeper: Some(keeper), reader: Some(reader) })
    }

    /// Cheap: for loops.
    pub(super) fn is_dead(&self) -> bool {
        self.ended.get().is_some() || self.console.crashed()
    }

    /// How it died, if it did: the crash's lines from the console, else the exit code with the last lines.
    pub(super) fn death(&self) -> Option<String> {
        if !self.is_dead() {
            return None;
        }
        self.wait_for_last_words();
        if let Some(crash) = self.console.crash() {
            return Some(format!("the console says:\n{crash}"));
        }
        let status = self.ended.get()?;
        Some(format!("QEMU ended ({status}); {}", self.last_words()))
    }

    /// The last lines of the console, for a message.
    pub(super) fn last_words(&self) -> String {
        match self.console.last_lines(SHOWN) {
            lines if lines.is_empty() => "the console said nothing".to_owned(),
            lines => format!("the console's last lines:\n{lines}"),
        }
    }

    /// A kernel that dies says so over a slow serial line, after the wire has fallen silent. That QEMU ended, and how, is
    /// known a little later than that its console did.
    pub(super) fn wait_for_last_words(&self) {
        let started = Instant::now();
        while !(self.console.ended() && self.is_dead()) && started.elapsed() < LAST_WORDS {
            thread::sleep(LOOK);
        }
    }

    /// Kills it and waits until it is gone. Does nothing the second time.
    pub(super) fn kill(&mut self) {
        drop(self.leave.take());
        for thread in [self.keeper.take(), self.reader.take()].into_iter().flatten() {
            // A panic of theirs has been printed; there is nothing to add.
            let _ = thread.join();
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Stays with the process until it ends by itself or is to be killed.
fn keep(child: &mut Child, left: &Receiver<()>, ended: &OnceLock<ExitStatus>) {
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                let _ = ended.set(status);
                return;
            }
            Err(_) => break,
        }
        match left.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = child.kill();
    if let Ok(status) = child.wait() {
        let _ = ended.set(status);
    }
}

/// Asks the kernel to kill the process when the thread that starts it ends.
fn die_with_us(command: &mut Command) {
    let us = std::process::id().cast_signed();
    let ask = move || {
        // SAFETY: both are plain system calls without pointers, allowed between fork and exec.
        let (asked, parent) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        if asked != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // We may have died before the kernel was asked: then nobody would ever kill it.
        if parent == us { Ok(()) } else { Err(std::io::ErrorKind::NotConnected.into()) }
    };
    // SAFETY: the closure makes two system calls and allocates nothing, as the time between fork and exec demands.
    unsafe { command.pre_exec(ask) };
}

/// Without KVM: it is there on few build machines, and a guest that behaves alike everywhere is worth more than speed.
fn arguments(guest: &Guest) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &str| arguments.extend(words.split(' ').map(OsString::from));
    add("-accel tcg -M q35 -cpu max -smp 1 -nodefaults -no-user-config -display none -no-reboot -name rocespec");
    add(&format!("-m {}", guest.memory_mib));
    add("-serial file:/dev/stderr");
    // Standard input and output are sockets: the wire and the control stream.
    add("-netdev stream,id=wire,server=off,addr.type=fd,addr.str=0");
    add(&format!("-device virtio-net-pci,netdev=wire,mac={},romfile=", guest.mac()));
    add(
        "-device virtio-serial-pci -chardev socket,id=control,fd=1 -device virtserialport,chardev=control,name=control",
    );
    if let Some(data) = &guest.qemu_data {
        arguments.extend(["-L".into(), data.into()]);
    }
    arguments.extend(["-kernel".into(), guest.kernel().into(), "-initrd".into(), guest.initramfs().into()]);
    arguments.extend(["-append".into(), guest.command_line().into()]);
    arguments
}
