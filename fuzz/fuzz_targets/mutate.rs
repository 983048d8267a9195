//! The mutator: it stays within its bounds, and what it makes decodes or fails without harm.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::arbitrary::mutate;
use rocespec_codec::decode;

fuzz_target!(|input: (u32, u16, &[u8])| {
    let (seed, room, frame) = input;
    let mut data = frame.to_vec();
    data.resize(frame.len() + usize::from(room % 512), 0xaa);
    let max = data.len();
    let size = mutate(&mut data, frame.len(), max, seed);
    assert!(size <= max);
    let _ = decode(&data[..size]);
});
