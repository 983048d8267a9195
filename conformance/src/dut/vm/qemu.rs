//! How QEMU is called.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use super::guest::Guest;
use crate::dut::process::{Manner, Process};

const MANNER: Manner = Manner {
    name: "QEMU",
    voice: "the console",
    // What a dying kernel, its init or QEMU itself says.
    words_of_death: &[
        "Kernel panic",
        "BUG: ",
        "kernel BUG at",
        "Oops: ",
        "general protection fault",
        "unable to handle",
        "KASAN: ",
        "rocespec-guest: FAILED",
        "rocespec-guest: the agent ended",
    ],
    output_is_voice: false,
};

/// Starts QEMU with these ends of the two streams.
pub(super) fn start(guest: &Guest, wire: UnixStream, control: UnixStream) -> std::io::Result<Process> {
    let mut command = Command::new(&guest.qemu);
    command.args(arguments(guest)).stdin(Stdio::from(OwnedFd::from(wire))).stdout(Stdio::from(OwnedFd::from(control)));
    Process::start(command, MANNER)
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
