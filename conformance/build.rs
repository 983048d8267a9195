//! Puts the catalogue of scenarios and the golden traces into the program, so that it works without the repository beside it.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    embed("scenarios", ".toml", "catalogue.rs", "/// Id and text of every scenario, sorted by id.\nstatic CATALOGUE")?;
    embed("goldens", ".trace", "goldens.rs", "/// `profile/scenario` and text of every golden trace.\nstatic GOLDENS")
}

/// Writes a table of the files with this ending below a folder of the fixtures.
fn embed(folder: &str, ending: &str, to: &str, declaration: &str) -> io::Result<()> {
    let fixtures = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../fixtures");
    let mut found = Vec::new();
    collect(&fixtures.join(folder), "", ending, &mut found)?;
    found.sort();
    let mut code = format!("{declaration}: &[(&str, &str)] = &[\n");
    for (id, path) in found {
        let _ = writeln!(code, "    ({id:?}, include_str!({path:?})),");
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join(to), code)
}

fn collect(folder: &Path, prefix: &str, ending: &str, found: &mut Vec<(String, String)>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), ending, found)?;
        } else if let Some(stem) = name.strip_suffix(ending) {
            found.push((format!("{prefix}{stem}"), fs::canonicalize(&path)?.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}
