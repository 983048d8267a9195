//! The page of a connection: what broke with the packets around it, PSNs over time, the figures of both ends.

use askama::Template;

use super::super::Chrome;
use super::super::ladder::{self, Ladder};
use super::super::sequence::{self, Sequence};
use super::Found;
use crate::cause::{self, Cause, State, named};
use crate::examination::{CaptureFile, Connection, Examination, Paired};
use crate::statistics::{self, Row};
use crate::text::duration;

/// Most findings in full.
const FINDINGS: usize = 100;

#[derive(Template)]
#[template(path = "connection.html")]
struct Page<'e> {
    chrome: Chrome<'e>,
    file: &'e CaptureFile,
    connection: &'e Connection,
    state: State,
    ends: [String; 2],
    paired: &'static str,
    time: String,
    findings: Vec<Section<'e>>,
    more_findings: usize,
    /// What follows the cause, in sentences.
    followers: Vec<String>,
    pictures: Vec<Picture>,
    rows: Vec<Row>,
}

/// A finding with the packets around it.
struct Section<'e> {
    found: Found<'e>,
    /// Name of the place on the page.
    id: String,
    is_cause: bool,
    ladder: Option<Ladder>,
}

/// PSNs of one end's requests over time.
struct Picture {
    requester: String,
    responder: String,
    picture: Sequence,
}

/// Writes the page of a connection of a file.
pub(super) fn page(examination: &Examination, file: &CaptureFile, connection: &Connection) -> askama::Result<String> {
    let ends = connection.ends.each_ref().map(named);
    let cause = Cause::of(&connection.findings);
    let in_order = cause.iter().flat_map(|cause| [cause.finding].into_iter().chain(cause.others.iter().copied()));
    let addresses = connection.ends.each_ref().map(|end| end.address.as_str());
    let section = |(n, finding)| Section {
        found: Found::new(examination, Some(connection), finding),
        id: format!("finding-{}", n + 1),
        is_cause: n == 0,
        ladder: Ladder::around(finding, addresses),
    };
    let findings: Vec<Section<'_>> = in_order.take(FINDINGS).enumerate().map(section).collect();
    let picture = |requester: usize| {
        let picture = Sequence::of(connection, requester)?;
        Some(Picture { requester: ends[requester].clone(), responder: ends[1 - requester].clone(), picture })
    };
    let page = Page {
        chrome: Chrome::of_captures(&examination.tool),
        file,
        connection,
        state: State::of(&connection.findings),
        paired: match connection.paired {
            Paired::ConnectionManager => "by the connection manager's messages",
            Paired::Traffic => "by answers that fit requests",
            Paired::OneDirection => "not at all: only one direction is in the file",
        },
        time: duration(statistics::time(connection)),
        more_findings: connection.findings.first.len().saturating_sub(findings.len()),
        findings,
        followers: cause.iter().flat_map(|cause| &cause.followers).map(cause::Follower::told).collect(),
        pictures: (0..2).filter_map(picture).collect(),
        rows: statistics::rows(connection),
        ends,
    };
    page.render()
}
