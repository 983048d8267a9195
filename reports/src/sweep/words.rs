//! The numbers of a sweep as people read them.

use super::{Clock, Curve, Point, Sweep, What};
use crate::text::short;

/// A column of the table: its name, what the name stands for, and what stands in it.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) legend: &'static str,
    pub(crate) cell: fn(&Point) -> String,
}

const GOODPUT: Column = Column {
    name: "goodput",
    legend: "payload of completed messages over time, bit/s, mean of the runs",
    cell: |point| bits(point.goodput_bps.mean),
};
const DEVIATION: Column =
    Column { name: "±", legend: "standard deviation of the runs", cell: |point| bits(point.goodput_bps.deviation) };
const RELATIVE: Column =
    Column { name: "relative", legend: "goodput over the reference", cell: |point| percent(point.relative) };
const FORMULA: Column = Column {
    name: "formula",
    legend: "go-back-N by a formula: each loss costs a round trip",
    cell: |point| point.predicted.map_or_else(none, |predicted| percent(predicted.go_back_n)),
};
const WITH_TIMEOUTS: Column = Column {
    name: "+ t/o",
    legend: "the same, where a loss that no NAK reports costs an ACK timeout",
    cell: |point| point.predicted.map_or_else(none, |predicted| percent(predicted.with_timeouts)),
};
const HITS: Column = Column {
    name: "hits",
    legend: "frames that met the fault, in both directions",
    cell: |point| short(point.counts.hits),
};
const PACKETS: Column =
    Column { name: "packets", legend: "packets of both ends", cell: |point| short(point.counts.packets) };
const AGAIN: Column =
    Column { name: "again", legend: "requests sent again", cell: |point| short(point.counts.retransmitted) };
const NAKS: Column = Column { name: "NAK", legend: "NAKs for a gap", cell: |point| counted(point.counts.naks) };
const TIMEOUTS: Column = Column { name: "t/o", legend: "ACK timeouts", cell: |point| counted(point.counts.timeouts) };
const CNPS: Column = Column { name: "CNP", legend: "CNPs", cell: |point| counted(point.counts.cnps) };
const FAIRNESS: Column = Column {
    name: "fairness",
    legend: "Jain's index of the senders, 1 = all alike",
    cell: |point| point.incast.map_or_else(none, |incast| format!("{:.3}", incast.fairness)),
};
const DROPS: Column = Column {
    name: "drops",
    legend: "frames that found the queue full",
    cell: |point| point.incast.map_or_else(none, |incast| short(incast.drops)),
};
const MARKS: Column = Column {
    name: "marks",
    legend: "packets marked CE",
    cell: |point| point.incast.map_or_else(none, |incast| short(incast.marks)),
};
const PAUSES: Column = Column {
    name: "pauses",
    legend: "times that a sender was asked to pause",
    cell: |point| point.incast.map_or_else(none, |incast| short(incast.pauses)),
};
const QUEUE: Column = Column {
    name: "queue",
    legend: "longest queue to the receiver, bytes",
    cell: |point| point.incast.map_or_else(none, |incast| short(incast.longest_queue)),
};

impl Sweep {
    /// The columns that tell something, behind that of the value.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let mut columns = vec![GOODPUT, DEVIATION, RELATIVE];
        match self.what {
            What::Loss if self.clock == Clock::Virtual => columns.extend([FORMULA, WITH_TIMEOUTS, HITS, PACKETS]),
            What::Incast => columns.extend([FAIRNESS, DROPS, MARKS, CNPS, PAUSES, QUEUE]),
            _ => columns.extend([HITS, PACKETS]),
        }
        columns.extend([AGAIN, NAKS, TIMEOUTS]);
        if self.what == What::Ce {
            columns.push(CNPS);
        }
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        columns.retain(|column| points().any(|point| (column.cell)(point) != none()));
        columns
    }

    /// What stands above the table and the picture.
    pub(crate) fn title(&self) -> String {
        format!("Goodput against the {}", self.what.title())
    }

    /// Runs that ended early, in words.
    pub(crate) fn ended(&self) -> Vec<String> {
        let told = |curve: &Curve, point: &Point| {
            let early: Vec<&str> = point.runs.iter().filter_map(|run| run.ended.as_deref()).collect();
            let first = early.first()?;
            let name = if curve.name.is_empty() { String::new() } else { format!(" ({})", curve.name) };
            let (value, runs) = (self.what.value(point.value), point.runs.len());
            Some(format!("{} {value}{name}: {} of {runs} runs ended early: {first}", self.what.name(), early.len()))
        };
        self.curves.iter().flat_map(|curve| curve.points.iter().filter_map(|point| told(curve, point))).collect()
    }
}

/// Bits per second with a unit: `91.8 Gb/s`.
pub(crate) fn bits(bps: u64) -> String {
    let bps = bps as f64;
    let (unit, divisor) = match bps {
        1e9.. => ("Gb/s", 1e9),
        1e6.. => ("Mb/s", 1e6),
        1e3.. => ("kb/s", 1e3),
        _ => ("b/s", 1.0),
    };
    let value = bps / divisor;
    let digits = if value >= 100.0 || bps == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// A share in percent with two digits that tell something: `99.6 %`, `0.26 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let digits = if value >= 10.0 { 1 } else { 2 };
    format!("{value:.digits$} %")
}

fn counted(count: Option<u64>) -> String {
    count.map_or_else(none, short)
}

fn none() -> String {
    ".".to_owned()
}
