//! The input, and how far in it we are.

use std::io::{BufReader, Read};

use super::CaptureError;

#[derive(Debug)]
pub(super) struct Source<R> {
    input: BufReader<R>,
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(64 << 10, input), offset: 0 }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends up to `n` bytes to `into` and says how many came; fewer come only at the end of the input.
    /// Memory grows with the bytes that are there, not with `n`: a length field cannot lie us out of it.
    pub(super) fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, CaptureError> {
        let before = into.len();
        let result = self.input.by_ref().take(n as u64).read_to_end(into);
        let got = into.len() - before;
        self.offset += got as u64;
        match result {
            Ok(_) => Ok(got),
            Err(error) => Err(CaptureError::io(self.offset, &error)),
        }
    }
}
