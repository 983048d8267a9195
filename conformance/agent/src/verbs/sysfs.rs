//! What the kernel says about a port in files: GID table, MAC address, counters.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use rocespec_control::{Gid, GidKind};

/// The folder of one port.
pub(super) struct Sysfs {
    root: PathBuf,
    device: PathBuf,
    port: PathBuf,
}

impl Sysfs {
    /// `root` is `/sys`, or a copy of it in tests.
    pub(super) fn new(root: impl Into<PathBuf>, device: &str, port: u8) -> Sysfs {
        let root = root.into();
        let device = root.join("class/infiniband").join(device);
        Sysfs { port: device.join("ports").join(port.to_string()), device, root }
    }

    /// The GID table without its empty entries, in order.
    pub(super) fn gids(&self) -> Vec<Gid> {
        let mut gids: Vec<Gid> = fs::read_dir(self.port.join("gids"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| self.gid(entry.file_name().to_str()?))
            .collect();
        gids.sort_by_key(|gid| gid.index);
        gids
    }

    fn gid(&self, index: &str) -> Option<Gid> {
        let gid: Ipv6Addr = read(&self.port.join("gids").join(index))?.parse().ok()?;
        if gid.is_unspecified() {
            return None;
        }
        // Reading the type of an empty entry is an error, so this comes second.
        let kind = match read(&self.port.join("gid_attrs/types").join(index))?.as_str() {
            "RoCE v2" => GidKind::RoceV2,
            "IB/RoCE v1" => GidKind::RoceV1,
            _ => return None,
        };
        Some(Gid { index: index.parse().ok()?, gid, kind })
    }

    /// Names of the network interface below the port: by its first GID; and, as software devices have it also before they
    /// have a GID, as the device's parent.
    fn interfaces(&self) -> impl Iterator<Item = String> {
        [self.port.join("gid_attrs/ndevs/0"), self.device.join("parent")].into_iter().filter_map(|path| read(&path))
    }

    /// The network interface below the port, where there is one.
    pub(super) fn interface(&self) -> Option<String> {
        self.interfaces().find(|name| self.root.join("class/net").join(name).exists())
    }

    /// MAC address of the network interface below the port; empty where there is none.
    pub(super) fn mac(&self) -> String {
        let address = |name: String| read(&self.root.join("class/net").join(name).join("address"));
        self.interfaces().find_map(address).unwrap_or_default()
    }

    /// All that are numbers, by the kernel's own names. Where two folders know a name, the device-specific one counts.
    pub(super) fn counters(&self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        for folder in [self.port.join("counters"), self.device.join("hw_counters"), self.port.join("hw_counters")] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                // A setting (how long the kernel caches), not a counter.
                if entry.file_name() == "lifespan" {
                    continue;
                }
                if let Some(value) = read(&entry.path()).and_then(|text| text.parse().ok()) {
                    counters.insert(entry.file_name().to_string_lossy().into_owned(), value);
                }
            }
        }
        counters
    }
}

/// For example `6.1.0-47-amd64`.
pub(super) fn kernel_release() -> String {
    read(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_else(|| "unknown".to_owned())
}

fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    #[test]
    fn a_port_is_read_from_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let port = "class/infiniband/rxe0/ports/1";
        put(root, &format!("{port}/gids/0"), "fe80:0000:0000:0000:5054:00ff:feaa:0002");
        put(root, &format!("{port}/gids/1"), "0000:0000:0000:0000:0000:ffff:0a00:0002");
        put(root, &format!("{port}/gids/2"), "0000:0000:0000:0000:0000:0000:0000:0000");
        put(root, &format!("{port}/gids/10"), "fd00::2");
        put(root, &format!("{port}/gid_attrs/types/0"), "IB/RoCE v1");
        put(root, &format!("{port}/gid_attrs/types/1"), "RoCE v2");
        put(root, &format!("{port}/gid_attrs/types/10"), "RoCE v2");
        put(root, &format!("{port}/gid_attrs/ndevs/0"), "eth0");
        put(root, "class/net/eth0/address", "52:54:00:aa:00:02");
        put(root, &format!("{port}/counters/port_rcv_data"), "7");
        put(root, &format!("{port}/hw_counters/duplicate_request"), "3");
        put(root, &format!("{port}/hw_counters/lifespan"), "10");
        put(root, &format!("{port}/hw_counters/odd"), "N/A (no PMA)");

        let sysfs = Sysfs::new(root, "rxe0", 1);
        let gids: Vec<_> = sysfs.gids().into_iter().map(|gid| (gid.index, gid.kind)).collect();
        assert_eq!(gids, [(0, GidKind::RoceV1), (1, GidKind::RoceV2), (10, GidKind::RoceV2)]);
        assert_eq!(sysfs.mac(), "52:54:00:aa:00:02");
        assert_eq!(sysfs.interface().as_deref(), Some("eth0"));
        let counters: Vec<_> = sysfs.counters().into_iter().collect();
        assert_eq!(counters, [("duplicate_request".to_owned(), 3), ("port_rcv_data".to_owned(), 7)]);
    }

    #[test]
    fn a_port_that_is_not_there_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let sysfs = Sysfs::new(folder.path(), "rxe0", 1);
        assert!(sysfs.gids().is_empty() && sysfs.counters().is_empty() && sysfs.mac().is_empty());
        assert_eq!(sysfs.interface(), None);
    }
}
