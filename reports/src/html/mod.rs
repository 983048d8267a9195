//! The HTML report: a page for the run and one for each area, with all of its scenarios and their variants.
//!
//! Every page stands on its own, with style and script inside, so it works from a folder, without a network, and when it
//! is mailed. Pages are well-formed XML too. All that is shown goes through one escaper.

mod area;
mod axis;
mod defects;
pub(crate) mod escape;
mod examination;
mod frames;
mod golden;
mod index;
mod ladder;
mod links;
mod mark;
mod matrix;
mod sequence;
mod sweep;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::claim::{claim, clear};
use crate::defects::Defects;
use crate::outcome::Run;
use crate::sweep::Sweep;
pub(crate) use examination::CONNECTIONS;
pub use examination::write_examination;
pub(crate) use links::CASES;

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

/// Writes the pages of a run into `dir`, which is [claimed](claim). Pages of an earlier report go; other files stay. The
/// first page leads to `others` as well: files of the folder with the words for them. The links to frames lead to where
/// [`Case::pcapng`](crate::outcome::Case::pcapng) says.
pub fn write(run: &Run, dissect: Dissect<'_>, others: &[(&str, &str)], dir: &Path) -> io::Result<()> {
    claim(dir)?;
    let cases = dir.join(CASES);
    clear(&cases, "html")?;
    fs::write(dir.join(INDEX), index::page(run, others, has_defects(dir)).map_err(io::Error::other)?)?;
    let (pages, anchors) = (links::areas(run), links::anchors(run));
    for (index, page) in pages.iter().enumerate() {
        fs::write(cases.join(&page.file), area::page(run, &pages, &anchors, index, dissect)?)?;
    }
    Ok(())
}

/// Writes the page that shows several runs side by side into `dir`. Each comes with the folder inside `dir` that holds its
/// own pages. The folder is [claimed](claim).
pub fn write_matrix(runs: &[(String, Run)], dir: &Path) -> io::Result<()> {
    claim(dir)?;
    fs::write(dir.join(INDEX), matrix::page(runs, has_defects(dir)).map_err(io::Error::other)?)
}

/// A folder for the pages of each run: its device's name, made fit for a file system. No two are the same.
pub fn folders(runs: &[Run]) -> Vec<String> {
    links::unique(runs.iter().map(|run| links::file_name(&run.device.dut)), "")
}

/// The folder for a run of this name, made fit for a file system.
pub fn folder_of(name: &str) -> String {
    links::file_name(name)
}

/// Does this path of a case's frames stay below the report folder?
pub fn is_inside(path: &str) -> bool {
    links::address(path).is_some()
}

/// Was the page of the defects written into `dir` before?
fn has_defects(dir: &Path) -> bool {
    dir.join(DEFECTS).exists()
}

/// Writes the page of the defects into `dir`, which is [claimed](claim).
pub fn write_defects(defects: &Defects, dir: &Path) -> io::Result<()> {
    claim(dir)?;
    fs::write(dir.join(DEFECTS), defects::page(defects).map_err(io::Error::other)?)
}

/// Writes the page of a sweep into `dir`, which is [claimed](claim). It leads to `others` as well: files of the folder with
/// the words for them.
pub fn write_sweep(sweep: &Sweep, others: &[(&str, &str)], dir: &Path) -> io::Result<()> {
    claim(dir)?;
    fs::write(dir.join(INDEX), sweep::page(sweep, others).map_err(io::Error::other)?)
}

/// What every page has around it.
struct Chrome<'r> {
    tool: &'r str,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
}

impl<'r> Chrome<'r> {
    /// Of a page with tables.
    fn of_tables(tool: &'r str) -> Self {
        let styles = &[include_str!("../../templates/style.css"), include_str!("../../templates/tables.css")];
        Chrome { tool, styles, scripts: &[include_str!("../../templates/filter.js")] }
    }

    /// Of a page with curves.
    fn of_sweeps(tool: &'r str) -> Self {
        let styles = &[include_str!("../../templates/style.css"), include_str!("../../templates/sweep.css")];
        Chrome { tool, styles, scripts: &[] }
    }

    /// Of a page with ladders and bytes.
    fn of_area(tool: &'r str) -> Self {
        let styles = &[include_str!("../../templates/style.css"), include_str!("../../templates/area.css")];
        let scripts = &[include_str!("../../templates/area.js"), include_str!("../../templates/bytes.js")];
        Chrome { tool, styles, scripts }
    }
}
