//! Faults of configuration, as far as the traffic betrays them.
//!
//! What is said here is never a guess: where a capture may have hidden the reason, more has to be seen, or nothing is
//! said. A fault that many connections of an address share is said once.

mod class;
mod congestion;
mod link;
mod path;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rocespec_codec::Transport;
use rocespec_reports::examination::{End, Fault, Weight};

use super::counts::Counts;
use super::link::Link;
use class::Said;
use congestion::Receiver;
use path::Sender;

/// Collects faults: first of every connection, then of all of them.
#[derive(Debug)]
pub(super) struct Faults<'a> {
    link: &'a Link,
    said: Said,
    found: Found,
    senders: BTreeMap<String, Sender>,
    receivers: BTreeMap<String, Receiver>,
}

impl<'a> Faults<'a> {
    /// Of a file whose link has said all that it says.
    pub(super) fn new(link: &'a Link) -> Faults<'a> {
        Faults {
            link,
            said: Said::by(link),
            found: Found::default(),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
        }
    }

    /// A connection of the file that has ended.
    /// `agreed_mtu` is the path MTU that the connection manager said, in bytes.
    pub(super) fn connection(&mut self, number: u32, ends: &[End; 2], agreed_mtu: Option<usize>, counts: &Counts) {
        // Datagrams, of which the connection manager's are some, go by rules of their own.
        let is_connected = matches!(counts.transport, Some(Transport::Rc | Transport::Uc | Transport::Xrc));
        if !is_connected {
            return;
        }
        path::connection(&mut self.found, number, ends, agreed_mtu, counts);
        class::connection(&mut self.found, &self.said, number, ends, counts);
        let [first, second] = &counts.sides;
        for (end, side, other) in [(&ends[0], first, second), (&ends[1], second, first)] {
            self.senders.entry(end.address.clone()).or_default().add(number, side);
            if counts.transport != Some(Transport::Uc) {
                self.receivers.entry(end.address.clone()).or_default().add(number, side, other);
            }
        }
    }

    /// All of them, those that cost something first, each kind of weight in the order of the frames.
    pub(super) fn finish(mut self) -> Vec<Fault> {
        for (address, sender) in &self.senders {
            sender.judge(&mut self.found, address);
            congestion::judge_sender(&mut self.found, address, sender);
        }
        for (address, receiver) in &self.receivers {
            receiver.judge(&mut self.found, address);
        }
        link::judge(&mut self.found, self.link);
        self.found.finish()
    }
}

/// Faults by kind, and by what tells two of a kind apart.
#[derive(Debug, Default)]
struct Found(BTreeMap<(String, String), Known>);

/// A fault, and how many connections share it.
#[derive(Debug)]
struct Known {
    fault: Fault,
    /// Connections besides the first one.
    others: u64,
    /// The last of all: both of its ends may show the fault.
    last: Option<u32>,
}

impl Found {
    /// One that is seen. `key` is that of others that are the same fault. Those of a connection come one after the other.
    fn add(&mut self, key: String, fault: Fault) {
        match self.0.entry((fault.kind.clone(), key)) {
            Entry::Vacant(place) => {
                place.insert(Known { last: fault.connection, others: 0, fault });
            }
            Entry::Occupied(place) => {
                let known = place.into_mut();
                known.others += u64::from(known.last != fault.connection);
                known.last = fault.connection;
                if fault.frame < known.fault.frame {
                    known.fault = fault;
                }
            }
        }
    }

    fn finish(self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self
            .0
            .into_values()
            .map(|Known { mut fault, others, .. }| {
                match others {
                    0 => {}
                    1 => fault.seen.push_str("; the same in 1 more connection"),
                    _ => fault.seen.push_str(&format!("; the same in {others} more connections")),
                }
                fault
            })
            .collect();
        faults.sort_by_key(|fault| (fault.weight, fault.frame));
        faults
    }
}

/// A fault.
fn fault(kind: &str, frame: u64, connection: Option<u32>, seen: String, hint: &str) -> Fault {
    Fault { kind: kind.to_owned(), weight: Weight::Fault, frame, connection, seen, hint: hint.to_owned() }
}

/// A remark.
fn remark(kind: &str, frame: u64, connection: Option<u32>, seen: String, hint: &str) -> Fault {
    Fault { weight: Weight::Remark, ..fault(kind, frame, connection, seen, hint) }
}

/// `priority 3`, `priorities 3, 4`.
fn priorities(mask: u8) -> String {
    let names: Vec<String> = (0..8).filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    match names.len() {
        0 => "no priority".to_owned(),
        1 => format!("priority {}", names[0]),
        _ => format!("priorities {}", names.join(", ")),
    }
}
