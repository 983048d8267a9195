//! `guest.toml`: what `rocespec --dut rxe:VERSION` reads to start the guest. Paths are relative to its folder or absolute.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::needs::Found;

#[derive(Serialize)]
struct Manifest<'a> {
    /// Kernel release.
    release: &'a str,
    kernel: &'a str,
    initramfs: &'a str,
    qemu: &'a Path,
    /// QEMU's `-L`, where it does not find its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    qemu_data: Option<PathBuf>,
    memory_mib: u32,
    /// What the guest's kernel is told, apart from addresses.
    cmdline: &'a str,
    /// MTU of the guest's network interface.
    mtu: u32,
    guest: End<'a>,
    tester: End<'a>,
}

/// One end of the wire. Addresses with the bits of their network.
#[derive(Serialize)]
struct End<'a> {
    mac: &'a str,
    ip4: &'a str,
    ip6: &'a str,
}

pub(super) fn write(path: &Path, release: &str, found: &Found) -> Result<()> {
    let manifest = Manifest {
        release,
        kernel: "vmlinux",
        initramfs: "initramfs.cpio.gz",
        qemu: &found.qemu,
        qemu_data: data_folder(&found.qemu),
        memory_mib: 512,
        // No watchdog: a busy host may keep the guest from running for longer than it waits.
        cmdline: "console=ttyS0 quiet oops=panic panic=-1 mitigations=off random.trust_cpu=on nowatchdog",
        // Room for a path MTU of 4096 with all headers.
        mtu: 4200,
        guest: End { mac: "52:54:00:aa:00:02", ip4: "10.0.0.2/24", ip6: "fd00::2/64" },
        tester: End { mac: "52:54:00:aa:00:01", ip4: "10.0.0.1/24", ip6: "fd00::1/64" },
    };
    let note = "# Written by `cargo xtask rxe`. Addresses, MTU and the command line may be changed.\n";
    Ok(fs::write(path, note.to_owned() + &toml::to_string(&manifest)?)?)
}

/// A QEMU that was unpacked somewhere looks for its firmware where it was meant to be installed.
fn data_folder(qemu: &Path) -> Option<PathBuf> {
    if qemu.starts_with("/usr/bin") || qemu.starts_with("/usr/local/bin") || qemu.starts_with("/bin") {
        return None;
    }
    Some(qemu.parent()?.parent()?.join("share/qemu")).filter(|folder| folder.is_dir())
}
