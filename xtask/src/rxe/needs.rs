//! What the host must have, looked for all at once, so that one command installs all that is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{Args, tool};

/// Where the host keeps what goes into the guest or runs it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) qemu: PathBuf,
    pub(super) busybox: PathBuf,
    pub(super) rdma: PathBuf,
    pub(super) libibverbs: PathBuf,
    /// The library that drives rxe from user space.
    pub(super) provider: PathBuf,
    /// The file that tells libibverbs about the provider.
    pub(super) driver: PathBuf,
}

/// Debian's keys, to check what the mirror sends.
pub(super) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

#[derive(Default)]
struct Missing(Vec<(String, &'static str)>);

impl Missing {
    /// `what` is missing unless `found`; Debian has it in `package`.
    fn need<T>(&mut self, what: &str, package: &'static str, found: Option<T>) -> Option<T> {
        if found.is_none() {
            self.0.push((what.to_owned(), package));
        }
        found
    }

    fn program(&mut self, name: &str, package: &'static str) -> Option<PathBuf> {
        self.need(name, package, tool::which(name))
    }
}

pub(super) fn find_all(args: &Args) -> Result<Found> {
    if std::env::consts::ARCH != "x86_64" {
        bail!("the guest is made of this host's own libraries, and so far only x86_64 is known");
    }
    if let Some(path) = [&args.kernel, &args.modules, &args.qemu].into_iter().flatten().find(|path| !path.exists()) {
        bail!("{} does not exist", path.display());
    }
    let mut missing = Missing::default();
    let own_qemu = args.qemu.clone().and_then(|path| fs::canonicalize(path).ok());
    let qemu = own_qemu.or_else(|| missing.program("qemu-system-x86_64", "qemu-system-x86"));
    let busybox =
        missing.need("busybox (static)", "busybox-static", tool::which("busybox").filter(|path| is_static(path)));
    let rdma = missing.program("rdma", "iproute2");
    let libibverbs = missing.need("libibverbs.so.1", "libibverbs1", library("libibverbs.so.1"));
    let provider =
        missing.need("librxe (verbs provider)", "ibverbs-providers", libibverbs.as_deref().and_then(provider));
    let driver = Some(PathBuf::from("/etc/libibverbs.d/rxe.driver")).filter(|path| path.exists());
    let driver = missing.need("rxe.driver", "ibverbs-providers", driver);
    // To build the agent.
    missing.program("cmake", "cmake");
    missing.program("cc", "gcc");
    missing.program("make", "make");
    missing.need("libclang", "libclang-dev", libclang());
    // To take packages, images and programs apart.
    missing.program("ldd", "libc-bin");
    missing.program("strip", "binutils");
    missing.program("xz", "xz-utils");
    missing.program("zstd", "zstd");
    if args.kernel.is_none() {
        for (program, package) in [("apt-get", "apt"), ("dpkg-deb", "dpkg")] {
            missing.program(program, package);
        }
        missing.need("Debian's keys", "debian-archive-keyring", Some(KEYRING).filter(|path| Path::new(path).exists()));
    }
    match (qemu, busybox, rdma, libibverbs, provider, driver) {
        (Some(qemu), Some(busybox), Some(rdma), Some(libibverbs), Some(provider), Some(driver))
            if missing.0.is_empty() =>
        {
            check_version(&qemu)?;
            Ok(Found { qemu, busybox, rdma, libibverbs, provider, driver })
        }
        _ => bail!(complaint(missing, args)),
    }
}

fn complaint(missing: Missing, args: &Args) -> String {
    let mut text = "this host lacks:\n".to_owned();
    for (what, package) in &missing.0 {
        text += &format!("  {what:26} (Debian package {package})\n");
    }
    let mut packages: Vec<&str> = missing.0.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    text += &format!("install it with:\n  apt-get install --no-install-recommends {}", packages.join(" "));
    if tool::which("apt-get").is_none() && args.kernel.is_none() {
        text += "\nwithout apt, name a kernel of your own: --kernel IMAGE --modules TREE (and --qemu BIN)";
    }
    text
}

/// The guest's frames go through `-netdev stream`, which QEMU has since 7.2.
fn check_version(qemu: &Path) -> Result<()> {
    let text = tool::text(Command::new(qemu).arg("--version"))?;
    let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1).unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (7, 2) {
        bail!("{} is version {version:?}; 7.2 or newer is needed", qemu.display());
    }
    Ok(())
}

fn is_static(program: &Path) -> bool {
    // ldd fails on what has no dynamic section.
    Command::new("ldd").arg(program).output().is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        said.contains("not a dynamic executable") || said.contains("statically linked")
    })
}

/// The path of a shared library that the dynamic loader would take.
fn library(name: &str) -> Option<PathBuf> {
    let cache = tool::text(Command::new(tool::which("ldconfig")?).arg("-p")).ok()?;
    cache
        .lines()
        .filter(|line| line.split_whitespace().next() == Some(name) && line.contains("x86-64"))
        .filter_map(|line| line.rsplit("=> ").next())
        .map(PathBuf::from)
        .find(|path| path.exists())
}

/// The library looks for its providers in a folder of its name, in the folder where it lies itself.
fn provider(libibverbs: &Path) -> Option<PathBuf> {
    let folder = libibverbs.parent()?.join("libibverbs");
    let found = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    found.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("librxe-") && name.ends_with(".so")
    })
}

fn libclang() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LIBCLANG_PATH") {
        return Some(path.into());
    }
    let llvm = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let llvm = llvm
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm"))
        .map(|entry| entry.path().join("lib"));
    let folders =
        llvm.chain(["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    folders.flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name == "libclang.so"
            || name.starts_with("libclang.so.")
            || name.starts_with("libclang-") && name.contains(".so")
    })
}
