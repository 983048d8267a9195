//! Any bytes: what decodes encodes to the same bytes, and so does its line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::decode;
use rocespec_codec::notation::{Scope, parse, print_frame};

fuzz_target!(|bytes: &[u8]| {
    let Ok(frame) = decode(bytes) else { return };
    let mut out = vec![0; frame.encoded_len()];
    assert_eq!(frame.encode(&mut out).unwrap(), bytes);
    let scope = Scope::default();
    let line = print_frame(&frame, &scope).to_string();
    let (mut buffer, mut out) = (vec![0; bytes.len()], vec![0; bytes.len()]);
    let read = parse(&line, &scope, &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(read.encode(&mut out).unwrap(), bytes, "{line}");
});
