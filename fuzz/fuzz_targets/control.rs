//! Any bytes in any pieces: the lines are those of the whole, and each is a request or has an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_control::{LineReader, Request, Response};

fuzz_target!(|pieces: Vec<&[u8]>| {
    let (mut reader, mut lines) = (LineReader::default(), Vec::new());
    for piece in &pieces {
        reader.push(piece);
        lines.extend(std::iter::from_fn(|| reader.next_line()));
    }
    let mut whole = LineReader::default();
    whole.push(&pieces.concat());
    assert_eq!(lines, std::iter::from_fn(|| whole.next_line()).collect::<Vec<_>>());
    for line in lines.iter().flatten() {
        match Request::parse(line) {
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
