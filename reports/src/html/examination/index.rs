//! The first page of an examination: each file's verdict, what broke, what the capture did, what is configured wrong, and all
//! connections.

use askama::Template;

use super::super::Chrome;
use super::{Found, Pages, pauses};
use crate::cause::{self, Cause, Judgement, State, named};
use crate::examination::{CaptureFile, Connection, Examination, Fault, Findings, Sent, Weight};
use crate::statistics::{goodput, spaced, sum};
use crate::text::{duration, utc};

/// Connections of a file whose cause is shown in full, and rows of its table of connections.
const IN_FULL: usize = 50;
const ROWS: usize = 2_000;
/// Findings that are listed behind a cause.
const LISTED: usize = 20;

#[derive(Template)]
#[template(path = "captures.html")]
struct Page<'e> {
    chrome: Chrome<'e>,
    examination: &'e Examination,
    others: &'e [(&'e str, &'e str)],
    files: Vec<File<'e>>,
}

/// A capture.
struct File<'e> {
    file: &'e CaptureFile,
    /// 1 = first.
    number: usize,
    judgement: Judgement,
    time: String,
    start: Option<String>,
    groups: Vec<Group<'e>>,
    more_groups: usize,
    faults: Vec<&'e Fault>,
    pauses: Vec<pauses::Row<'e>>,
    rows: Vec<Row<'e>>,
    more_rows: usize,
    /// Connections without a page.
    without_page: usize,
}

/// What broke in a connection, or outside of all.
struct Group<'e> {
    connection: Option<&'e Connection>,
    ends: Option<[String; 2]>,
    href: Option<String>,
    cause: Found<'e>,
    others: Vec<Found<'e>>,
    more_others: usize,
    /// Packets that broke rules besides the cause.
    count: u64,
    followers: Vec<String>,
}

/// A connection in the table.
struct Row<'e> {
    connection: &'e Connection,
    href: Option<String>,
    ends: [String; 2],
    state: State,
    cells: Vec<Cell>,
}

/// A number, and how it is written.
struct Cell {
    value: u64,
    text: String,
}

/// Names of the cells.
const CELLS: [&str; 10] = [
    "Findings",
    "Packets",
    "Messages",
    "Goodput, bit/s",
    "Sent again",
    "NAKs",
    "RNR NAKs",
    "Timeouts",
    "CE marks",
    "CNPs",
];

/// Writes the page.
pub(super) fn page(examination: &Examination, pages: &Pages, others: &[(&str, &str)]) -> askama::Result<String> {
    let files = examination.files.iter().enumerate().map(|(place, file)| self::file(examination, pages, place, file));
    let page = Page { chrome: Chrome::of_captures(&examination.tool), examination, others, files: files.collect() };
    page.render()
}

fn file<'e>(examination: &'e Examination, pages: &Pages, place: usize, file: &'e CaptureFile) -> File<'e> {
    let worst = cause::worst_first(&file.connections);
    let address = |connection: &Connection| pages.address(place, connection);
    let broken: Vec<&Connection> =
        worst.iter().copied().filter(|connection| State::of(&connection.findings) != State::Clean).collect();
    let loose = group(examination, None, &file.loose, None);
    let connected = broken
        .iter()
        .take(IN_FULL)
        .filter_map(|connection| group(examination, Some(connection), &connection.findings, address(connection)));
    let groups: Vec<Group<'_>> = loose.into_iter().chain(connected).collect();
    let rows: Vec<Row<'_>> = worst.iter().take(ROWS).map(|connection| row(connection, address(connection))).collect();
    File {
        file,
        number: place + 1,
        judgement: Judgement::of(file),
        time: duration(file.duration_ns),
        start: (file.start_ns > 0).then(|| utc(file.start_ns)),
        groups,
        more_groups: broken.len().saturating_sub(IN_FULL),
        faults: cause::faults(file),
        pauses: pauses::rows(file),
        more_rows: worst.len().saturating_sub(rows.len()),
        rows,
        without_page: file.connections.iter().filter(|connection| address(connection).is_none()).count(),
    }
}

fn group<'e>(
    examination: &'e Examination,
    connection: Option<&'e Connection>,
    findings: &'e Findings,
    href: Option<String>,
) -> Option<Group<'e>> {
    let cause = Cause::of(findings)?;
    let found = |finding| Found::new(examination, connection, finding);
    Some(Group {
        connection,
        ends: connection.map(|connection| connection.ends.each_ref().map(named)),
        href,
        others: cause.others.iter().take(LISTED).map(|finding| found(finding)).collect(),
        more_others: cause.others.len().saturating_sub(LISTED),
        count: cause.followers_count(),
        followers: cause.followers.iter().map(cause::Follower::told).collect(),
        cause: found(cause.finding),
    })
}

fn row(connection: &Connection, href: Option<String>) -> Row<'_> {
    let [left, right] = &connection.sent;
    let both = |of: fn(&Sent) -> u64| of(left).saturating_add(of(right));
    let number = |value: u64| Cell { value, text: value.to_string() };
    let rate = connection.sent.iter().filter_map(goodput).fold(0, u64::saturating_add);
    let cells = vec![
        number(cause::count(&connection.findings)),
        number(both(|sent| sent.packets)),
        number(both(|sent| sum(&sent.messages))),
        Cell { value: rate, text: if rate == 0 { "0".to_owned() } else { spaced(rate) } },
        number(both(|sent| sent.retransmissions)),
        number(both(|sent| sum(&sent.naks))),
        number(both(|sent| sent.rnr_naks)),
        number(both(|sent| sent.timeouts)),
        number(both(|sent| sent.ce_marks)),
        number(both(|sent| sent.cnps)),
    ];
    Row { connection, href, ends: connection.ends.each_ref().map(named), state: State::of(&connection.findings), cells }
}
