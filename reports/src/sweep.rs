//! What a sweep measured, as plain data: goodput against one thing that is changed step by step. The JSON form is exactly
//! this; `docs/sweep-schema.md` describes it.
//!
//! Rates are shares from 0 to 1, speeds bits per second, times nanoseconds, lengths bytes.

mod csv;
#[cfg(test)]
pub(crate) mod sample;
mod spread;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

pub use csv::write as write_csv;
pub use spread::Spread;
pub(crate) use words::{bits, percent};

/// Version of the JSON form. Grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// A sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// The command line that repeats it.
    pub command: String,
    /// The device that sends, and the one that receives, as the command line names them.
    pub devices: [String; 2],
    /// Virtual time repeats to the bit; real time does not.
    pub clock: Clock,
    /// What is changed step by step.
    pub what: What,
    /// What stays as it is, name and value in words.
    pub setting: Vec<Fact>,
    /// One for each combination of what is compared.
    pub curves: Vec<Curve>,
    /// Rules that were broken and data that was wrong on the way.
    pub findings: Vec<Finding>,
    /// False when it was stopped before its end.
    pub complete: bool,
}

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// That of the model.
    Virtual,
    /// That of the machine.
    Real,
}

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Share of the frames that are lost.
    Loss,
    /// Share of the frames that arrive behind later ones.
    Reorder,
    /// Share of the packets that are marked as having met congestion.
    Ce,
    /// Number of senders to one receiver.
    Incast,
}

impl What {
    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            What::Loss => "loss",
            What::Reorder => "reorder",
            What::Ce => "ce",
            What::Incast => "incast",
        }
    }

    /// In words, for an axis.
    pub fn title(self) -> &'static str {
        match self {
            What::Loss => "share of frames lost",
            What::Reorder => "share of frames that arrive behind later ones",
            What::Ce => "share of packets marked CE",
            What::Incast => "number of senders to one receiver",
        }
    }

    /// A value as it is written: `1e-5`, `16`.
    pub fn value(self, value: f64) -> String {
        match self {
            What::Incast => format!("{value:.0}"),
            _ if value == 0.0 => "0".to_owned(),
            _ if value >= 0.1 => format!("{value}"),
            _ => format!("{value:e}"),
        }
    }
}

/// Something that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// `round trip`.
    pub name: String,
    /// `10us`.
    pub value: String,
}

/// Goodput over the values, in one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What tells it from the other curves: `DCQCN on`. Empty when there is only one.
    pub name: String,
    /// Goodput that stands for 1, in bits per second.
    pub reference_bps: u64,
    /// What that is: `measured at 0`, `the link's own`.
    pub reference: String,
    /// In the order of the values.
    pub points: Vec<Point>,
}

/// What was measured at one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// Payload of the messages that were completed, over the time, in bits per second.
    pub goodput_bps: Spread,
    /// Mean of that over [`Curve::reference_bps`], with six decimals.
    pub relative: f64,
    /// What a formula says of the same, where there is one.
    pub predicted: Option<Predicted>,
    /// Sums over all runs.
    pub counts: Counts,
    /// Of several senders to one receiver.
    pub incast: Option<Incast>,
    /// Each run.
    pub runs: Vec<Run>,
}

/// Goodput of go-back-N by a formula, relative as [`Point::relative`] is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Each loss costs a round trip.
    pub go_back_n: f64,
    /// And a loss that no NAK reports costs an ACK timeout.
    pub with_timeouts: f64,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seed of its chances.
    pub seed: u64,
    /// Goodput.
    pub goodput_bps: u64,
    /// Messages that were completed.
    pub messages: u64,
    /// How long that took.
    pub time_ns: u64,
    /// Why it ended early, where it did.
    pub ended: Option<String>,
}

/// What was counted. What nobody counted is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages that were completed.
    pub messages: u64,
    /// Packets that both ends sent.
    pub packets: u64,
    /// Of them, requests that were sent before.
    pub retransmitted: u64,
    /// Frames that met the fault.
    pub hits: u64,
    /// Times that the ACK timeout of a sender ran out.
    pub timeouts: Option<u64>,
    /// NAKs for a gap in the sequence.
    pub naks: Option<u64>,
    /// CNPs that were sent.
    pub cnps: Option<u64>,
}

impl Counts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Counts) {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
        self.messages += other.messages;
        self.packets += other.packets;
        self.retransmitted += other.retransmitted;
        self.hits += other.hits;
        self.timeouts = both(self.timeouts, other.timeouts);
        self.naks = both(self.naks, other.naks);
        self.cnps = both(self.cnps, other.cnps);
    }
}

/// What there is to know of several senders to one receiver. Counts are sums over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Incast {
    /// Jain's index of the senders' goodputs, mean of the runs: 1 = all alike, 1/n = one has everything.
    pub fairness: f64,
    /// Frames that the switch dropped, its queue being full.
    pub drops: u64,
    /// Packets that it marked.
    pub marks: u64,
    /// Times that it asked a sender to pause.
    pub pauses: u64,
    /// Longest queue to the receiver in bytes, of all runs.
    pub longest_queue: u64,
}

/// Something that should not be, whatever the link does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which curve, by its name.
    pub curve: String,
    /// At which value, as it is written.
    pub value: String,
    /// Seed of the run.
    pub seed: u64,
    /// Which device, as the command line names it; empty where none is to blame.
    pub device: String,
    /// Id of the rule, where one is broken.
    pub rule: Option<String>,
    /// What is wrong.
    pub sentence: String,
}
