//! A packet with symbolic numbers, as two sides that speak of the same exchange both write it.

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
fn free(base: &mut Roce<'_>, packet: &Roce<'_>) {
    match (&mut base.net, packet.net) {
        (Net::V4(base), Net::V4(seen)) => base.id = seen.id,
        (Net::V6(base), Net::V6(seen)) | (Net::Grh(base), Net::Grh(seen)) => base.flow_label = seen.flow_label,
        _ => {}
    }
}
