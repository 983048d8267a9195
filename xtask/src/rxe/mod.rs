//! `cargo xtask rxe`: a QEMU guest whose kernel runs Linux's software RoCE device, for `rocespec --dut rxe:VERSION`.
//!
//! Nothing is installed and nothing needs root. The kernel comes from Debian through an apt with a configuration, lists and
//! cache of its own; everything lands in `target/rxe/`.

mod apt;
mod initramfs;
mod kernel;
mod manifest;
mod modules;
mod needs;
pub(crate) mod tool;
mod userland;
pub(crate) mod veth;

pub(crate) use userland::build as build_program;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Build a QEMU guest with Linux's rxe device, for `rocespec --dut rxe:VERSION`
///
/// Fetches a Debian kernel without installing it, builds the agent and writes target/rxe/VERSION/ with vmlinux,
/// initramfs.cpio.gz and guest.toml. Needs no root. What is up to date is not done again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo xtask rxe                     the kernel of Debian 12
  cargo xtask rxe newest              the newest kernel that Debian has
  cargo xtask rxe 6.1.0-47            exactly this build of it
  cargo xtask rxe own --kernel /boot/vmlinuz-6.9.0 --modules /lib/modules/6.9.0

Exit code 2: something is missing or went wrong; the message says what to do.")]
pub(crate) struct Args {
    /// 6.1, 6.12, newest, or the middle of an exact package name as in linux-image-VERSION-amd64
    #[arg(default_value = "6.1")]
    version: String,

    /// Use this kernel image (bzImage or ELF) and fetch none; VERSION only names the folder then
    #[arg(long, value_name = "IMAGE", requires = "modules")]
    kernel: Option<PathBuf>,

    /// Modules of that kernel, as in /lib/modules/RELEASE
    #[arg(long, value_name = "TREE", requires = "kernel")]
    modules: Option<PathBuf>,

    /// QEMU to run the guest with [default: qemu-system-x86_64 on the PATH]
    #[arg(long, value_name = "BIN")]
    qemu: Option<PathBuf>,

    /// Ask the mirror for new package lists even if the last ones are younger than a day
    #[arg(long)]
    update: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let found = needs::find_all(args)?;
    let parts = Parts { init: include_str!("init.sh"), own: &["rocespec-agent"], more: &[], modules: &[] };
    let guest = build(args, &found, &workspace().join("target/rxe").join(&args.version), &parts)?;
    manifest::write(&guest.folder.join("guest.toml"), &guest.release, &found)?;
    let (release, folder) = (&guest.release, shown(&guest.folder));
    println!("Linux {release} is ready in {folder}; use it with: rocespec run --dut rxe:{}", args.version);
    Ok(())
}

/// What is in a guest beside Linux with rxe.
struct Parts<'a> {
    /// Its first program.
    init: &'a str,
    /// Packages of this workspace whose programs it runs.
    own: &'a [&'a str],
    /// Programs of this host.
    more: &'a [PathBuf],
    /// Modules of its kernel.
    modules: &'a [&'a str],
}

/// A guest that can be booted: `vmlinux` and `initramfs.cpio.gz` in its folder.
struct Guest {
    folder: PathBuf,
    release: String,
}

/// Builds a guest in its folder, and does what is up to date not again.
fn build(args: &Args, found: &needs::Found, folder: &Path, parts: &Parts<'_>) -> Result<Guest> {
    if args.version.is_empty() || args.version.contains(['/', '\\']) || args.version.starts_with(['.', '-']) {
        bail!("{:?} cannot name a folder under target/rxe", args.version);
    }
    let base = workspace().join("target/rxe");
    let (image, tree) = match (&args.kernel, &args.modules) {
        (Some(kernel), Some(modules)) => (kernel.clone(), modules.clone()),
        _ => apt::fetch_kernel(&base, &args.version, args.update)?,
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let vmlinux = folder.join("vmlinux");
    kernel::extract(&image, &vmlinux)?;
    let modules = modules::Modules::read(&tree)?.closure(parts.modules)?;
    say(&format!("modules: {}", modules.iter().map(|module| module.name.as_str()).collect::<Vec<_>>().join(" ")));

    let own = parts.own.iter().map(|package| userland::build(&workspace(), package)).collect::<Result<Vec<_>>>()?;
    let files = userland::gather(found, &own, parts.more)?;
    let size = initramfs::write(&folder.join("initramfs.cpio.gz"), parts.init, &files, &modules)?;

    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let kernel_size = fs::metadata(&vmlinux)?.len();
    say(&format!("vmlinux {}, initramfs.cpio.gz {}", mib(kernel_size), mib(size)));
    Ok(Guest { folder: folder.to_owned(), release: modules::release(&tree)? })
}

/// A line of progress.
fn say(message: &str) {
    eprintln!("rxe: {message}");
}

pub(crate) fn workspace() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// A path for people: relative to the workspace where it lies inside.
fn shown(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap_or(path).display().to_string()
}
