//! The guest's only file system.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use cpio::NewcBuilder;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::modules::Module;
use super::userland::Files;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;

const FOLDERS: [&str; 6] = ["dev", "proc", "sys", "tmp", "usr", "usr/sbin"];
const LINKS: [(&str, &str); 4] = [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")];

/// Writes the archive and gives its size. `init` is the guest's first program. The same input gives the same bytes.
pub(super) fn write(path: &Path, init: &str, files: &Files, modules: &[Module]) -> Result<u64> {
    let partial = path.with_extension("partial");
    let mut archive =
        Archive { out: GzEncoder::new(BufWriter::new(File::create(&partial)?), Compression::default()), entries: 0 };
    let mut folders = BTreeSet::from(FOLDERS.map(str::to_owned));
    for file in files.keys().map(Path::new).chain([Path::new("modules/order")]) {
        folders.extend(file.ancestors().skip(1).map(|folder| folder.to_string_lossy().into_owned()));
    }
    folders.remove("");
    for folder in &folders {
        archive.add(folder, DIRECTORY, &[])?;
    }
    for (name, target) in LINKS {
        archive.add(name, LINK, target.as_bytes())?;
    }
    // The kernel opens it for the first program before that can make it.
    let console = NewcBuilder::new("dev/console").mode(CHARACTER_DEVICE).rdev_major(5).rdev_minor(1);
    archive.put(console, &[])?;
    archive.add("init", PROGRAM, init.as_bytes())?;
    for (name, contents) in files {
        archive.add(name, PROGRAM, contents)?;
    }
    let mut order = String::new();
    for module in modules {
        archive.add(&format!("modules/{}.ko", module.name), PROGRAM, &module.bytes)?;
        order += &format!("{}.ko\n", module.name);
    }
    archive.add("modules/order", PROGRAM, order.as_bytes())?;
    cpio::newc::trailer(&mut archive.out)?;
    archive.out.finish()?.into_inner()?.sync_data()?;
    fs::rename(&partial, path)?;
    Ok(fs::metadata(path)?.len())
}

struct Archive<W: Write> {
    out: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    fn add(&mut self, name: &str, mode: u32, contents: &[u8]) -> Result<()> {
        self.put(NewcBuilder::new(name).mode(mode), contents)
    }

    fn put(&mut self, entry: NewcBuilder, contents: &[u8]) -> Result<()> {
        self.entries += 1;
        let mut writer = entry.ino(self.entries).nlink(1).write(&mut self.out, u32::try_from(contents.len())?);
        writer.write_all(contents)?;
        writer.finish()?;
        Ok(())
    }
}
