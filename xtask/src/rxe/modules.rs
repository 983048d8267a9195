//! The modules that the guest loads, in the order in which it loads them.
//!
//! A module names what it needs in its own `.modinfo` (`depends=a,b`). That is what depmod's `modules.dep` is made from;
//! a kernel package that was unpacked but not installed has no such file.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tool;

/// The host's side of the guest, then the device. Each comes after what it needs.
const WANTED: [(&str, Need); 7] = [
    ("virtio_pci", Need::Always),
    ("virtio_console", Need::Always),
    ("virtio_net", Need::Always),
    // The invariant CRC, where the kernel still has it as a crypto algorithm.
    ("crc32_generic", Need::WherePresent),
    ("crc32_pclmul", Need::WherePresent),
    ("ib_uverbs", Need::Always),
    (DEVICE, Need::Always),
];

const DEVICE: &str = "rdma_rxe";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Always,
    WherePresent,
}

/// A module, unpacked.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// A modules tree, by name.
pub(super) struct Modules {
    tree: PathBuf,
    files: BTreeMap<String, PathBuf>,
    /// None where the tree does not say: some packages leave the list to another one.
    built_in: Option<HashSet<String>>,
}

impl Modules {
    pub(super) fn read(tree: &Path) -> Result<Modules> {
        let mut files = BTreeMap::new();
        walk(&tree.join("kernel"), &mut files).with_context(|| format!("{} is no modules tree", tree.display()))?;
        let built_in = fs::read_to_string(tree.join("modules.builtin")).ok();
        let built_in = built_in.map(|list| list.lines().filter_map(|line| module_name(Path::new(line))).collect());
        Ok(Modules { tree: tree.to_owned(), files, built_in })
    }

    /// All wanted modules, with some more, and what they need, each after its needs.
    pub(super) fn closure(&self, more: &[&str]) -> Result<Vec<Module>> {
        let mut loaded = Vec::new();
        let mut seen = HashSet::new();
        for (name, need) in WANTED.into_iter().chain(more.iter().map(|name| (*name, Need::Always))) {
            if need == Need::Always || self.files.contains_key(name) {
                self.load(name, &mut seen, &mut loaded)?;
            }
        }
        Ok(loaded)
    }

    fn load(&self, name: &str, seen: &mut HashSet<String>, loaded: &mut Vec<Module>) -> Result<()> {
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(file) = self.files.get(name) else {
            // Without a list: what is no module is taken for built in, all but the device itself. A guest that then misses
            // something says so on its console.
            if self.built_in.as_ref().map_or(name != DEVICE, |list| list.contains(name)) {
                return Ok(());
            }
            bail!("this kernel has no {name}, neither as a module in {} nor built in", self.tree.display());
        };
        let bytes = read_module(file).with_context(|| format!("cannot read {}", file.display()))?;
        for needed in depends(&bytes) {
            self.load(&needed, seen, loaded)?;
        }
        loaded.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }
}

/// The kernel release that a modules tree belongs to: the name of its folder.
pub(super) fn release(tree: &Path) -> Result<String> {
    let tree = fs::canonicalize(tree)?;
    Ok(tree.file_name().context("the modules tree has no name")?.to_string_lossy().into_owned())
}

fn walk(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else if let Some(name) = module_name(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// `crc32-pclmul.ko.xz` is the module crc32_pclmul.
fn module_name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let (name, rest) = name.split_once(".ko")?;
    matches!(rest, "" | ".xz" | ".zst" | ".gz").then(|| name.replace('-', "_"))
}

fn read_module(file: &Path) -> Result<Vec<u8>> {
    let program = match file.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return Ok(fs::read(file)?),
    };
    tool::output(Command::new(program).arg("-dc").arg(file))
}

/// What `.modinfo` says in `depends=`. Its strings end with zero bytes.
fn depends(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let value = module[at + KEY.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = value.split(|&byte| byte == b',').filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(modules: &[(&str, &str)], built_in: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let drivers = folder.path().join("kernel/drivers");
        fs::create_dir_all(&drivers).unwrap();
        for (file, depends) in modules {
            fs::write(drivers.join(file), format!("\x7fELF\0license=GPL\0depends={depends}\0name=x\0")).unwrap();
        }
        fs::write(folder.path().join("modules.builtin"), built_in).unwrap();
        folder
    }

    fn names(folder: &tempfile::TempDir) -> Result<Vec<String>> {
        Ok(Modules::read(folder.path())?.closure(&[])?.into_iter().map(|module| module.name).collect())
    }

    #[test]
    fn each_module_comes_after_what_it_needs() {
        let folder = tree(
            &[
                ("virtio_net.ko", "net_failover"),
                ("net_failover.ko", "failover"),
                ("failover.ko", ""),
                ("crc32-pclmul.ko", ""),
                ("ib_core.ko", ""),
                ("ib_uverbs.ko", "ib_core"),
                ("udp_tunnel.ko", ""),
                ("ip6_udp_tunnel.ko", ""),
                ("rdma_rxe.ko", "ib_core,ib_uverbs,ip6_udp_tunnel,udp_tunnel"),
            ],
            "kernel/drivers/virtio/virtio_pci.ko\nkernel/drivers/char/virtio_console.ko\n",
        );
        assert_eq!(
            names(&folder).unwrap().join(" "),
            "failover net_failover virtio_net crc32_pclmul ib_core ib_uverbs ip6_udp_tunnel udp_tunnel rdma_rxe"
        );
    }

    #[test]
    fn a_kernel_without_the_device_is_named_so() {
        let folder = tree(&[("ib_uverbs.ko", "")], "virtio_pci.ko\nvirtio_console.ko\nvirtio_net.ko\n");
        let error = names(&folder).unwrap_err().to_string();
        assert!(error.contains("no rdma_rxe"), "{error}");
    }

    #[test]
    fn without_a_list_only_the_device_must_be_a_module() {
        let folder = tree(&[("ib_uverbs.ko", "")], "");
        fs::remove_file(folder.path().join("modules.builtin")).unwrap();
        assert!(names(&folder).unwrap_err().to_string().contains("no rdma_rxe"));
        fs::write(folder.path().join("kernel/drivers/rdma_rxe.ko"), "\0depends=ib_uverbs\0").unwrap();
        assert_eq!(names(&folder).unwrap(), ["ib_uverbs", "rdma_rxe"]);
    }

    #[test]
    fn modules_that_need_each_other_do_not_hang() {
        let folder = tree(
            &[("ib_uverbs.ko", "rdma_rxe"), ("rdma_rxe.ko", "ib_uverbs")],
            "virtio_pci.ko\nvirtio_console.ko\nvirtio_net.ko\n",
        );
        assert_eq!(names(&folder).unwrap().len(), 2);
    }
}
