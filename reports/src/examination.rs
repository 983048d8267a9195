//! What was found in capture files, as plain data. `rocespec check --format json` prints exactly this; `docs/check-schema.md`
//! describes it.
//!
//! Times are nanoseconds since the first frame of the file, frames are numbers as Wireshark counts them (1 = first).
//! Everything in here is bounded by the number of connections, never by that of packets.

#[cfg(test)]
pub(crate) mod sample;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outcome::{Level, Rule};

/// Version of the JSON form. Grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// Captures that were examined together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// The command line.
    pub command: String,
    /// The rules that findings name, in the order of their ids.
    pub rules: Vec<Rule>,
    /// Each file on its own, in the order of the command line.
    pub files: Vec<CaptureFile>,
}

/// One capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureFile {
    /// As it was named.
    pub name: String,
    /// Why it could not be read to its end. What stands before the damage is judged all the same.
    pub error: Option<String>,
    /// Frames that were read.
    pub frames: u64,
    /// Those that are RoCE.
    pub packets: u64,
    /// Lengths of all frames on the wire, in bytes.
    pub bytes: u64,
    /// Time of the first frame, in nanoseconds since 1970.
    pub start_ns: u64,
    /// From the earliest to the latest frame.
    pub duration_ns: u64,
    /// In the order of their first packets.
    pub connections: Vec<Connection>,
    /// Findings on frames that belong to no connection: those that cannot be taken apart, for example.
    pub loose: Findings,
    /// What the capture itself did to the traffic.
    pub artefacts: Vec<Artefact>,
    /// What is configured wrong, as far as the traffic shows.
    pub faults: Vec<Fault>,
    /// PAUSE and PFC, by the address that sent it.
    pub pauses: Vec<Pauses>,
}

/// Two ends that talk to each other, or one that is heard alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// 1 = first of the file. What `--connection` takes.
    pub number: u32,
    /// `RC`, `UC`, `UD`, `XRC`; `CNP` where nothing but congestion notifications was seen.
    pub transport: String,
    /// How the two directions were found to belong together.
    pub paired: Paired,
    /// The end that sent the first packet seen, and the other one.
    pub ends: [End; 2],
    /// First and last frame.
    pub frames: [u64; 2],
    /// Times of those.
    pub times_ns: [u64; 2],
    /// What each end sent.
    pub sent: [Sent; 2],
    /// What broke.
    pub findings: Findings,
    /// Packets for a picture, thinned out evenly where there are too many.
    pub points: Vec<Point>,
}

/// How two directions were found to belong together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paired {
    /// By the connection manager's messages.
    ConnectionManager,
    /// By answers that fit requests.
    Traffic,
    /// Not at all: only one direction was captured, or there is only one.
    #[default]
    OneDirection,
}

/// One end of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// IP address, or GID in RoCE v1.
    pub address: String,
    /// Its queue pair; `None` when nobody said it.
    pub qpn: Option<u32>,
    /// Path MTU in bytes that it sends with.
    pub mtu: Option<u32>,
    /// It sent no packet that is in the file.
    pub silent: bool,
}

