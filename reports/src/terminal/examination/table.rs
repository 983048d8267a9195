//! The table of connections.

use super::super::Style;
use super::super::paint::{Paint, paint};
use super::push_heading;
use crate::cause::{self, State};
use crate::examination::{CaptureFile, Connection, End, Sent};
use crate::statistics::{goodput, sum};
use crate::text::{columns, cut_middle, one_line, short};

/// Connections listed unless everything is asked for.
const LISTED: usize = 20;
/// Names of the columns behind the ends.
const COLUMNS: [&str; 11] = ["type", "pkts", "msgs", "bit/s", "again", "NAK", "RNR", "t/o", "CE", "CNP", "findings"];
/// What the names stand for.
const LEGEND: &str =
    "bit/s = new payload, again = packets sent again, t/o = timeouts, CE = packets marked CE; . is none";
/// The ends take no less than this.
const NARROWEST: usize = 12;

pub(super) fn push(out: &mut String, file: &CaptureFile, style: &Style) {
    if file.connections.is_empty() {
        return;
    }
    let worst = cause::worst_first(&file.connections);
    let shown = if style.verbose { worst.len() } else { worst.len().min(LISTED) };
    let number = worst.iter().map(|connection| connection.number.to_string().len()).max().unwrap_or(1);
    let qps: Vec<String> = worst[..shown].iter().map(|connection| qps(connection)).collect();
    let qp = qps.iter().map(|text| columns(text)).max().unwrap_or(0).max(3);
    let rows: Vec<[String; COLUMNS.len()]> = worst[..shown].iter().map(|connection| cells(connection)).collect();
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| columns(&row[at]));
        cells.chain([columns(COLUMNS[at])]).max().unwrap_or(0)
    });
    let used = number + qp + 1 + widths.iter().map(|width| width + 1).sum::<usize>();
    let longest = worst[..shown].iter().map(|connection| columns(&ends(connection, 0))).max().unwrap_or(0).max(4);
    let room = match style.width {
        0 => longest,
        width => longest.min(width.saturating_sub(used + 2).max(NARROWEST)),
    };
    let mut heading = format!("{:>number$}  {:<room$} {:<qp$}", "#", "ends", "qps");
    for (name, width) in COLUMNS.iter().zip(widths) {
        heading.push_str(&format!(" {name:>width$}"));
    }
    push_heading(out, style, &heading);
    for ((connection, numbers), row) in worst[..shown].iter().zip(&qps).zip(&rows) {
        let ends = ends(connection, room);
        out.push_str(&format!("{:>number$}  {ends:<room$} {numbers:<qp$}", connection.number));
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let how = match cell.as_str() {
                "." => Paint::Faint,
                _ if at + 1 == COLUMNS.len() => Paint::of_state(State::of(&connection.findings)),
                _ => Paint::Plain,
            };
            out.push_str(&format!(" {}", paint(style, how, &format!("{cell:>width$}"))));
        }
        out.push('\n');
    }
    if shown < worst.len() {
        let rest = &worst[shown..];
        let bad = rest.iter().filter(|connection| State::of(&connection.findings) != State::Clean).count();
        let what = match bad {
            0 => " without findings".to_owned(),
            n => format!(", {n} of them with findings"),
        };
        out.push_str(&format!("and {} more{what}\n", rest.len()));
    }
    out.push_str(&format!("{}\n", paint(style, Paint::Faint, LEGEND)));
}

/// `0x11 0x1a`: the queue pairs of both ends.
fn qps(connection: &Connection) -> String {
    let [left, right] = connection.ends.each_ref().map(|end| end.qpn.map_or("?".to_owned(), |qpn| format!("{qpn:#x}")));
    format!("{left} {right}")
}

/// What stands behind the ends.
fn cells(connection: &Connection) -> [String; COLUMNS.len()] {
    let [left, right] = &connection.sent;
    let number = |n| if n == 0 { ".".to_owned() } else { short(n) };
    let both = |of: fn(&Sent) -> u64| number(of(left).saturating_add(of(right)));
    let rate = connection.sent.iter().filter_map(goodput).reduce(u64::saturating_add);
    [
        one_line(&connection.transport),
        both(|sent| sent.packets),
        both(|sent| sum(&sent.messages)),
        rate.map_or_else(|| ".".to_owned(), short),
        both(|sent| sent.retransmissions),
        both(|sent| sum(&sent.naks)),
        both(|sent| sent.rnr_naks),
        both(|sent| sent.timeouts),
        both(|sent| sent.ce_marks),
        both(|sent| sent.cnps),
        number(cause::count(&connection.findings)),
    ]
}

/// Both ends in at most so many columns; any number where that is 0.
fn ends(connection: &Connection, room: usize) -> String {
    let [left, right] = connection.ends.each_ref().map(|end| one_line(name(end)));
    if room == 0 || columns(&left) + columns(&right) < room {
        return format!("{left} {right}");
    }
    // Where one is short the other gets what is left.
    let half = room.saturating_sub(1) / 2;
    let left_room = half.max(room.saturating_sub(1 + columns(&right)));
    let left = cut_middle(&left, left_room.max(1));
    let right = cut_middle(&right, room.saturating_sub(1 + columns(&left)).max(1));
    format!("{left} {right}")
}

fn name(end: &End) -> &str {
    if end.address.is_empty() { "?" } else { &end.address }
}
