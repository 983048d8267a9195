//! The HTML report: a page for the run and one for each case.
//!
//! Every page stands on its own, with style and script inside, so it works from a folder, without a network, and when it
//! is mailed. Pages are well-formed XML too. All that is shown goes through one escaper.

mod case;
mod defects;
pub(crate) mod escape;
mod hex;
mod index;
mod ladder;
mod links;
mod mark;
mod matrix;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::defects::Defects;
use crate::outcome::Run;

/// Name of the first page.
pub const INDEX: &str = "index.html";
/// Name of the page of the defects.
pub const DEFECTS: &str = "defects.html";

/// Some bytes of a frame that hold one field, or several that share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where they lie in the frame.
    pub bytes: Range<usize>,
    /// Name of the layer: `BTH`.
    pub layer: String,
    /// Names and values of the fields.
    pub fields: Vec<(String, String)>,
}

/// What is known of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dissection {
    /// Its parts in their order, without gaps. What is left out at the end is shown as not decoded.
    pub parts: Vec<Part>,
    /// What is wrong with it, in words.
    pub wrong: Vec<String>,
}

/// Tells what is known of a frame.
pub type Dissect<'d> = &'d dyn Fn(&[u8]) -> Dissection;

/// Writes the pages of a run into `dir`, which is created where it is missing. Case pages of an earlier report go; other
/// files stay. The links to frames lead to where [`Case::pcapng`](crate::outcome::Case::pcapng) says.
pub fn write(run: &Run, dissect: Dissect<'_>, dir: &Path) -> io::Result<()> {
    let cases = dir.join(links::CASES);
    fs::create_dir_all(&cases)?;
    for entry in fs::read_dir(&cases)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            fs::remove_file(path)?;
        }
    }
    let pages = links::pages(run);
    let has_defects = dir.join(DEFECTS).exists();
    fs::write(dir.join(INDEX), index::page(run, &pages, has_defects).map_err(io::Error::other)?)?;
    for (index, page) in pages.iter().enumerate() {
        fs::write(cases.join(page), case::page(run, index, &pages, dissect).map_err(io::Error::other)?)?;
    }
    Ok(())
}

/// Writes the page that shows several runs side by side into `dir`. Each comes with the folder inside `dir` that holds its
/// own pages.
pub fn write_matrix(runs: &[(String, Run)], dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(INDEX), matrix::page(runs).map_err(io::Error::other)?)
}

/// A folder for the pages of each run: its device's name, made fit for a file system. No two are the same.
pub fn folders(runs: &[Run]) -> Vec<String> {
    links::unique(runs.iter().map(|run| links::file_name(&run.device.dut)), "")
}

/// Does this path of a case's frames stay below the report folder?
pub fn is_inside(path: &str) -> bool {
    links::address(path).is_some()
}

/// Writes the page of the defects into `dir`.
pub fn write_defects(defects: &Defects, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(DEFECTS), defects::page(defects).map_err(io::Error::other)?)
}

/// What every page has around it.
struct Chrome<'r> {
    tool: &'r str,
    style: &'static str,
    script: &'static str,
}

impl<'r> Chrome<'r> {
    fn new(tool: &'r str) -> Self {
        let (style, script) = (include_str!("../../templates/style.css"), include_str!("../../templates/script.js"));
        Chrome { tool, style, script }
    }
}
