//! Any bytes in any pieces: the lines are those of the whole, and each is a request or has an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_control::{LineReader, Request, Response};

/// The lines of what comes in these pieces.
fn lines<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<Vec<u8>> {
    let (mut reader, mut lines) = (LineReader::default(), Vec::new());
    for piece in pieces {
        reader.push(piece);
        lines.extend(std::iter::from_fn(|| reader.next_line()).map(|line| line.expect("shorter than the limit")));
    }
    lines
}

fuzz_target!(|bytes: &[u8]| {
    // A NUL stands for the end of a piece.
    let pieces: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let whole = pieces.concat();
    let lines = lines(pieces);
    assert_eq!(lines, self::lines([&whole[..]]));
    for line in lines {
        match Request::parse(&line) {
            Ok(request) => {
                let again = serde_json::to_vec(&request).unwrap();
                assert_eq!(Request::parse(&again), Ok(request), "{}", String::from_utf8_lossy(&again));
            }
            Err(bad) => {
                let answer: Response = bad.into();
                let text = serde_json::to_string(&answer).unwrap();
                assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), answer);
            }
        }
    }
});
