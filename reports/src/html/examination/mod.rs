//! The pages of an examination of captures: one for all of it, and one for each connection that deserves it.

mod connection;
mod index;
mod pauses;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::{Chrome, INDEX};
use crate::cause::{self, Cause, State};
use crate::claim::{claim, clear};
use crate::examination::{Connection, Examination, Finding};
use crate::outcome::Rule;
use crate::text::milliseconds;

/// Folder of the connections' pages, inside the report folder.
pub(crate) const CONNECTIONS: &str = "connections";
/// Most pages of connections.
const PAGES: usize = 200;
/// Most pages of connections without findings: the biggest.
const CLEAN_PAGES: usize = 20;

/// Writes the pages of an examination into `dir`, which is [claimed](claim). Pages of an earlier one go; other files stay.
/// The first page leads to `others` as well: files of the folder with the words for them.
///
/// # Errors
/// When the folder is not one for reports, or a file cannot be written.
pub fn write_examination(examination: &Examination, others: &[(&str, &str)], dir: &Path) -> io::Result<()> {
    claim(dir)?;
    clear(&dir.join(CONNECTIONS), "html")?;
    let pages = Pages::of(examination);
    fs::write(dir.join(INDEX), index::page(examination, &pages, others).map_err(io::Error::other)?)?;
    for (place, file) in examination.files.iter().enumerate() {
        for connection in &file.connections {
            let Some(address) = pages.address(place, connection) else { continue };
            let page = connection::page(examination, file, connection).map_err(io::Error::other)?;
            fs::write(dir.join(address), page)?;
        }
    }
    Ok(())
}

/// The connections that have a page, by the place of their file and their number.
struct Pages(BTreeSet<(usize, u32)>);

impl Pages {
    /// Those with findings, what broke first first, then the biggest.
    fn of(examination: &Examination) -> Pages {
        let files = examination.files.iter().enumerate();
        let all =
            files.flat_map(|(file, capture)| capture.connections.iter().map(move |connection| (file, connection)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_cached_key(|(file, connection)| {
            let frame = Cause::of(&connection.findings).map_or(u64::MAX, |cause| cause.finding.frame);
            let packets = connection.sent[0].packets.saturating_add(connection.sent[1].packets);
            (State::of(&connection.findings), frame, Reverse(packets), *file, connection.number)
        });
        let mut clean = 0;
        all.retain(|(_, connection)| {
            clean += usize::from(State::of(&connection.findings) == State::Clean);
            clean <= CLEAN_PAGES
        });
        Pages(all.into_iter().take(PAGES).map(|(file, connection)| (file, connection.number)).collect())
    }

    /// The address of a connection's page from the report folder, if it has one.
    fn address(&self, file: usize, connection: &Connection) -> Option<String> {
        let number = connection.number;
        self.0.contains(&(file, number)).then(|| format!("{CONNECTIONS}/{}-{number}.html", file + 1))
    }
}

/// A finding as it is shown.
struct Found<'e> {
    finding: &'e Finding,
    rule: Option<&'e Rule>,
    why: &'e str,
    time: String,
    /// Who sent the packet; `None` where there is no connection.
    sender: Option<&'e str>,
}

impl<'e> Found<'e> {
    fn new(examination: &'e Examination, connection: Option<&'e Connection>, finding: &'e Finding) -> Found<'e> {
        let rule = examination.rules.iter().find(|rule| rule.id == finding.rule);
        Found {
            finding,
            rule,
            why: cause::why(&finding.why, rule),
            time: milliseconds(finding.time_ns),
            sender: connection.map(|connection| cause::end(connection, finding.from).address.as_str()),
        }
    }

    /// What was seen, where that is more than the packet.
    fn seen(&self) -> Option<&str> {
        (self.finding.seen != self.finding.packet).then_some(&self.finding.seen)
    }
}

impl State {
    /// Name of its class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            State::Broken => "fail",
            State::Remarked => "loose",
            State::Clean => "pass",
        }
    }

    /// In a word.
    fn word(self) -> &'static str {
        match self {
            State::Broken => "broken",
            State::Remarked => "remarks",
            State::Clean => "clean",
        }
    }
}

impl<'r> Chrome<'r> {
    /// Of a page about captures.
    fn of_captures(tool: &'r str) -> Self {
        let styles = &[
            include_str!("../../../templates/style.css"),
            include_str!("../../../templates/area.css"),
            include_str!("../../../templates/captures.css"),
        ];
        let scripts = &[include_str!("../../../templates/area.js"), include_str!("../../../templates/sort.js")];
        Chrome { tool, styles, scripts }
    }
}
