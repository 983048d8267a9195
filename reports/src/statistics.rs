//! The figures of a connection, both ends side by side.

use std::collections::BTreeMap;

use crate::examination::{Connection, Sent, Spread};
use crate::text::{duration, short};

/// A figure of both ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) values: [String; 2],
}

/// All figures that say something: what is zero on both sides is left out.
pub(crate) fn rows(connection: &Connection) -> Vec<Row> {
    let mut table = Table { sent: &connection.sent, rows: Vec::new() };
    table.number("packets", |sent| sent.packets);
    table.number("payload, bytes", |sent| sent.payload_bytes);
    table.number("new payload, bytes", |sent| sent.new_bytes);
    table.text("goodput", |sent| goodput(sent).map(|rate| format!("{}bit/s", spaced(rate))));
    table.text("messages", |sent| list(&sent.messages));
    table.number("most READs and ATOMICs open", |sent| sent.most_reads);
    table.number("retransmitted packets", |sent| sent.retransmissions);
    table.number("of them duplicates", |sent| sent.duplicates);
    table.number("responses sent again", |sent| sent.repeated_responses);
    table.number("gaps in the PSNs of requests", |sent| sent.gaps);
    table.number("late packets", |sent| sent.late);
    table.number("timeouts", |sent| sent.timeouts);
    table.number("ACKs", |sent| sent.acks);
    table.number("ACKs of nothing new", |sent| sent.repeated_acks);
    table.text("packets per ACK", per_ack);
    table.text("NAKs", |sent| list(&sent.naks));
    table.number("RNR NAKs", |sent| sent.rnr_naks);
    table.text("waits that RNR NAKs ask for", |sent| spread(&sent.rnr_waits));
    table.text("response latency", |sent| spread(&sent.response_latency));
    table.text("NAK latency", |sent| spread(&sent.nak_latency));
    table.text("reaction to a NAK", |sent| spread(&sent.nak_reaction));
    table.number("CNPs", |sent| sent.cnps);
    table.text("CNP spacing", |sent| spread(&sent.cnp_spacing));
    table.number("packets marked CE", |sent| sent.ce_marks);
    table.number("packets that may be marked (ECT)", |sent| sent.ecn_capable);
    table.text("DSCP", |sent| classes(&sent.dscp));
    table.text("DSCP of CNPs", |sent| classes(&sent.cnp_dscp));
    table.text("priority (PCP)", |sent| classes(&sent.pcp));
    table.text("UDP source ports", |sent| {
        let ports: Vec<String> = sent.source_ports.iter().map(u16::to_string).collect();
        (!ports.is_empty()).then(|| ports.join(", "))
    });
    table.rows
}

/// How long the connection was seen, in nanoseconds.
pub(crate) fn time(connection: &Connection) -> u64 {
    connection.times_ns[1].saturating_sub(connection.times_ns[0])
}

/// New payload per time, in bit/s; `None` where there was none.
pub(crate) fn goodput(sent: &Sent) -> Option<u64> {
    sent.goodput().filter(|_| sent.new_bytes > 0)
}

/// `12.3 G`: a number with its unit apart.
pub(crate) fn spaced(n: u64) -> String {
    let short = short(n);
    match short.find(|c: char| c.is_ascii_alphabetic()) {
        Some(unit) => format!("{} {}", &short[..unit], &short[unit..]),
        None => format!("{short} "),
    }
}

/// All counts together.
pub(crate) fn sum<K>(counts: &BTreeMap<K, u64>) -> u64 {
    counts.values().fold(0, |sum, count| sum.saturating_add(*count))
}

struct Table<'s> {
    sent: &'s [Sent; 2],
    rows: Vec<Row>,
}

impl Table<'_> {
    fn number(&mut self, name: &'static str, of: impl Fn(&Sent) -> u64) {
        let values = self.sent.each_ref().map(of);
        if values != [0, 0] {
            self.rows.push(Row { name, values: values.map(|value| value.to_string()) });
        }
    }

    fn text(&mut self, name: &'static str, of: impl Fn(&Sent) -> Option<String>) {
        let values = self.sent.each_ref().map(of);
        if values.iter().any(Option::is_some) {
            self.rows.push(Row { name, values: values.map(|value| value.unwrap_or_else(|| "–".to_owned())) });
        }
    }
}

fn list(counts: &BTreeMap<String, u64>) -> Option<String> {
    let all: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// `26: 1200, 48: 3`: the packets of each class; a class alone where there is only one.
fn classes(counts: &BTreeMap<u8, u64>) -> Option<String> {
    match counts.len() {
        0 => None,
        1 => counts.keys().next().map(u8::to_string),
        _ => Some(counts.iter().map(|(class, count)| format!("{class}: {count}")).collect::<Vec<_>>().join(", ")),
    }
}

fn per_ack(sent: &Sent) -> Option<String> {
    let hundredths = sent.acked_packets.saturating_mul(100).checked_div(sent.acks)?;
    Some(format!("{}.{:02}", hundredths / 100, hundredths % 100))
}

/// `1.200 us to 3.400 us, mean 2.000 us`.
fn spread(spread: &Spread) -> Option<String> {
    let mean = duration(spread.mean_ns()?);
    let (least, most) = (duration(spread.least_ns), duration(spread.most_ns));
    Some(if least == most { mean } else { format!("{least} to {most}, mean {mean}") })
}