/// Statistics of what one end sent. Copies that the capture made are not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Packets of all kinds.
    pub packets: u64,
    /// Payload of requests and READ responses, in bytes, with what was sent again.
    pub payload_bytes: u64,
    /// Payload that was new.
    pub new_bytes: u64,
    /// From the first packet with new payload to the last one. See [`Sent::goodput`].
    pub data_ns: u64,
    /// Messages that were begun, by kind: `SEND`, `RDMA_WRITE`, `RDMA_READ`, `FETCH_ADD`.
    pub messages: BTreeMap<String, u64>,
    /// Request packets that were sent again.
    pub retransmissions: u64,
    /// Those of them that an acknowledgement had covered before: the responder got duplicates.
    pub duplicates: u64,
    /// READ and ATOMIC responses that were sent again.
    pub repeated_responses: u64,
    /// Times that it began to send again with no NAK before it: timeouts, or NAKs that were not captured.
    pub timeouts: u64,
    /// Times that PSNs of requests were left out: lost before the capture point, or not captured. `naks` says how many of
    /// them the receiver saw.
    pub gaps: u64,
    /// Request packets that came late into a gap with no NAK before it: the order changed on the way or in the capture.
    pub late: u64,
    /// Most READs and ATOMICs that were open at once.
    pub most_reads: u64,
    /// Positive acknowledgements.
    pub acks: u64,
    /// Those that acknowledged nothing new.
    pub repeated_acks: u64,
    /// Request packets that the ACKs acknowledged; divided by `acks` it says how they were coalesced.
    pub acked_packets: u64,
    /// NAKs by code: `psn_sequence_error`.
    pub naks: BTreeMap<String, u64>,
    /// RNR NAKs.
    pub rnr_naks: u64,
    /// From a request that asks for an acknowledgement to the response that covers it.
    pub response_latency: Spread,
    /// From a packet behind a gap to the NAK that this end sent.
    pub nak_latency: Spread,
    /// From a NAK of the other end to the request that it asks for.
    pub nak_reaction: Spread,
    /// Waits that its RNR NAKs ask for.
    pub rnr_waits: Spread,
    /// Congestion notifications.
    pub cnps: u64,
    /// Between two of them.
    pub cnp_spacing: Spread,
    /// Packets that arrived at the capture point with a mark of congestion.
    pub ce_marks: u64,
    /// Packets that a switch may mark or has marked: ECT(0), ECT(1), CE.
    pub ecn_capable: u64,
    /// Packets by DSCP, without congestion notifications.
    pub dscp: BTreeMap<u8, u64>,
    /// Congestion notifications by DSCP; they may have a class of their own.
    pub cnp_dscp: BTreeMap<u8, u64>,
    /// Packets by priority of the outer VLAN tag, without congestion notifications.
    pub pcp: BTreeMap<u8, u64>,
    /// UDP source ports, the first 16 of them, without those of congestion notifications.
    pub source_ports: Vec<u16>,
}

impl Sent {
    /// New payload in bits per second; `None` where there was one packet of it or none.
    pub fn goodput(&self) -> Option<u64> {
        let bits = u128::from(self.new_bytes) * 8 * 1_000_000_000;
        bits.checked_div(self.data_ns.into()).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// Durations, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
    /// All together.
    pub sum_ns: u64,
}

impl Spread {
    /// One more.
    pub fn add(&mut self, ns: u64) {
        self.least_ns = if self.count == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.count += 1;
    }

    /// The mean; `None` of none.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }
}

/// What broke: the cause first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// What receivers take notice of stands before what they do not, each in the order of frames: so the first is what broke
    /// first, and the others may follow from it.
    pub first: Vec<Finding>,
    /// Packets that broke each rule, those that are not shown above included.
    pub counts: Vec<RuleCount>,
}

/// How often a rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCount {
    /// Its id.
    pub rule: String,
    /// How binding it is here.
    pub level: Level,
    /// Packets that broke it.
    pub count: u64,
}

/// A packet that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule in the ledger.
    pub rule: String,
    /// `must` when it is certain; `should` when a good device may do so, or when the capture may have hidden a reason.
    pub level: Level,
    /// Number of the frame.
    pub frame: u64,
    /// When.
    pub time_ns: u64,
    /// Which of the connection's ends sent it; 0 where there is no connection.
    pub from: u8,
    /// The packet in the notation.
    pub packet: String,
    /// What the rule asks for.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Why this is a fault.
    pub why: String,
    /// Receivers take no notice: nothing that goes wrong later comes from it.
    #[serde(default)]
    pub harmless: bool,
    /// What else may have happened, where the capture cannot tell.
    pub unless: Option<String>,
    /// Packets of the connection around it, itself included.
    pub around: Vec<Line>,
}

/// A packet in the surroundings of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the frame.
    pub frame: u64,
    /// When.
    pub time_ns: u64,
    /// Which end sent it.
    pub from: u8,
    /// In the notation.
    pub text: String,
}

