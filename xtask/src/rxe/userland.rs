//! Programs and libraries of the guest: the host's own, so that the agent built here runs there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::needs::Found;
use super::{say, tool};

/// Path in the guest, without leading slash, to contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Builds the program of a package and gives its path.
pub(crate) fn build(workspace: &Path, package: &str) -> Result<PathBuf> {
    say(&format!("building {package}"));
    let output = crate::cargo()
        .args(["build", "--release", "--package", package, "--bins", "--message-format", "json-render-diagnostics"])
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "{package} does not build");
    // The last artifact is the program itself, wherever the target folder is.
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    executables.next_back().context("cargo named no program")
}

/// Everything that the guest runs, with the libraries that it loads. `own` are programs that were built here, `more` others
/// of this host.
pub(super) fn gather(found: &Found, own: &[PathBuf], more: &[PathBuf]) -> Result<Files> {
    let mut files = Files::new();
    files.insert("usr/bin/busybox".to_owned(), read(&found.busybox)?);
    files.insert("usr/bin/rdma".to_owned(), read(&found.rdma)?);
    for program in own {
        // Line tables weigh several times the program.
        let stripped = program.with_extension("stripped");
        tool::output(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
        let name = program.file_name().context("a program has no name")?.to_string_lossy();
        files.insert(format!("usr/bin/{name}"), read(&stripped)?);
    }
    for program in more {
        let name = program.file_name().context("a program has no name")?.to_string_lossy();
        files.insert(format!("usr/sbin/{name}"), read(program)?);
    }
    files.insert(in_guest(&found.provider), read(&found.provider)?);
    files.insert(in_guest(&found.libibverbs), read(&found.libibverbs)?);
    files.insert("etc/libibverbs.d/rxe.driver".to_owned(), read(&found.driver)?);
    let linked = [&found.rdma, &found.libibverbs, &found.provider];
    for program in linked.into_iter().chain(own).chain(more) {
        for library in libraries(program)? {
            files.insert(in_guest(&library), read(&library)?);
        }
    }
    Ok(files)
}

/// The guest has one tree under /usr, with /bin, /lib and so on as links into it.
fn in_guest(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path.trim_start_matches('/');
    if path.starts_with("usr/") { path.to_owned() } else { format!("usr/{path}") }
}

/// The shared libraries of a program, and the loader, by path.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let text = tool::text(Command::new("ldd").arg(program))?;
    ensure!(!text.contains("not found"), "{} lacks libraries on this host:\n{text}", program.display());
    // `libc.so.6 => /lib/libc.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`; the kernel's own has no path.
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_lands_below_usr() {
        assert_eq!(in_guest(Path::new("/lib64/ld.so.2")), "usr/lib64/ld.so.2");
        assert_eq!(in_guest(Path::new("/usr/lib/libc.so.6")), "usr/lib/libc.so.6");
    }
}
