//! Any file, in pieces of any size: frames and then perhaps one error, never more bytes than the file has.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use rocespec::capture::Reader;

/// Gives a few bytes at a time, as a pipe does.
struct Pieces<'f>(&'f [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, file) = input;
    let (mut bytes, mut ended) = (0, false);
    for (item, number) in Reader::new(Pieces(file, usize::from(piece) + 1)).zip(1..) {
        assert!(!ended, "nothing follows an error");
        match item {
            Ok(frame) => {
                assert_eq!(frame.number, number);
                bytes += frame.data.len();
            }
            Err(error) => {
                assert!(error.offset <= file.len() as u64, "{error}");
                ended = true;
            }
        }
    }
    assert!(bytes <= file.len());
    let whole = Reader::new(file).filter_map(Result::ok).map(|frame| frame.data.len()).sum::<usize>();
    assert_eq!(whole, bytes, "the size of the pieces makes no difference");
});
