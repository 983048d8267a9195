//! A sweep for people: what was held still, a table for each curve, and what was found on the way.

use super::Style;
use super::paint::{Paint, paint};
use crate::sweep::{Clock, Curve, Sweep, bits};
use crate::text::{columns, one_line, wrap};

/// The whole sweep as text.
pub fn sweep(sweep: &Sweep, style: &Style) -> String {
    let mut out = String::new();
    let [sender, receiver] = sweep.devices.each_ref().map(|device| one_line(device));
    let clock = match sweep.clock {
        Clock::Virtual => "virtual time",
        Clock::Real => "real time",
    };
    push(&mut out, style, Paint::Strong, &format!("{}: {sender} to {receiver}, in {clock}", sweep.title()));
    let facts: Vec<String> = sweep.setting.iter().map(|fact| format!("{} {}", fact.name, fact.value)).collect();
    push(&mut out, style, Paint::Faint, &one_line(&facts.join(", ")));
    sweep.curves.iter().for_each(|curve| table(&mut out, sweep, curve, style));
    let names = sweep.columns().into_iter().map(|column| format!("{} = {}", column.name, column.legend));
    let legend = names.chain([". is what nobody counted".to_owned()]).collect::<Vec<_>>().join("; ");
    out.push('\n');
    push(&mut out, style, Paint::Faint, &legend);
    for ended in sweep.ended() {
        push(&mut out, style, Paint::Warn, &one_line(&ended));
    }
    if !sweep.complete {
        push(&mut out, style, Paint::Unsure, "It was stopped before its end: some runs are missing.");
    }
    for finding in &sweep.findings {
        let rule = finding.rule.as_deref().map_or(String::new(), |rule| format!(" broke {rule}"));
        let curve = if finding.curve.is_empty() { String::new() } else { format!(", {}", finding.curve) };
        let what = format!(
            "FINDING {} {}{curve}, seed {}: {}{rule}: {}",
            sweep.what.name(),
            finding.value,
            finding.seed,
            finding.device,
            finding.sentence
        );
        push(&mut out, style, Paint::Bad, &one_line(&what));
    }
    push(&mut out, style, Paint::Command, &one_line(&sweep.command));
    out
}

fn push(out: &mut String, style: &Style, how: Paint, text: &str) {
    // A command is meant to be copied.
    let width = if how == Paint::Command { 0 } else { style.width };
    for line in wrap(text, width) {
        out.push_str(&paint(style, how, &line));
        out.push('\n');
    }
}

fn table(out: &mut String, sweep: &Sweep, curve: &Curve, style: &Style) {
    out.push('\n');
    let name = if curve.name.is_empty() { String::new() } else { format!("{}; ", one_line(&curve.name)) };
    let reference = format!("{name}100 % is {}, {}", bits(curve.reference_bps), curve.reference);
    push(out, style, Paint::Plain, &reference);
    let columns_shown = sweep.columns();
    let head = std::iter::once(sweep.what.name().to_owned())
        .chain(columns_shown.iter().map(|column| column.name.to_owned()))
        .collect::<Vec<_>>();
    let rows = curve.points.iter().map(|point| {
        let cells = columns_shown.iter().map(|column| (column.cell)(point));
        std::iter::once(sweep.what.value(point.value)).chain(cells).collect::<Vec<_>>()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|place| rows.iter().chain([&head]).map(|row| columns(&row[place])).max().unwrap_or(0))
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    out.push_str(&paint(style, Paint::Faint, &line(&head)));
    out.push('\n');
    for row in &rows {
        out.push_str(&line(row));
        out.push('\n');
    }
}
