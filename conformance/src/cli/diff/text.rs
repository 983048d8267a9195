//! A comparison for people.

use std::io::{self, Write};

use super::super::output::counted;
use super::{File, Report};
use crate::diff::{Connection, Counts, Decided, Differing, End, FieldDifference, Form, Place, Throughout};

pub(super) fn print(report: &Report<'_>, strict: bool, out: &mut impl Write) -> io::Result<()> {
    for (sign, file) in [("- A", &report.files[0]), ("+ B", &report.files[1])] {
        writeln!(out, "{sign}  {}: {}", file.name, size(file))?;
    }
    let is_trace = report.files[0].form == Form::Trace;
    for connection in report.comparison.connections.iter().filter(|connection| !connection.counts.is_same()) {
        writeln!(out)?;
        self::connection(connection, is_trace, out)?;
    }
    writeln!(out)?;
    let counts = &report.comparison.counts;
    let verdict = match report.verdict {
        "free" if strict => "different only where senders are free, which counts with --strict",
        "free" => "the same, but for what senders are free to choose",
        verdict => verdict,
    };
    let unit = if is_trace { "variant" } else { "connection" };
    let compared = counted(counts.paired, unit);
    write!(out, "{verdict}: {compared} compared")?;
    if counts.alone > 0 {
        write!(out, ", {} without a counterpart", counts.alone)?;
    }
    writeln!(out, "; {}", sum(counts))?;
    Ok(())
}

fn size(file: &File) -> String {
    match file.form {
        Form::Trace => format!("{} in {}", counted(file.frames, "line"), counted(file.connections as u64, "variant")),
        Form::Capture => {
            let unreadable = match file.unreadable {
                0 => String::new(),
                more => format!(", {more} more cannot be read"),
            };
            let (frames, packets) = (counted(file.frames, "frame"), counted(file.packets, "RoCE packet"));
            format!("{frames}, {packets}{unreadable}, {}", counted(file.connections as u64, "connection"))
        }
    }
}

/// How many packets are what.
fn sum(counts: &Counts) -> String {
    let Counts { same, differing, free, missing, extra, moved, .. } = counts;
    let all = [
        (*differing, "different"),
        (*missing, "in A only"),
        (*extra, "in B only"),
        (*moved, "moved"),
        (*free, "different where free"),
    ];
    let mut text = format!("packets: {same} the same");
    for (count, what) in all.iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {what}");
    }
    text
}

fn connection(connection: &Connection, is_trace: bool, out: &mut impl Write) -> io::Result<()> {
    let unit = if is_trace { "variant" } else { "connection" };
    match &connection.ends {
        [Some(one), Some(other)] if is_trace => writeln!(out, "{unit} {}", name(one, other))?,
        [Some(one), Some(other)] => {
            writeln!(out, "{unit} {}: {}", one.number, ends(one))?;
            writeln!(out, "  in B {unit} {}: {}", other.number, ends(other))?;
        }
        [one, other] => {
            let (side, end) = if one.is_some() { ("A", one) } else { ("B", other) };
            let Some(end) = end else { return Ok(()) };
            let packets = counted(end.packets, if is_trace { "line" } else { "packet" });
            return writeln!(out, "{unit} {} of {side}: {}: no counterpart, {packets}", end.number, ends(end));
        }
    }
    writeln!(out, "  {}", sum(&connection.counts))?;
    for (who, shift) in ["a", "b"].iter().zip(connection.begins_later).filter(|(_, shift)| *shift != 0) {
        let (later, by) = (if shift > 0 { "later" } else { "earlier" }, shift.unsigned_abs());
        writeln!(out, "  B begins {by} PSNs {later} among the requests of {who}; PSNs are counted alike")?;
    }
    for habit in &connection.throughout {
        throughout(habit, out)?;
    }
    for differing in &connection.differences {
        self::differing(differing, is_trace, out)?;
    }
    if connection.unlisted > 0 {
        writeln!(out, "  and {} more; --limit lists more of them", connection.unlisted)?;
    }
    Ok(())
}

fn name(one: &End, other: &End) -> String {
    let name = |end: &End| end.ends.join(" ");
    if one.ends == other.ends { name(one) } else { format!("{} and {}", name(one), name(other)) }
}

fn ends(end: &End) -> String {
    match &end.ends[..] {
        [a, b] => format!("{} a = {a}, b = {b}", end.transport),
        names => names.join(" "),
    }
}

fn throughout(habit: &Throughout, out: &mut impl Write) -> io::Result<()> {
    let kind = habit.packet.as_deref().map_or(String::new(), |packet| format!(" {packet}"));
    let [one, other] = habit.frames;
    let (count, field) = (habit.count, field(&habit.field));
    writeln!(out, "  from {}: {count}{kind} packets from A {one} | B {other} on\n      {field}", habit.from.word())
}

fn differing(differing: &Differing, is_trace: bool, out: &mut impl Write) -> io::Result<()> {
    let unit = if is_trace { "line" } else { "frame" };
    let place = |side: &str, place: &Option<Place>| match place {
        Some(place) => format!("{side} {unit} {} at {}s", place.frame, seconds(place.time_ns)),
        None => format!("{side} has none"),
    };
    let [one, other] = &differing.places;
    writeln!(out, "  from {}: {} | {}", differing.from.word(), place("A", one), place("B", other))?;
    let is_moved = differing.whole.as_ref().is_some_and(|whole| whole.what == "moved");
    match [one, other] {
        [Some(one), Some(other)] if one.packet == other.packet => writeln!(out, "    = {}", one.packet)?,
        places => {
            for (sign, place) in ["-", "+"].iter().zip(places) {
                if let Some(place) = place {
                    writeln!(out, "    {sign} {}", place.packet)?;
                }
            }
        }
    }
    if let Some(whole) = &differing.whole {
        let what = match whole.what {
            "missing" => "only in A",
            "extra" => "only in B",
            _ if is_moved => "at another place among the packets of its sender",
            _ => "another packet",
        };
        writeln!(out, "      {what}{}", decided(&whole.decided))?;
    }
    for difference in &differing.fields {
        writeln!(out, "      {}", field(difference))?;
    }
    Ok(())
}

fn field(difference: &FieldDifference) -> String {
    let FieldDifference { name, values: [one, other], decided: who } = difference;
    format!("{name}: {one} in A, {other} in B{}", decided(who))
}

/// Who decides, as the report on golden traces says it.
fn decided(decided: &Decided) -> String {
    match &decided.rule {
        Some(rule) => format!(", governed by {rule}"),
        None if decided.free => format!(", free: {}", decided.why),
        None => ", not free".to_owned(),
    }
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}
