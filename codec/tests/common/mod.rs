//! What several tests need.
#![allow(dead_code, unreachable_pub)]

pub mod spec;

use rocespec_codec::notation::{Line, Scope, parse};
use rocespec_codec::{Frame, Roce, decode, encode, encoded_len};
use serde_json::Value;

/// Frames with their ICRC, see the file.
pub const ICRC: &str = include_str!("../../../fixtures/vectors/icrc.json");

/// A frame of `fixtures/vectors/icrc.json`.
pub struct Vector {
    pub name: String,
    pub frame: Vec<u8>,
    pub crc_input: Vec<u8>,
    pub icrc: [u8; 4],
}

pub fn vectors() -> Vec<Vector> {
    let file: Value = serde_json::from_str(ICRC).unwrap();
    let text = |vector: &Value, key: &str| vector[key].as_str().unwrap().to_owned();
    let list = file["vectors"].as_array().unwrap().iter();
    list.map(|vector| Vector {
        name: text(vector, "name"),
        frame: unhex(&text(vector, "frame")),
        crc_input: unhex(&text(vector, "crc_input")),
        icrc: unhex(&text(vector, "icrc")).try_into().unwrap(),
    })
    .collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

pub fn encoded(packet: &Roce<'_>) -> Vec<u8> {
    let mut buffer = vec![0; encoded_len(packet)];
    encode(packet, &mut buffer).unwrap();
    buffer
}

pub fn roce(frame: &[u8]) -> Roce<'_> {
    match decode(frame).unwrap() {
        Frame::Roce(packet) => packet,
        other => panic!("not RoCE: {other:?}"),
    }
}

/// Reads a line that has to be a packet.
pub fn packet<'b>(line: &str, scope: &Scope<'_>, buffer: &'b mut [u8]) -> Roce<'b> {
    match parse(line, scope, buffer) {
        Ok(Line::Roce(packet)) => packet,
        other => panic!("{line}: {other:?}"),
    }
}
