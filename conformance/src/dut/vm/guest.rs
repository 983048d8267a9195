//! `guest.toml`, written by `cargo xtask rxe`: what to boot and which addresses the two ends have.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use rocespec_codec::MacAddr;
use serde::Deserialize;

use crate::dut::{Addresses, DutError};

const MANIFEST: &str = "guest.toml";

/// A guest on disk.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Guest {
    /// Kernel release.
    pub(super) release: String,
    kernel: PathBuf,
    initramfs: PathBuf,
    pub(super) qemu: PathBuf,
    pub(super) qemu_data: Option<PathBuf>,
    pub(super) memory_mib: u32,
    /// What the kernel is told, apart from addresses.
    cmdline: String,
    mtu: u32,
    guest: End,
    tester: End,
    /// Where the manifest lies.
    #[serde(skip)]
    folder: PathBuf,
}

/// Addresses of one end, the network ones with the bits of their network.
#[derive(Debug, Clone, Deserialize)]
struct End {
    mac: String,
    ip4: String,
    ip6: String,
}

impl Guest {
    pub(super) fn kernel(&self) -> PathBuf {
        self.folder.join(&self.kernel)
    }

    pub(super) fn initramfs(&self) -> PathBuf {
        self.folder.join(&self.initramfs)
    }

    pub(super) fn mac(&self) -> &str {
        &self.guest.mac
    }

    pub(super) fn command_line(&self) -> String {
        let End { ip4, ip6, .. } = &self.guest;
        let (peer4, peer6) = (address(&self.tester.ip4), address(&self.tester.ip6));
        let network = format!("rocespec.ip4={ip4} rocespec.ip6={ip6} rocespec.mtu={}", self.mtu);
        format!("{} {network} rocespec.peer4={peer4} rocespec.peer6={peer6}", self.cmdline)
    }

    /// For messages.
    pub(super) fn name(&self) -> String {
        format!("{} (Linux {})", self.folder.display(), self.release)
    }

    /// The same guest at the other end of the wire.
    pub(super) fn turned(self) -> Guest {
        Guest { guest: self.tester, tester: self.guest, ..self }
    }

    pub(super) fn tester(&self) -> Result<Addresses, DutError> {
        let End { mac, ip4, ip6 } = &self.tester;
        let wrong =
            |what: &str| DutError::Unreachable(format!("{}: {what} of an end is no address", self.path().display()));
        Ok(Addresses {
            mac: mac.parse::<MacAddr>().map_err(|_| wrong("mac"))?,
            v4: address(ip4).parse::<Ipv4Addr>().map_err(|_| wrong("ip4"))?,
            v6: address(ip6).parse::<Ipv6Addr>().map_err(|_| wrong("ip6"))?,
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(MANIFEST)
    }
}

/// Without the bits of the network.
fn address(text: &str) -> &str {
    text.split('/').next().unwrap_or_default()
}

/// Finds a guest by its version, in `target/rxe` here or in a folder above, or by its folder.
pub(super) fn find(name: &str) -> Result<Guest, DutError> {
    let folder = Path::new(name);
    if name.contains('/') || folder.join(MANIFEST).exists() {
        return load(folder);
    }
    let here = std::env::current_dir().unwrap_or_default();
    let places = here.ancestors().map(|above| above.join("target/rxe").join(name));
    match places.into_iter().find(|place| place.join(MANIFEST).exists()) {
        Some(place) => load(&place),
        None => Err(DutError::Unreachable(format!(
            "there is no guest {name:?} in target/rxe: run `cargo xtask rxe {name}` in rocespec's source first, \
             or give the guest's folder"
        ))),
    }
}

fn load(folder: &Path) -> Result<Guest, DutError> {
    let path = folder.join(MANIFEST);
    let wrong = |why: String| DutError::Unreachable(format!("{}: {why}; `cargo xtask rxe` writes it", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let mut guest: Guest = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    folder.clone_into(&mut guest.folder);
    for file in [guest.kernel(), guest.initramfs()] {
        if !file.exists() {
            return Err(wrong(format!("{} is missing", file.display())));
        }
    }
    if !guest.qemu.exists() {
        let qemu = guest.qemu.display();
        return Err(wrong(format!("QEMU is not at {qemu} any more (Debian: apt-get install qemu-system-x86)")));
    }
    Ok(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> String {
        find(name).unwrap_err().to_string()
    }

    #[test]
    fn a_guest_that_was_not_made_names_the_command_that_makes_it() {
        assert!(error("0.0-none").contains("run `cargo xtask rxe 0.0-none`"));
        assert!(error("/nowhere/at/all").contains("/nowhere/at/all/guest.toml"));
    }

    #[test]
    fn a_guest_is_read_from_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().to_str().unwrap();
        let manifest = "release = '6.1'\nkernel = 'vmlinux'\ninitramfs = 'initramfs'\nqemu = '/bin/sh'\nmemory_mib = 512\n\
                        cmdline = 'quiet'\nmtu = 4200\n\
                        [guest]\nmac = '52:54:00:aa:00:02'\nip4 = '10.0.0.2/24'\nip6 = 'fd00::2/64'\n\
                        [tester]\nmac = '52:54:00:aa:00:01'\nip4 = '10.0.0.1/24'\nip6 = 'fd00::1/64'\n";
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        assert!(error(name).contains("vmlinux is missing"));
        for file in ["vmlinux", "initramfs"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let guest = find(name).unwrap();
        assert_eq!(guest.tester().unwrap().v4, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(
            guest.command_line(),
            "quiet rocespec.ip4=10.0.0.2/24 rocespec.ip6=fd00::2/64 rocespec.mtu=4200 \
             rocespec.peer4=10.0.0.1 rocespec.peer6=fd00::1"
        );
        let turned = guest.turned();
        assert_eq!(turned.tester().unwrap().v4, Ipv4Addr::new(10, 0, 0, 2));
        assert!(turned.command_line().contains("rocespec.ip4=10.0.0.1/24") && turned.mac().ends_with("01"));
        fs::write(folder.path().join(MANIFEST), manifest.replace("/bin/sh", "/no/qemu")).unwrap();
        assert!(error(name).contains("QEMU is not at /no/qemu"));
        fs::write(folder.path().join(MANIFEST), "release = 6").unwrap();
        assert!(error(name).contains("guest.toml"));
    }
}
