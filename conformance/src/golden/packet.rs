//! A packet with symbolic numbers, as two sides that speak of the same exchange both write it.

use rocespec_codec::field::Field;
use rocespec_codec::notation::{self, Scope};
use rocespec_codec::{DecodeError, Net, Roce};
use rocespec_model::Time;
use serde::Serialize;

/// A packet in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Packet {
    /// Since the start of the trace, in nanoseconds on the clock of whoever recorded it.
    pub time_ns: u64,
    /// Its line in the notation; long bytes are cut short.
    pub line: String,
    /// PSN, counted from the start of the connection.
    pub psn: i32,
    /// True when it asks for an acknowledgement.
    pub ack: bool,
    /// Every field, in the order of the codec's table. Empty where the frame cannot be taken apart.
    #[serde(skip)]
    pub values: Vec<Value>,
}

/// A field of a packet in normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Name of the field.
    pub name: &'static str,
    /// Its value, as the notation writes it.
    pub text: String,
    /// True when it is what every such packet on this path has: the line leaves it out.
    pub ordinary: bool,
}

impl Value {
    /// True when both sides say the same. Values that are ordinary, each on its own path, are the same thing.
    pub fn agrees(&self, other: &Value) -> bool {
        self.ordinary == other.ordinary && (self.ordinary || self.text == other.text)
    }

    /// A word of a line, where it names a field: `msn=1`, `ack`, `64B`.
    fn read(word: &str) -> Option<Value> {
        let is_payload = word.starts_with(|first: char| first.is_ascii_digit());
        let (name, text) = match word.split_once('=') {
            _ if is_payload => ("data", word),
            Some((name, text)) => (name, text),
            None => (word, "1"),
        };
        let field = Field::named(name)?;
        Some(Value { name: field.name, text: text.to_owned(), ordinary: false })
    }
}

impl Packet {
    /// The normal form of a packet. `scope` says what is ordinary on its path; what senders choose freely is not looked at,
    /// see `free`.
    pub fn of(packet: &Roce<'_>, scope: &Scope<'_>, time: Time) -> Packet {
        let mut scope = Scope { base: scope.base.clone(), regions: scope.regions };
        free(&mut scope.base, packet);
        let value = |said: notation::Said<'_>| Value {
            name: said.field.name,
            text: said.value.to_string(),
            ordinary: said.ordinary,
        };
        Packet {
            time_ns: time.nanos(),
            line: notation::print(packet, &scope).elided().to_string(),
            psn: packet.bth.psn.since(scope.base.bth.psn),
            ack: packet.bth.ack_req,
            values: notation::fields(packet, &scope).map(value).collect(),
        }
    }

    /// A line of the notation as [`Packet::of`] writes it. What it leaves out is ordinary, so two lines of the same path
    /// agree when they say the same. A line that is no packet stands for itself, without fields.
    pub(crate) fn read(line: &str, time: Time) -> Packet {
        let mut packet = Packet::other(line, time);
        let is_head = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if !packet.head().chars().all(is_head) {
            return packet;
        }
        let values: Option<Vec<Value>> = line.split(' ').skip(1).map(Value::read).collect();
        packet.values = values.unwrap_or_default();
        let said = |name| packet.value(name).map(|value| value.text.as_str());
        let ack = said("ack").is_some_and(|ack| ack != "0");
        let psn = said("psn").and_then(|psn| psn.parse().ok()).unwrap_or(i32::MIN);
        Packet { ack, psn, ..packet }
    }

    /// A frame that cannot be taken apart.
    pub fn undecodable(error: &DecodeError, time: Time) -> Packet {
        Packet::other(&format!("cannot be decoded: {error}"), time)
    }

    /// What is no RoCE packet, by its line alone. It has no place in the sequence.
    pub fn other(line: &str, time: Time) -> Packet {
        Packet { time_ns: time.nanos(), line: line.to_owned(), psn: i32::MIN, ack: false, values: Vec::new() }
    }

    /// The first word of its line: which packet it is.
    pub fn head(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// A field by name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.name == name)
    }

    /// True when both have the same fields with the same values.
    pub fn agrees(&self, other: &Packet) -> bool {
        let same = |(one, other): (&Value, &Value)| one.name == other.name && one.agrees(other);
        self.head() == other.head()
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(same)
            && (!self.values.is_empty() || self.line == other.line)
    }
}

/// Makes ordinary what every sender chooses for itself, and may choose anew for each packet: the identification of an IPv4
/// header and the flow label of an IPv6 header.
pub(crate) fn free(base: &mut Roce<'_>, packet: &Roce<'_>) {
    match (&mut base.net, packet.net) {
        (Net::V4(base), Net::V4(seen)) => base.id = seen.id,
        (Net::V6(base), Net::V6(seen)) | (Net::Grh(base), Net::Grh(seen)) => base.flow_label = seen.flow_label,
        _ => {}
    }
}
