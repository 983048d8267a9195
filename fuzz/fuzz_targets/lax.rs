//! Any bytes, cut anywhere: lax decoding takes them, and agrees with strict decoding where that succeeds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::{Frame, decode, decode_lax};

fuzz_target!(|input: (u16, &[u8])| {
    let (missing, bytes) = input;
    let lax = decode_lax(bytes, bytes.len());
    assert_eq!(lax.cut, None, "nothing is missing");
    match decode(bytes) {
        Ok(Frame::Roce(packet)) => {
            assert_eq!(lax.packet(), Some(packet));
            assert!(lax.problems.is_empty());
        }
        Ok(_) => {}
        Err(error) => assert_eq!(lax.problems.first(), Some(&error)),
    }
    let _ = decode_lax(bytes, bytes.len() + usize::from(missing)).packet();
});
