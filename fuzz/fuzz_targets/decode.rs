//! Any bytes: what decodes encodes to the same bytes, and so does its line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::notation::{Scope, parse, print_frame};
use rocespec_codec::{Frame, decode, encode, encoded_len};

fuzz_target!(|bytes: &[u8]| {
    let Ok(frame) = decode(bytes) else { return };
    if let Frame::Roce(packet) = &frame {
        let mut out = vec![0; encoded_len(packet)];
        assert_eq!(encode(packet, &mut out).unwrap(), bytes);
    }
    let scope = Scope::default();
    let line = print_frame(&frame, &scope).to_string();
    let (mut buffer, mut out) = (vec![0; bytes.len()], vec![0; bytes.len()]);
    let read = parse(&line, &scope, &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(read.encode(&mut out).unwrap(), bytes, "{line}");
});
