//! Puts the catalogue of scenarios into the program, so that it works without the repository beside it.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../fixtures/scenarios");
    println!("cargo:rerun-if-changed=build.rs");
    let mut found = Vec::new();
    collect(&folder, "", &mut found)?;
    found.sort();
    let mut code =
        String::from("/// Id and text of every scenario, sorted by id.\nstatic CATALOGUE: &[(&str, &str)] = &[\n");
    for (id, path) in found {
        let _ = writeln!(code, "    ({id:?}, include_str!({path:?})),");
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("catalogue.rs"), code)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), found)?;
        } else if let Some(stem) = name.strip_suffix(".toml") {
            found.push((format!("{prefix}{stem}"), fs::canonicalize(&path)?.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}
