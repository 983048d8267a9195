//! How to go on: the commands that show what was found, cut it out and repeat it.

use super::super::Style;
use super::super::paint::{Paint, paint};
use super::push_heading;
use crate::cause::{Cause, end, first};
use crate::examination::{CaptureFile, Connection};
use crate::text::{columns, one_line};

/// Frames before and behind the one that broke first.
const AROUND: u64 = 10;

pub(super) fn push(out: &mut String, file: &CaptureFile, style: &Style) {
    let Some((connection, cause)) = first(file) else { return };
    // What came from standard input cannot be read a second time.
    if file.name == "-" {
        return;
    }
    push_heading(out, style, "look closer");
    let lines = lines(file, connection, &cause);
    let width = lines.iter().map(|(command, _)| columns(command)).max().unwrap_or(0);
    for (command, why) in &lines {
        // A command that is to be copied stays on one line.
        let fits = style.width == 0 || 4 + width + 2 + columns(why) <= style.width;
        let why = paint(style, Paint::Faint, &format!("# {why}"));
        match fits {
            true => out.push_str(&format!("    {command:<width$}  {why}\n")),
            false => out.push_str(&format!("    {why}\n    {command}\n")),
        }
    }
}

/// Commands, and what they are for.
fn lines(file: &CaptureFile, connection: Option<&Connection>, cause: &Cause<'_>) -> Vec<(String, &'static str)> {
    let name = quoted(&file.name);
    let frame = cause.finding.frame;
    let frames = format!("{}..{}", frame.saturating_sub(AROUND).max(1), frame.saturating_add(AROUND));
    let mut lines = vec![(format!("rocespec decode {name} --frames {frames} -x"), "the packets with their bytes")];
    if cause.finding.rule == "lint.icrc" {
        lines.push((format!("rocespec icrc {name} --frame {frame}"), "which bytes the ICRC covers"));
    }
    let Some(connection) = connection else { return lines };
    let number = connection.number;
    lines.push((
        format!("rocespec cut {name} part.pcapng --connection {number} --around {frame} --anonymise --no-payload"),
        "a part that can be shown to others",
    ));
    if matches!(&*connection.transport, "RC" | "UC") {
        let device = one_line(&end(connection, cause.finding.from).address);
        let command = format!("rocespec scenario {name} --connection {number} --device {device} -o part.toml");
        lines.push((command, "the exchange as a regression test"));
    }
    lines
}

/// A file name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    let name = one_line(name);
    // Not to be taken for an option.
    let name = if name.starts_with('-') { format!("./{name}") } else { name };
    if name.chars().all(is_plain) { name } else { format!("'{}'", name.replace('\'', "'\\''")) }
}
