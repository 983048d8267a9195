//! A sweep as a table for other programs: a line for each curve and value, RFC 4180.

use std::io::{self, Write};

use super::{Curve, Point, Sweep};

/// Names of the columns.
const HEAD: &str = "what,curve,value,goodput_bps,deviation_bps,min_bps,max_bps,relative,go_back_n,with_timeouts,runs,messages,\
packets,retransmitted,hits,timeouts,naks,cnps,fairness,drops,marks,pauses,longest_queue";

/// Writes it. What nobody counted is empty.
pub fn write(sweep: &Sweep, mut out: impl Write) -> io::Result<()> {
    write!(out, "{HEAD}\r\n")?;
    for curve in &sweep.curves {
        for point in &curve.points {
            write!(out, "{}\r\n", line(sweep, curve, point).join(","))?;
        }
    }
    out.flush()
}

fn line(sweep: &Sweep, curve: &Curve, point: &Point) -> Vec<String> {
    let (goodput, counts, incast) = (point.goodput_bps, point.counts, point.incast);
    let mut cells = vec![sweep.what.name().to_owned(), quoted(&curve.name), sweep.what.value(point.value)];
    cells.extend([goodput.mean, goodput.deviation, goodput.min, goodput.max].map(|rate| rate.to_string()));
    cells.push(format!("{:.6}", point.relative));
    let predicted = point.predicted;
    let share = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{share:.6}"));
    cells.push(share(predicted.map(|predicted| predicted.go_back_n)));
    cells.push(share(predicted.map(|predicted| predicted.with_timeouts)));
    cells.push(point.runs.len().to_string());
    cells.extend([counts.messages, counts.packets, counts.retransmitted, counts.hits].map(|count| count.to_string()));
    let number = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
    cells.extend([counts.timeouts, counts.naks, counts.cnps].map(number));
    cells.push(share(incast.map(|incast| incast.fairness)));
    let incast = incast.map(|incast| [incast.drops, incast.marks, incast.pauses, incast.longest_queue]);
    cells.extend((0..4).map(|place| number(incast.map(|counts| counts[place]))));
    cells
}

fn quoted(text: &str) -> String {
    let plain = !text.contains([',', '"', '\r', '\n']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
