//! Rows of the table of pauses.

use crate::cause;
use crate::examination::{CaptureFile, ClassPauses};
use crate::text::duration;

/// Pauses of one class that one address asked for.
pub(super) struct Row<'e> {
    pub(super) from: &'e str,
    pub(super) class: String,
    pub(super) pauses: &'e ClassPauses,
    pub(super) time: String,
    pub(super) longest: String,
    /// Of the time that the file lasts, in tenths of a percent.
    pub(super) share: Option<String>,
}

pub(super) fn rows(file: &CaptureFile) -> Vec<Row<'_>> {
    let senders = file.pauses.iter();
    senders
        .flat_map(|pauses| pauses.classes.iter().map(|(class, of_class)| (pauses.from.as_str(), *class, of_class)))
        .map(|(from, class, pauses)| Row {
            from,
            class: cause::class(class),
            pauses,
            time: duration(pauses.paused_ns),
            longest: duration(pauses.longest_ns),
            share: share(pauses.paused_ns, file.duration_ns),
        })
        .collect()
}

fn share(part: u64, whole: u64) -> Option<String> {
    let tenths = (u128::from(part) * 1_000).checked_div(u128::from(whole))?;
    Some(format!("{}.{} %", tenths / 10, tenths % 10))
}
