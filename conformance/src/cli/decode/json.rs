//! An object per packet for programs.

use std::io::{self, Write};
use std::path::Path;

use rocespec_codec::field::{FIELDS, Kind, Value};
use rocespec_codec::notation::{Scope, print_frame};
use rocespec_codec::{Frame, Net, Roce};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Args;
use super::layout;
use super::mads;
use super::sight::{Sight, What, hex, opcode_name, plain};

/// Prints frames of one file.
pub(super) struct Printer<'a> {
    args: &'a Args,
    /// Named where there are several.
    file: Option<String>,
}

/// One line of the output; docs/decode.md describes it.
#[derive(serde::Serialize)]
struct Object<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'s str>,
    number: u64,
    time_ns: u64,
    interface: u32,
    frame_len: u32,
    captured_len: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    around: Vec<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    opcode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Fields<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_len: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mad: Option<mads::Datagram<'s>>,
    wrong: &'s [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
}

#[derive(serde::Serialize)]
struct Part {
    at: usize,
    len: usize,
    layer: &'static str,
    fields: &'static [&'static str],
}

impl<'a> Printer<'a> {
    pub(super) fn new(args: &'a Args, path: &Path) -> Self {
        Printer { args, file: (args.files.len() > 1).then(|| path.display().to_string()) }
    }

    pub(super) fn print(&self, sight: &Sight<'_>, out: &mut impl Write) -> io::Result<()> {
        let captured = sight.captured;
        let packet = sight.packet();
        let is_whole = matches!(sight.what, What::Roce { packet: _, .. });
        let has_headers = match &sight.what {
            What::Partial(partial) => partial.has_headers,
            _ => is_whole,
        };
        let scope = Scope::default();
        let line = |frame: &Frame<'_>| {
            let line = print_frame(frame, &scope).absolute();
            if self.args.payload { line.to_string() } else { line.elided().to_string() }
        };
        let parts = |packet| {
            let part = |part: layout::Part| Part {
                at: part.bytes.start,
                len: part.bytes.len(),
                layer: part.layer,
                fields: part.fields,
            };
            layout::parts(packet).into_iter().map(part).collect()
        };
        let object = Object {
            file: self.file.as_deref(),
            number: captured.number,
            time_ns: captured.time_ns,
            interface: captured.interface,
            frame_len: captured.original_len,
            captured_len: captured.data.len(),
            around: sight.carried.iter().flat_map(|carried| &carried.around).map(ToString::to_string).collect(),
            kind: kind(sight),
            opcode: packet.map(|packet| opcode_name(packet.bth.opcode)),
            line: match &sight.what {
                What::Roce { packet, .. } => Some(line(&Frame::Roce(packet.clone()))),
                What::Other(frame) => Some(line(frame)),
                What::InfiniBand(_) | What::Unknown | What::Partial(_) => None,
            },
            fields: packet.filter(|_| has_headers).map(|packet| Fields { packet, is_whole }),
            payload_len: match &sight.what {
                What::Roce { packet, .. } => Some(packet.payload.len()),
                What::Partial(partial) => partial.payload_len,
                What::Other(_) | What::InfiniBand(_) | What::Unknown => None,
            },
            payload: packet.filter(|_| has_headers && self.args.payload).map(|packet| hex(packet.payload)),
            mad: sight.mad().map(mads::Datagram),
            wrong: &sight.wrong,
            comment: captured.comment.as_deref(),
            bytes: self.args.bytes.then(|| hex(sight.bytes())),
            parts: packet.filter(|_| is_whole && self.args.bytes).map(parts),
        };
        serde_json::to_writer(&mut *out, &object)?;
        writeln!(out)
    }
}

fn kind(sight: &Sight<'_>) -> &'static str {
    match (&sight.what, sight.packet().map(|packet| &packet.net)) {
        (What::Other(_) | What::Unknown, _) => "other",
        (What::InfiniBand(_), _) => "infiniband",
        (_, Some(Net::V4(_))) => "rocev2-ipv4",
        (_, Some(Net::V6(_))) => "rocev2-ipv6",
        (_, Some(Net::Grh(_))) => "rocev1",
        (_, None) => "unreadable",
    }
}

/// Every field that the packet has, by its name in the notation.
struct Fields<'s> {
    packet: &'s Roce<'s>,
    /// Its end is there.
    is_whole: bool,
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in FIELDS {
            let Some(value) = (field.get)(self.packet) else { continue };
            let is_there = self.is_whole || !matches!(field.name, "pad.data" | "icrc" | "trailer");
            // The payload has a place of its own.
            if is_there && field.kind != Kind::Payload {
                entry(&mut map, field.name, field.kind, value)?;
            }
        }
        map.end()
    }
}

/// Adds a field to an object.
pub(super) fn entry<M: SerializeMap>(map: &mut M, name: &str, kind: Kind, value: Value<'_>) -> Result<(), M::Error> {
    match (kind, value) {
        (Kind::Flag, Value::Uint(bit)) => map.serialize_entry(name, &(bit == 1)),
        // Readers that take numbers for floating point lose what lies beyond 53 bits.
        (Kind::Hex(64) | Kind::Va, _) => map.serialize_entry(name, &plain(kind, value)),
        (_, Value::Uint(number)) => map.serialize_entry(name, &number),
        _ => map.serialize_entry(name, &plain(kind, value)),
    }
}
