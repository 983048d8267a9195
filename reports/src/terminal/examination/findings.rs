//! What broke: of each connection the cause in full, what follows from it in a few lines.

use super::super::Style;
use super::super::paint::{Paint, paint};
use super::{push_heading, push_labelled};
use crate::cause::{self, Cause, State, named};
use crate::examination::{CaptureFile, Connection, Finding, Findings};
use crate::outcome::Rule;
use crate::statistics;
use crate::text::{columns, cut, milliseconds, one_line};

/// Connections whose cause is shown in full, and those that have a line, unless everything is asked for.
const IN_FULL: usize = 5;
const LISTED: usize = 20;
/// Lines about what follows, unless everything is asked for.
const FOLLOWERS: usize = 4;

pub(super) fn push(out: &mut String, file: &CaptureFile, rules: &[Rule], style: &Style) {
    if State::of(&file.loose) != State::Clean {
        push_heading(out, style, "frames of no connection");
        group(out, &file.loose, None, rules, style);
    }
    let worst = cause::worst_first(&file.connections);
    let has_findings = |connection: &&&Connection| State::of(&connection.findings) != State::Clean;
    let broken: Vec<&Connection> = worst.iter().filter(has_findings).copied().collect();
    let in_full = if style.verbose { broken.len() } else { broken.len().min(IN_FULL) };
    for connection in &broken[..in_full] {
        push_heading(out, style, &title(connection));
        group(out, &connection.findings, Some(connection), rules, style);
    }
    let rest = &broken[in_full..];
    if !rest.is_empty() {
        push_heading(out, style, "further connections with findings");
    }
    for connection in rest.iter().take(LISTED) {
        let Some(cause) = Cause::of(&connection.findings) else { continue };
        let finding = cause.finding;
        let line = format!(
            "connection {} {} {} in frame {} at {}, then {} more",
            connection.number,
            cause::broke(finding.level),
            one_line(&finding.rule),
            finding.frame,
            milliseconds(finding.time_ns),
            cause.followers_count(),
        );
        out.push_str(&format!("    {}\n", cut(&line, style.width.saturating_sub(4))));
    }
    if let Some(more) = rest.len().checked_sub(LISTED).filter(|more| *more > 0) {
        out.push_str(&format!("    and {more} more\n"));
    }
    if style.verbose {
        for connection in &file.connections {
            figures(out, connection, style);
        }
    }
}

fn title(connection: &Connection) -> String {
    let [left, right] = &connection.ends;
    let transport = &connection.transport;
    one_line(&format!("connection {}, {transport}, {} and {}", connection.number, named(left), named(right)))
}

fn group(out: &mut String, findings: &Findings, connection: Option<&Connection>, rules: &[Rule], style: &Style) {
    let Some(cause) = Cause::of(findings) else {
        for told in cause::only_counted(findings) {
            out.push_str(&format!("    {}\n", one_line(&told)));
        }
        return;
    };
    finding(out, cause.finding, connection, rules, style, Paint::of_state(State::of(findings)));
    if style.verbose {
        for other in &cause.others {
            finding(out, other, connection, rules, style, Paint::Plain);
        }
    }
    let shown = if style.verbose { cause.followers.len() } else { FOLLOWERS };
    for (n, follower) in cause.followers.iter().take(shown).enumerate() {
        let then = if n == 0 { "then" } else { "" };
        out.push_str(&format!("    {then:<6}{}\n", one_line(&follower.told())));
    }
    if let Some(more) = cause.followers.len().checked_sub(shown).filter(|more| *more > 0) {
        out.push_str(&format!("          and {more} more rules\n"));
    }
}

fn finding(
    out: &mut String,
    finding: &Finding,
    connection: Option<&Connection>,
    rules: &[Rule],
    style: &Style,
    how: Paint,
) {
    let from = connection.map(|connection| format!(", sent by {}", cause::end(connection, finding.from).address));
    let place = format!("frame {}, at {}{}", finding.frame, milliseconds(finding.time_ns), from.unwrap_or_default());
    let heading = one_line(&format!("{} ({}): {place}", finding.rule, finding.level));
    out.push_str(&format!("    {}\n", paint(style, how, &heading)));
    let rule = rules.iter().find(|rule| rule.id == finding.rule);
    if let Some(rule) = rule {
        push_labelled(out, style, "rule", &format!("{} [{}]", rule.statement, rule.source));
    }
    push_labelled(out, style, "packet", &finding.packet);
    push_labelled(out, style, "expected", &finding.expected);
    if finding.seen != finding.packet {
        push_labelled(out, style, "seen", &finding.seen);
    }
    push_labelled(out, style, "why", cause::why(&finding.why, rule));
    if finding.harmless {
        push_labelled(out, style, "harmless", cause::HARMLESS);
    }
    if let Some(unless) = &finding.unless {
        push_labelled(out, style, "unless", unless);
    }
    around(out, finding, connection, style, how);
}

/// The packets around it, the offending one marked.
fn around(out: &mut String, finding: &Finding, connection: Option<&Connection>, style: &Style, how: Paint) {
    if finding.around.len() < 2 {
        return;
    }
    let ends = connection.map(|connection| {
        let [left, right] = &connection.ends;
        format!("   (--> from {}, <-- from {})", left.address, right.address)
    });
    out.push_str(&format!("      around{}\n", one_line(&ends.unwrap_or_default())));
    let time = finding.around.iter().map(|line| columns(&milliseconds(line.time_ns))).max().unwrap_or(0);
    let frame = finding.around.iter().map(|line| line.frame.to_string().len() + 1).max().unwrap_or(0);
    for line in &finding.around {
        let is_it = line.frame == finding.frame;
        let mark = if is_it { ">>" } else { "  " };
        let arrow = match connection {
            None => "",
            Some(_) if line.from == 0 => "-->  ",
            Some(_) => "<--  ",
        };
        let number = format!("#{}", line.frame);
        let text = one_line(&line.text);
        let text = format!("{mark} {:>time$}  {number:>frame$}  {arrow}{text}", milliseconds(line.time_ns));
        let text = cut(&text, if style.verbose { 0 } else { style.width.saturating_sub(6) });
        out.push_str(&format!("      {}\n", paint(style, if is_it { how } else { Paint::Plain }, &text)));
    }
}

/// The figures of both ends.
fn figures(out: &mut String, connection: &Connection, style: &Style) {
    let rows = statistics::rows(connection);
    if rows.is_empty() {
        return;
    }
    push_heading(out, style, &format!("{}: figures", title(connection)));
    let heading = connection.ends.each_ref().map(|end| one_line(&end.address));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| columns(&row.values[column]));
        cells.chain([columns(&heading[column])]).max().unwrap_or(0)
    };
    let (name, left) = (rows.iter().map(|row| columns(row.name)).max().unwrap_or(0), width(0).min(34));
    out.push_str(&format!("    {:<name$}  {:<left$}  {}\n", "", heading[0], heading[1]));
    for row in &rows {
        let line =
            format!("    {:<name$}  {:<left$}  {}", row.name, one_line(&row.values[0]), one_line(&row.values[1]));
        out.push_str(&format!("{}\n", line.trim_end()));
    }
}