/// A packet in a picture of PSNs over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the frame.
    pub frame: u64,
    /// When.
    pub time_ns: u64,
    /// Which end sent it.
    pub from: u8,
    /// Its PSN.
    pub psn: u32,
    /// PSNs that it stands for, more than 1 for a READ request.
    pub psns: u32,
    /// What it is.
    pub mark: Mark,
}

/// What a point stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A new request packet.
    Request,
    /// One that was sent again.
    Retransmission,
    /// A READ or ATOMIC response.
    Response,
    /// A positive acknowledgement.
    Ack,
    /// A NAK.
    Nak,
    /// An RNR NAK.
    RnrNak,
    /// A congestion notification; it has no PSN.
    Cnp,
}

/// Something that the capture did, not the devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// What: `cut`, `hole`, `copies`; `docs/check.md` lists them.
    pub kind: String,
    /// How many frames show it, packets are missing, or connections are concerned.
    pub count: u64,
    /// The first of them.
    pub frame: u64,
    /// What was seen, in a sentence.
    pub seen: String,
    /// How to capture better.
    pub hint: String,
}

/// Something that is configured wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Short name, such as `class-not-lossless`; `docs/check.md` lists them.
    pub kind: String,
    /// How much it matters.
    pub weight: Weight,
    /// A frame that shows it.
    pub frame: u64,
    /// Number of the connection, where it is about one.
    pub connection: Option<u32>,
    /// What was seen, in a sentence.
    pub seen: String,
    /// What to look at.
    pub hint: String,
}

/// How much a fault matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It costs throughput or loses packets.
    Fault,
    /// Legal, and worth a look.
    Remark,
}

/// Pauses that one address asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// MAC address of the sender.
    pub from: String,
    /// Frames of PFC and of PAUSE.
    pub frames: u64,
    /// By class; PAUSE, which has none, is class 8.
    pub classes: BTreeMap<u8, ClassPauses>,
}

/// Pauses of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPauses {
    /// Frames that stop it.
    pub stops: u64,
    /// Frames that let it go on.
    pub starts: u64,
    /// Quanta asked for, the longest.
    pub most_quanta: u16,
    /// Time in which it was told to stop. Where the speed of the link is not known, a stop lasts until the next stop or
    /// start that comes in time to replace it, so this is the least that it can have been.
    pub paused_ns: u64,
    /// The longest part of it without a gap.
    pub longest_ns: u64,
    /// Gaps between the first stop and the last: it was told to go on, or a stop ran out.
    pub gaps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{documented, fields};

    const PAGE: &str = include_str!("../../docs/check-schema.md");

    /// As it is written into a file, without the newline at the end.
    fn written(examination: &Examination) -> String {
        serde_json::to_string_pretty(examination).unwrap()
    }

    #[test]
    fn json_of_an_examination() {
        insta::assert_snapshot!(written(&sample::examination()));
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let examination = sample::examination();
        assert_eq!(serde_json::from_str::<Examination>(&written(&examination)).unwrap(), examination);
    }

    #[test]
    fn the_documented_example_is_an_examination() {
        let example = PAGE.split("```json\n").nth(1).expect("an example").split("```").next().unwrap();
        let examination: Examination = serde_json::from_str(example).unwrap();
        assert_eq!(written(&examination), example.trim(), "the example is written as the tool writes it");
    }

    #[test]
    fn the_documented_fields_are_those_of_an_examination() {
        let examination = sample::examination();
        let file = &examination.files[0];
        let connection = &file.connections[2];
        for (heading, fields) in [
            ("Examination", fields(&examination)),
            ("Capture", fields(file)),
            ("Connection", fields(connection)),
            ("End", fields(&connection.ends[0])),
            ("Sent", fields(&connection.sent[0])),
            ("Spread", fields(&Spread::default())),
            ("Findings", fields(&connection.findings)),
            ("Finding", fields(&connection.findings.first[0])),
            ("Point", fields(&connection.points[0])),
            ("Artefact", fields(&file.artefacts[0])),
            ("Fault", fields(&file.faults[0])),
            ("Pauses", fields(&file.pauses[0])),
            ("Pauses of a class", fields(&ClassPauses::default())),
        ] {
            assert_eq!(documented(PAGE, heading), fields, "{heading}");
        }
    }
}
