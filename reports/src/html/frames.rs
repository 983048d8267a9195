//! The frames of a page with their fields, packed: a script lays out the one that a reader asks for.
//!
//! Frames look alike, so field names stand once for each layout and the whole is compressed; pages stay small enough to
//! mail. The script that unpacks it is `templates/bytes.js`.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use super::{Dissect, Dissection, Part};
use crate::outcome::Bytes;

/// Most bytes of one part that are kept: a payload is seldom read to its end, and the capture file has all of it.
const LONGEST: usize = 64;

/// The frames of a page.
#[derive(Debug, Default, Serialize)]
pub(super) struct Frames {
    layouts: Vec<Layout>,
    frames: Vec<Frame>,
}

/// Parts one after the other: name of the layer, number of bytes, names of the fields.
type Layout = Vec<(String, usize, Vec<String>)>;

/// A frame: name on the page, index of its layout, the first [`LONGEST`] bytes of each part, the values of the fields, what
/// is wrong with it.
#[derive(Debug, Serialize)]
struct Frame(String, usize, Bytes, Vec<String>, Vec<String>);

impl Frames {
    /// Takes a frame in under the name that its link leads to.
    pub(super) fn add(&mut self, name: String, bytes: &[u8], dissect: Dissect<'_>) {
        let Dissection { parts, wrong } = dissect(bytes);
        let parts = whole(parts, bytes.len());
        let names = |part: &Part| part.fields.iter().map(|(name, _)| name.clone()).collect();
        let layout: Layout = parts.iter().map(|part| (part.layer.clone(), part.bytes.len(), names(part))).collect();
        let index = self.layouts.iter().position(|known| *known == layout).unwrap_or(self.layouts.len());
        if index == self.layouts.len() {
            self.layouts.push(layout);
        }
        let shown =
            parts.iter().filter_map(|part| bytes.get(part.bytes.clone())).flat_map(|part| part.iter().take(LONGEST));
        let shown = Bytes(shown.copied().collect());
        let values = parts.into_iter().flat_map(|part| part.fields).map(|(_, value)| value).collect();
        self.frames.push(Frame(name, index, shown, values, wrong));
    }

    /// All of them as raw DEFLATE of JSON, in base64; empty when there is none.
    pub(super) fn packed(&self) -> io::Result<String> {
        if self.frames.is_empty() {
            return Ok(String::new());
        }
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut packer, self)?;
        packer.flush()?;
        Ok(STANDARD.encode(packer.finish()?))
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::ops::Range;

    use serde_json::{Value, json};

    use super::*;

    fn part(bytes: Range<usize>, layer: &str, value: &str) -> Part {
        Part { bytes, layer: layer.into(), fields: vec![("f".into(), value.into())] }
    }

    fn unpacked(frames: &Frames) -> Value {
        let bytes = STANDARD.decode(frames.packed().unwrap()).unwrap();
        let mut text = String::new();
        flate2::read::DeflateDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_layout_stands_once_and_every_value_with_its_frame() {
        let mut frames = Frames::default();
        for (name, value) in [("1.1", "a"), ("1.2", "b")] {
            let dissect = |_: &[u8]| Dissection { parts: vec![part(0..2, "A", value)], wrong: vec!["bad".into()] };
            frames.add(name.into(), &[1, 2, 3], &dissect);
        }
        let told = json!({
            "layouts": [[["A", 2, ["f"]], ["not decoded", 1, []]]],
            "frames": [["1.1", 0, "010203", ["a"], ["bad"]], ["1.2", 0, "010203", ["b"], ["bad"]]],
        });
        assert_eq!(unpacked(&frames), told);
        assert_eq!(Frames::default().packed().unwrap(), "");
    }

    #[test]
    fn of_a_long_part_the_beginning_is_kept_and_its_length() {
        let mut frames = Frames::default();
        let parts = vec![part(0..900, "payload", ""), part(900..904, "ICRC", "")];
        let bytes: Vec<u8> = (0..904u16).map(|n| (n % 251) as u8).collect();
        frames.add("1.1".into(), &bytes, &|_| Dissection { parts: parts.clone(), wrong: Vec::new() });
        let kept: Vec<u8> = bytes[..64].iter().chain(&bytes[900..]).copied().collect();
        assert_eq!(unpacked(&frames)["frames"][0][2], Bytes(kept).to_string());
        assert_eq!(unpacked(&frames)["layouts"][0][0][1], 900);
    }

    #[test]
    fn a_dissection_that_is_wrong_harms_nobody() {
        for wrong in
            [vec![part(3..9, "A", "")], vec![part(0..9, "A", "")], vec![part(0..2, "A", ""), part(1..3, "B", "")]]
        {
            let mut frames = Frames::default();
            frames.add("1.1".into(), &[1, 2, 3, 4], &|_| Dissection { parts: wrong.clone(), wrong: Vec::new() });
            assert_eq!(unpacked(&frames)["frames"][0][2], "01020304");
        }
    }
}
