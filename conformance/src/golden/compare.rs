//! What differs between two traces.

use serde::Serialize;

use super::align::{Pair, align};
use super::packet::Packet;
use super::trace::{Exchange, Fact, Trace};
use super::{Governed, freedom, governs};

/// What stands for a packet that is not there.
pub const NOTHING: &str = "nothing";

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Line of the scenario file before which it showed; 0 at the end of the case.
    pub line: u32,
    /// The packets of the exchange that the tester sent, in the notation.
    pub sent: Vec<String>,
    /// The comment of the script at the last of them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// At the end of the case, for what software sees: every comment, since any packet may have led to it.
    #[serde(skip)]
    pub remarks: Vec<String>,
    /// What differs.
    pub subject: Subject,
    /// What the first side has: a packet or a fact, or [`NOTHING`].
    pub expected: String,
    /// What the second side has.
    pub seen: String,
    /// Who decides.
    pub governed: Governed,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A field, with the two values.
    Field {
        /// Its name.
        name: &'static str,
        /// Value of the first side; `none` where it does not have the field.
        expected: String,
        /// Value of the second side.
        seen: String,
    },
    /// The whole packet: it is another one, or one side has none.
    Packet,
    /// What the device's software says: `completion send 0`, `qp`, `memory mr+0x40`.
    Fact(String),
    /// The device's software refused an order.
    Refusal,
    /// The device died.
    Death,
}

impl Subject {
    /// The word that names it: of a field its name, of the rest `packet`, the fact's first word, `refusal`, `death`.
    pub fn word(&self) -> &str {
        match self {
            Subject::Field { name, .. } => name,
            Subject::Packet => "packet",
            Subject::Fact(subject) => subject.split(' ').next().unwrap_or_default(),
            Subject::Refusal => "refusal",
            Subject::Death => "death",
        }
    }
}

/// Everything that differs, in the order of the script. The stimuli are those of `expected`.
pub fn compare(expected: &Trace, seen: &Trace) -> Vec<Difference> {
    let mut differences = Vec::new();
    let none = Exchange::default();
    for at in 0..expected.exchanges.len().max(seen.exchanges.len()) {
        let (one, other) = (expected.exchanges.get(at), seen.exchanges.get(at));
        let place = one.or(other).unwrap_or(&none);
        let (one, other) = (one.unwrap_or(&none), other.unwrap_or(&none));
        packets(place, &one.seen, &other.seen, &mut differences);
        facts(place, one, other, &mut differences);
    }
    let remarks: Vec<String> = expected.exchanges.iter().map(|exchange| exchange.remark.clone()).collect();
    let at_the_end =
        |difference: &&mut Difference| difference.line == 0 && matches!(difference.subject, Subject::Fact(_));
    differences.iter_mut().filter(at_the_end).for_each(|difference| difference.remarks.clone_from(&remarks));
    differences
}

/// What differs between two lists of packets. `place` says where they stand.
pub fn packets(place: &Exchange, expected: &[Packet], seen: &[Packet], differences: &mut Vec<Difference>) {
    for paired in align(expected, seen) {
        differences.extend(pair(place, expected, seen, paired));
    }
}

/// What differs in one pair of an alignment.
pub(super) fn pair(place: &Exchange, expected: &[Packet], seen: &[Packet], pair: Pair) -> Vec<Difference> {
    let differ = |subject, expected: Option<&Packet>, seen: Option<&Packet>, governed| {
        let line = |packet: Option<&Packet>| packet.map_or(NOTHING, |packet| &packet.line).to_owned();
        at(place, subject, line(expected), line(seen), governed)
    };
    let free = |why: Option<&'static str>| why.map_or(Governed::Open, Governed::Free);
    match pair {
        Pair::Left(l) => {
            let why = freedom::of_lonely(place, expected, l, seen);
            vec![differ(Subject::Packet, expected.get(l), None, free(why))]
        }
        Pair::Right(r) => {
            let why = freedom::of_lonely(place, seen, r, expected);
            vec![differ(Subject::Packet, None, seen.get(r), free(why))]
        }
        Pair::Both(l, r) => {
            let (one, other) = (&expected[l], &seen[r]);
            let opaque = one.values.is_empty() || other.values.is_empty();
            if one.head() != other.head() || opaque && one.line != other.line {
                return vec![differ(Subject::Packet, Some(one), Some(other), Governed::Open)];
            }
            let field = |(name, [expected, seen]): (&'static str, [String; 2])| {
                let governed = governs::field(one.head(), name);
                differ(Subject::Field { name, expected, seen }, Some(one), Some(other), governed)
            };
            fields(one, other).into_iter().map(field).collect()
        }
    }
}

/// Stands for the value of a field that a line leaves out.
const NONE: &str = "none";
/// The same where people read it.
pub(crate) const ORDINARY: &str = "ordinary";

/// The value of a field, for people.
pub(crate) fn told(text: String) -> String {
    if text == NONE { ORDINARY.to_owned() } else { text }
}

/// Fields that differ, with both values.
pub(crate) fn fields(one: &Packet, other: &Packet) -> Vec<(&'static str, [String; 2])> {
    let text = |value: Option<&super::Value>| value.map_or(NONE, |value| &value.text).to_owned();
    let in_one = one.values.iter().filter_map(|value| {
        let there = other.value(value.name);
        let differs = there.is_none_or(|there| !value.agrees(there));
        differs.then(|| (value.name, [value.text.clone(), text(there)]))
    });
    let in_other = other.values.iter().filter(|value| one.value(value.name).is_none());
    in_one.chain(in_other.map(|value| (value.name, [text(None), value.text.clone()]))).collect()
}

fn facts(place: &Exchange, expected: &Exchange, seen: &Exchange, differences: &mut Vec<Difference>) {
    let only_seen = seen.facts.iter().filter(|fact| expected.fact(&fact.subject).is_none());
    for Fact { subject, .. } in expected.facts.iter().chain(only_seen) {
        let value = |exchange: &Exchange| exchange.fact(subject).map_or(NOTHING, |fact| &fact.value).to_owned();
        let (one, other) = (value(expected), value(seen));
        if one != other {
            differences.push(at(place, Subject::Fact(subject.clone()), one, other, Governed::Open));
        }
    }
}

fn at(place: &Exchange, subject: Subject, expected: String, seen: String, governed: Governed) -> Difference {
    let sent = place.sent.iter().map(|packet| packet.line.clone()).collect();
    Difference {
        line: place.line,
        sent,
        remark: place.remark.clone(),
        remarks: Vec::new(),
        subject,
        expected,
        seen,
        governed,
    }
}
