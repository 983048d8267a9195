//! Any file, in pieces of any size: frames and then perhaps one error, never more bytes than the file has; and in batches
//! the same as frame by frame.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use rocespec::capture::{Batch, Batches, CaptureError, CapturedFrame, Reader};

/// Gives a few bytes at a time, as a pipe does.
struct Pieces<'f>(&'f [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

fn in_batches(file: &[u8]) -> (Vec<CapturedFrame>, Option<CaptureError>) {
    let (mut batches, mut batch) = (Batches::new(file), Batch::default());
    let mut frames = Vec::new();
    while let Some(filled) = batches.fill(&mut batch) {
        if let Err(error) = filled {
            assert!(batches.fill(&mut batch).is_none(), "nothing follows an error");
            return (frames, Some(error));
        }
        frames.extend(batch.iter().map(|frame| frame.to_captured()));
    }
    (frames, None)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, file) = input;
    let (mut frames, mut damage) = (Vec::new(), None);
    for (item, number) in Reader::new(Pieces(file, usize::from(piece) + 1)).zip(1..) {
        assert_eq!(damage, None, "nothing follows an error");
        match item {
            Ok(frame) => {
                assert_eq!(frame.number, number);
                frames.push(frame);
            }
            Err(error) => {
                assert!(error.offset <= file.len() as u64, "{error}");
                damage = Some(error);
            }
        }
    }
    assert!(frames.iter().map(|frame| frame.data.len()).sum::<usize>() <= file.len());
    assert_eq!(in_batches(file), (frames, damage), "neither pieces nor batches make a difference");
});
