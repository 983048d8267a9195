//! Compressed captures: gzip and zstd, told by their first bytes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The bytes of a file, unpacked where it is packed. Memory is bounded by the window of the packer, at most 128 MiB.
///
/// # Errors
/// When the first bytes cannot be read, or are those of a packed file that cannot be unpacked.
pub fn unpack(input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    // Smaller than the pieces that a capture is read in: a file that is not packed is read past this buffer.
    let mut input = BufReader::with_capacity(64 << 10, input);
    let head = input.fill_buf()?;
    if head.starts_with(&GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(input)));
    }
    if head.starts_with(&ZSTD) || is_skippable(head) {
        return Ok(Box::new(Zstd { decoder: frame(input)? }));
    }
    Ok(Box::new(input))
}

/// A zstd file: frames, one behind the other.
struct Zstd<R: Read> {
    /// `None` at the end of the file.
    decoder: Option<StreamingDecoder<R, FrameDecoder>>,
}

/// Begins the next frame. Frames that hold something else than data are passed over; `None` at the end of the file.
fn frame<R: BufRead>(mut input: R) -> io::Result<Option<StreamingDecoder<R, FrameDecoder>>> {
    loop {
        let mut head = [0; 8];
        match input.fill_buf()? {
            [] => return Ok(None),
            bytes if !is_skippable(bytes) => break,
            _ => input.read_exact(&mut head)?,
        }
        let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        if io::copy(&mut input.by_ref().take(length), &mut io::sink())? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    StreamingDecoder::new(input).map(Some).map_err(|error| broken(&error))
}

/// A zstd frame that decoders pass over: one of sixteen magic numbers.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The decoder has one kind of error for all that can be wrong with its input.
fn broken(error: &dyn std::error::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not to be unpacked as zstd: {error}"))
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buffer).map_err(|error| broken(&error))?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(decoder) = self.decoder.take() else { break };
            self.decoder = frame(decoder.into_inner())?;
        }
        Ok(0)
    }
}
