//! `cargo xtask agent`: `rocespec-agent` as one file to be taken to the device's host.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::rxe::{build_program, tool, workspace};

/// Build rocespec-agent as one file for the device's host, and say what it needs there
///
/// Writes target/agent/rocespec-agent, without line tables. It is linked with glibc alone and loads the libibverbs of the
/// host that it runs on, with the provider that belongs to the host's driver; a static program could not. So build it on a
/// distribution that is as old as the oldest host. Needs cmake and libclang.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 2: something is missing or went wrong; the message says what to do.")]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<()> {
    let built = build_program(&workspace(), "rocespec-agent")?;
    let folder = workspace().join("target/agent");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let agent = folder.join("rocespec-agent");
    tool::output(Command::new("strip").arg("-o").arg(&agent).arg(&built))?;
    let size = fs::metadata(&agent)?.len();
    println!("{} ({} KiB)", agent.display(), size / 1024);
    println!("needs there: {}; libibverbs.so.1 and the provider of its RDMA driver", needs(&agent)?.join(", "));
    Ok(())
}

/// The libraries that a program is linked with, and the oldest glibc that it runs on.
fn needs(program: &Path) -> Result<Vec<String>> {
    let readelf = |what: &str| tool::text(Command::new("readelf").arg("--wide").arg(what).arg(program));
    let mut needs = libraries(&readelf("--dynamic")?);
    needs.extend(
        newest_glibc(&readelf("--version-info")?).map(|(major, minor)| format!("glibc {major}.{minor} or newer")),
    );
    Ok(needs)
}

/// From `0x0000000000000001 (NEEDED) Shared library: [libc.so.6]`.
fn libraries(dynamic: &str) -> Vec<String> {
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    needed.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())).collect()
}

/// From `Name: GLIBC_2.34  Flags: none  Version: 4`: the newest of all.
fn newest_glibc(versions: &str) -> Option<(u32, u32)> {
    let names = versions.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    let numbers = names.filter_map(|name| {
        let mut parts = name.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    });
    numbers.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readelf_says_is_read() {
        let dynamic = " 0x01 (NEEDED)             Shared library: [libgcc_s.so.1]\n \
                        0x01 (NEEDED)             Shared library: [libc.so.6]\n 0x0c (INIT)    0x1000\n";
        assert_eq!(libraries(dynamic), ["libgcc_s.so.1", "libc.so.6"]);
        let versions = "  0x0010:   Name: GLIBC_2.34  Flags: none\n  0x0020:   Name: GLIBC_2.2.5  Flags: none\n \
                         0x0030:   Name: GCC_3.0  Flags: none\n 0x0040:  Name: GLIBC_PRIVATE";
        assert_eq!(newest_glibc(versions), Some((2, 34)));
    }
}
