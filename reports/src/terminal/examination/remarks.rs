//! What is no fault of a packet: what the capture itself did, what is configured wrong, pauses.

use super::super::Style;
use super::super::paint::Paint;
use super::{push_heading, push_wrapped};
use crate::cause;
use crate::examination::{CaptureFile, ClassPauses, Weight};
use crate::text::{counted, duration};

/// Faults and senders of pauses listed unless everything is asked for.
const LISTED: usize = 20;

pub(super) fn push(out: &mut String, file: &CaptureFile, style: &Style) {
    if !file.artefacts.is_empty() {
        push_heading(out, style, "what the capture did, not the devices");
    }
    for artefact in &file.artefacts {
        let first = if artefact.count > 1 { "from frame" } else { "frame" };
        let text = format!("{}, {first} {}: {}", artefact.kind, artefact.frame, artefact.seen);
        push_wrapped(out, style, Paint::Plain, "    ", &text);
        push_wrapped(out, style, Paint::Faint, "      ", &artefact.hint);
    }
    let faults = cause::faults(file);
    if !faults.is_empty() {
        push_heading(out, style, "configuration");
    }
    for fault in listed(&faults, style) {
        let connection = fault.connection.map(|number| format!("connection {number}, ")).unwrap_or_default();
        let remark = if fault.weight == Weight::Remark { " (a remark)" } else { "" };
        let text = format!("{}{remark}, {connection}frame {}: {}", fault.kind, fault.frame, fault.seen);
        let how = if fault.weight == Weight::Fault { Paint::Warn } else { Paint::Plain };
        push_wrapped(out, style, how, "    ", &text);
        push_wrapped(out, style, Paint::Faint, "      ", &fault.hint);
    }
    push_more(out, faults.len(), style);
    if !file.pauses.is_empty() {
        push_heading(out, style, "pauses");
    }
    for pauses in listed(&file.pauses, style) {
        for (class, told) in &pauses.classes {
            push_wrapped(out, style, Paint::Plain, "    ", &format!("{}, {}", pauses.from, told.told(*class)));
        }
    }
    push_more(out, file.pauses.len(), style);
}

fn listed<'t, T>(items: &'t [T], style: &Style) -> &'t [T] {
    if style.verbose { items } else { &items[..items.len().min(LISTED)] }
}

fn push_more(out: &mut String, items: usize, style: &Style) {
    if let Some(more) = items.checked_sub(LISTED).filter(|more| *more > 0 && !style.verbose) {
        out.push_str(&format!("    and {more} more\n"));
    }
}

impl ClassPauses {
    /// `class 3: 12 stops of at most 65535 quanta, 12 starts; paused for 3.400 ms with 4 gaps, at most 0.900 ms at once`.
    fn told(&self, class: u8) -> String {
        let mut text = format!("{}: ", cause::class(class));
        if self.stops > 0 {
            text.push_str(&format!("{} of at most {} quanta, ", counted(self.stops, "stop"), self.most_quanta));
        }
        text.push_str(&counted(self.starts, "start"));
        if self.paused_ns > 0 {
            text.push_str(&format!(
                "; paused for {} with {}, at most {} at once",
                duration(self.paused_ns),
                counted(self.gaps, "gap"),
                duration(self.longest_ns),
            ));
        }
        text
    }
}
