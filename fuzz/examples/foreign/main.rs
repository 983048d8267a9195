//! How to fuzz a parser of RoCE packets that is not ours: its entry point, our mutator, and something to hold it against.
//!
//! ```text
//! rocespec corpus seeds
//! cargo +nightly fuzz run foreign seeds/frames -- -dict=seeds/roce.dict
//! ```
#![no_main]

mod parser;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rocespec_codec::arbitrary::mutate;
use rocespec_codec::{Frame, Info, Net, decode};

fuzz_target!(|frame: &[u8]| {
    let theirs = parser::parse(frame);
    // A parser that does not crash may still read wrongly. This one knows untagged RoCE v2 over IPv4 without options.
    let Ok(Frame::Roce(ours)) = decode(frame) else { return };
    if matches!(ours.net, Net::V4(ip) if ip.ihl == 5) && ours.eth.tags.is_empty() {
        let theirs = theirs.expect("a packet that decodes");
        assert_eq!(theirs.opcode, ours.bth.opcode.0);
        assert_eq!(theirs.dest_qp, ours.bth.dest_qp.get());
        assert_eq!(theirs.psn, ours.bth.psn.get());
        assert_eq!(theirs.body.len(), ours.bth.opcode.info().map_or(0, Info::headers_len) + ours.payload.len());
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Now and then libFuzzer's own mutations, which know the dictionary.
    if seed.is_multiple_of(8) { fuzzer_mutate(data, size, max_size) } else { mutate(data, size, max_size, seed) }
});
