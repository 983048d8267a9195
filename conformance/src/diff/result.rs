//! What differs between two recordings, as plain data. `rocespec diff --format json` prints exactly this; `docs/diff.md`
//! describes it.

use serde::Serialize;

use super::side::Who;

/// Two recordings, held against each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// In the order of the first recording, then those that only the second has.
    pub connections: Vec<Connection>,
    /// Over all connections.
    pub counts: Counts,
}

/// A connection of either recording, or of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// What it is in each recording; `None` where it has no counterpart.
    pub ends: [Option<End>; 2],
    /// How much further on the second recording begins, in PSNs of the requests of `a` and of `b`. PSNs are counted alike.
    pub begins_later: [i32; 2],
    /// What differs in the same way on most packets of a sender.
    pub throughout: Vec<Throughout>,
    /// What differs besides, packet by packet, in the order of the frames.
    pub differences: Vec<Differing>,
    /// Packets that differ and are not listed.
    pub unlisted: u64,
    /// How many of what.
    pub counts: Counts,
}

/// A connection in one recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct End {
    /// 1 = first of the file.
    pub number: usize,
    /// `RC`, `UD`; `variant` in a trace.
    pub transport: &'static str,
    /// End `a`, which is seen first, and end `b`; of a trace the name of the variant.
    pub ends: Vec<String>,
    /// All that were sent.
    pub packets: u64,
}

/// A packet that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Who sent it.
    pub from: Who,
    /// Where it is in each recording, and what it is there.
    pub places: [Option<Place>; 2],
    /// The packet as a whole, where it has no counterpart of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// Otherwise its fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDifference>,
}

/// A packet in one recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Number of the frame, or of the line in its variant; 1 = first.
    pub frame: u64,
    /// Since the first frame, in nanoseconds.
    pub time_ns: u64,
    /// In the notation, with symbols.
    pub packet: String,
}

/// A whole packet that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Whole {
    /// `missing`: only the first recording has it, `extra`: only the second, `moved`: at another place among those of its
    /// sender, `other`: a packet of another kind.
    pub what: &'static str,
    /// Who decides.
    #[serde(flatten)]
    pub decided: Decided,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// Its name in the notation; `time` for the time since the packet before.
    pub name: String,
    /// Its two values; `ordinary` where the line leaves it out.
    pub values: [String; 2],
    /// Who decides.
    #[serde(flatten)]
    pub decided: Decided,
}

/// A field that differs in the same way on most packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Throughout {
    /// Who sent them.
    pub from: Who,
    /// Their kind; `None` for all.
    pub packet: Option<String>,
    /// The field.
    pub field: FieldDifference,
    /// On how many.
    pub count: u64,
    /// Frames of the first of them.
    pub frames: [u64; 2],
}

/// Who decides a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The rule of the ledger.
    pub rule: Option<String>,
    /// True when both are right. Neither a rule nor free: no single rule of the table says which is right.
    pub free: bool,
    /// Why it is free.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Decided {
    /// No single rule says which is right.
    pub(super) fn open() -> Decided {
        Decided { rule: None, free: false, why: String::new() }
    }
}

/// How many of what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets that are the same in both.
    pub same: u64,
    /// Packets of both that differ in a field that is not free.
    pub differing: u64,
    /// Packets that differ in free fields only, or that either recording may lack.
    pub free: u64,
    /// Packets without a counterpart in the second recording that should have one.
    pub missing: u64,
    /// Packets without a counterpart in the first recording that should have one.
    pub extra: u64,
    /// Packets at another place among those of their sender.
    pub moved: u64,
    /// Connections with a counterpart.
    pub paired: u64,
    /// Connections without.
    pub alone: u64,
}

impl Counts {
    /// True when something differs that is not free.
    pub fn is_different(&self) -> bool {
        self.differing + self.missing + self.extra + self.moved + self.alone > 0
    }

    /// True when nothing differs at all.
    pub fn is_same(&self) -> bool {
        !self.is_different() && self.free == 0
    }

    pub(super) fn add(&mut self, other: &Counts) {
        let Counts { same, differing, free, missing, extra, moved, paired, alone } = other;
        self.same += same;
        self.differing += differing;
        self.free += free;
        self.missing += missing;
        self.extra += extra;
        self.moved += moved;
        self.paired += paired;
        self.alone += alone;
    }
}
