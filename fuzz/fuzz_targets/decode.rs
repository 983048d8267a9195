//! Any bytes: decoding must not panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|_data: &[u8]| {});
