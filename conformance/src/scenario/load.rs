//! Finds scenarios: in a file, in a folder, in the program itself.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::diagnostics::Diagnostics;
use super::file::parse;
use super::header::Scenario;

/// Largest scenario file, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Deepest folder below the one named.
const MAX_DEPTH: usize = 16;
/// Most scenarios in one folder and below.
const MAX_FILES: usize = 10_000;
/// Longest id, so that the file of a case's frames can bear it.
const MAX_ID: usize = 160;

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Reads one scenario file. `id` is its path below the folder of scenarios, without the ending.
///
/// # Errors
/// When it cannot be read, is larger than 1 MiB, is not UTF-8, or is not a scenario: everything that is wrong with it.
pub fn load(path: &Path, id: &str) -> Result<Scenario, Diagnostics> {
    let fail = |message: String| Diagnostics::whole(path, message);
    let mut bytes = Vec::new();
    // A pipe would keep us waiting, a device would never end.
    if fs::metadata(path).is_ok_and(|what| !what.is_file()) {
        return Err(fail("not a file; only files can be scenarios".to_owned()));
    }
    fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| fail(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fail(format!("larger than {MAX_FILE} bytes, which no scenario is")));
    }
    let text = str::from_utf8(&bytes)
        .map_err(|error| fail(format!("not UTF-8: the byte at offset {} is no text", error.valid_up_to())))?;
    parse(&path.display().to_string(), id, text)
}

/// Reads every `.toml` file of a folder and below, sorted by id. What begins with a dot is passed over: editors and version
/// control keep their own files there.
///
/// # Errors
/// Everything that is wrong with any of them.
pub fn load_folder(folder: &Path) -> Result<Vec<Scenario>, Diagnostics> {
    let mut files = Vec::new();
    collect(folder, "", 0, &mut files)?;
    if files.is_empty() {
        return Err(Diagnostics::whole(folder, "no scenarios here: none of its files ends in .toml"));
    }
    all(files.into_iter().map(|(id, path)| load(&path, &id)))
}

/// Reads one scenario; its id is the name of the file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_file(path: &Path) -> Result<Scenario, Diagnostics> {
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    match fault_of_id(&id) {
        Some(fault) => Err(Diagnostics::whole(path, format!("{fault}; rename it"))),
        None => load(path, &id),
    }
}

/// The catalogue that is built into this program, sorted by id.
///
/// # Errors
/// When a scenario is wrong; the tests of this crate see that it is not.
pub fn catalogue() -> Result<Vec<Scenario>, Diagnostics> {
    all(CATALOGUE.iter().map(|(id, text)| parse(&format!("{id}.toml"), id, text)))
}

fn all(results: impl Iterator<Item = Result<Scenario, Diagnostics>>) -> Result<Vec<Scenario>, Diagnostics> {
    let (mut scenarios, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(scenario) => scenarios.push(scenario),
            Err(diagnostics) => wrong.push(diagnostics),
        }
    }
    scenarios.sort_by(|a, b| a.id.cmp(&b.id));
    Diagnostics::join(wrong).map_or(Ok(scenarios), Err)
}

/// Finds the scenario files below a folder with their ids.
fn collect(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<(String, PathBuf)>) -> Result<(), Diagnostics> {
    let fail = |message: String| Diagnostics::whole(folder, message);
    if depth > MAX_DEPTH {
        return Err(fail(format!(
            "more than {MAX_DEPTH} folders deep; does a link in it lead back to a folder above?"
        )));
    }
    for entry in fs::read_dir(folder).map_err(|error| fail(format!("cannot be read: {error}")))? {
        let path = entry.map_err(|error| fail(format!("cannot be read: {error}")))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), depth + 1, files)?;
        } else if let Some(stem) = name.strip_suffix(".toml") {
            if files.len() == MAX_FILES {
                return Err(fail(format!("more than {MAX_FILES} scenarios")));
            }
            let id = format!("{prefix}{stem}");
            if let Some(fault) = fault_of_id(&id) {
                return Err(Diagnostics::whole(&path, format!("{fault}; rename it")));
            }
            files.push((id, path));
        }
    }
    Ok(())
}

/// What keeps a path from being an id. Ids stand in commands, in reports and in the names of files, so they are plain.
fn fault_of_id(id: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if id.split('/').any(|part| part.is_empty() || part.starts_with('-') || !part.chars().all(plain)) {
        return Some(
            "names of scenarios and their folders are made of a-z, A-Z, 0-9, `_` and, further on, `-`".to_owned(),
        );
    }
    (id.len() > MAX_ID).then(|| format!("the path of a scenario below its folder has at most {MAX_ID} bytes"))
}
