//! The bytes of a frame, sixteen to a row, each with the field that it belongs to.

use std::fmt::Write as _;
use std::ops::Range;

use super::{Dissect, Dissection, Part};

/// Bytes in a row.
const ROW: usize = 16;
/// Most bytes of one part that are shown: a payload is seldom read to its end, and the capture file has all of it.
const LONGEST: usize = 64;

/// A frame laid out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hex {
    pub(crate) rows: Vec<Row>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) length: usize,
    pub(crate) wrong: Vec<String>,
}

/// Some bytes side by side.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it begins in the frame.
    pub(crate) at: usize,
    pub(crate) runs: Vec<Run>,
    /// Bytes left out behind it.
    pub(crate) left_out: usize,
}

/// Bytes of one part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index of the part.
    pub(crate) part: usize,
    pub(crate) digits: String,
}

/// Parts one after the other that belong to one layer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) parts: Vec<Place>,
}

/// A part and where it lies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the part.
    pub(crate) part: usize,
    pub(crate) fields: Vec<(String, String)>,
    /// First and last byte: `42` or `42–45`.
    pub(crate) bytes: String,
}

impl Hex {
    /// Lays a frame out. Bytes that `dissect` knows nothing of are one part.
    pub(crate) fn of(bytes: &[u8], dissect: Dissect<'_>) -> Hex {
        let Dissection { parts, wrong } = dissect(bytes);
        let parts = whole(parts, bytes.len());
        Hex { rows: rows(bytes, &parts), layers: layers(&parts), length: bytes.len(), wrong }
    }
}

/// The parts without what lies outside of the frame or goes back, and one more for the bytes behind them.
fn whole(parts: Vec<Part>, length: usize) -> Vec<Part> {
    let mut end = 0;
    let mut whole: Vec<Part> = Vec::with_capacity(parts.len() + 1);
    for part in parts {
        if part.bytes.start == end && part.bytes.end > end && part.bytes.end <= length {
            end = part.bytes.end;
            whole.push(part);
        }
    }
    if end < length {
        whole.push(Part { bytes: end..length, layer: "not decoded".to_owned(), fields: Vec::new() });
    }
    whole
}

fn rows(bytes: &[u8], parts: &[Part]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut used = ROW;
    for (index, part) in parts.iter().enumerate() {
        let shown = part.bytes.start..part.bytes.end.min(part.bytes.start + LONGEST);
        let mut at = shown.start;
        while at < shown.end {
            if used == ROW {
                rows.push(Row { at, runs: Vec::new(), left_out: 0 });
                used = 0;
            }
            let run = at..shown.end.min(at + ROW - used);
            used += run.len();
            at = run.end;
            let digits = digits(&bytes[run]);
            if let Some(row) = rows.last_mut() {
                row.runs.push(Run { part: index, digits });
            }
        }
        if let Some(row) = rows.last_mut().filter(|_| part.bytes.end > shown.end) {
            row.left_out = part.bytes.end - shown.end;
            used = ROW;
        }
    }
    rows
}

fn digits(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 3);
    for (index, byte) in bytes.iter().enumerate() {
        let _ = write!(out, "{}{byte:02x}", if index > 0 { " " } else { "" });
    }
    out
}

fn layers(parts: &[Part]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if layers.last().is_none_or(|layer| layer.name != part.layer) {
            layers.push(Layer { name: part.layer.clone(), parts: Vec::new() });
        }
        let place = Place { part: index, fields: part.fields.clone(), bytes: place(&part.bytes) };
        if let Some(layer) = layers.last_mut() {
            layer.parts.push(place);
        }
    }
    layers
}

fn place(bytes: &Range<usize>) -> String {
    match bytes.len() {
        1 => bytes.start.to_string(),
        _ => format!("{}–{}", bytes.start, bytes.end.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: Range<usize>, layer: &str) -> Part {
        Part { bytes, layer: layer.into(), fields: vec![("f".into(), "1".into())] }
    }

    fn of(bytes: &[u8], parts: Vec<Part>) -> Hex {
        Hex::of(bytes, &|_| Dissection { parts: parts.clone(), wrong: Vec::new() })
    }

    fn text(hex: &Hex) -> String {
        let runs = hex.rows.iter().flat_map(|row| &row.runs);
        runs.map(|run| run.digits.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_byte_stands_in_the_part_that_it_belongs_to() {
        let bytes: Vec<u8> = (0..40).collect();
        let hex = of(&bytes, vec![part(0..6, "A"), part(6..14, "A"), part(14..20, "B")]);
        assert_eq!(text(&hex), digits(&bytes));
        assert_eq!(hex.rows[0].runs.iter().map(|run| run.part).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(hex.rows[1].runs.iter().map(|run| run.part).collect::<Vec<_>>(), [2, 3]);
        let names: Vec<&str> = hex.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["A", "B", "not decoded"]);
        assert_eq!(hex.layers[0].parts[1].bytes, "6–13");
    }

    #[test]
    fn of_a_long_part_the_beginning_is_shown_and_the_rest_is_counted() {
        let bytes = vec![7; 1000];
        let hex = of(&bytes, vec![part(0..900, "payload"), part(900..1000, "ICRC")]);
        assert_eq!(hex.rows.iter().map(|row| row.left_out).sum::<usize>(), 836 + 36);
        assert_eq!(hex.rows[4].at, 900);
        assert_eq!(text(&hex).split(' ').count(), 128);
    }

    #[test]
    fn a_dissection_that_is_wrong_harms_nobody() {
        for wrong in [vec![part(3..9, "A")], vec![part(0..9, "A")], vec![part(0..2, "A"), part(1..3, "B")]] {
            let hex = of(&[1, 2, 3, 4], wrong);
            assert_eq!(text(&hex), "01 02 03 04");
        }
        assert!(of(&[], Vec::new()).rows.is_empty());
    }
}
