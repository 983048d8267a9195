//! Frames on a byte stream, as QEMU's stream netdev has them: 4 bytes of length, big-endian, then the frame.

/// Longest frame that is sent.
pub(super) const MAX_SENT: usize = 65_535;

/// Longest frame that is taken: what QEMU itself accepts. A peer that announces more has lost the thread.
pub(super) const MAX_TAKEN: usize = 65_536 + 4_096;

const HEADER: usize = 4;

/// The peer does not speak this framing (any more).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the wire announces a frame of {length} bytes, and none has more than {MAX_TAKEN}: the peer lost the framing")]
pub(super) struct LostFraming {
    /// What it announced.
    pub(super) length: u32,
}

/// Cuts a byte stream into frames. Holds one frame and what was pushed behind it, no more.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    buffer: Vec<u8>,
    /// Where the first frame not given out begins.
    start: usize,
}

impl FrameReader {
    /// Takes bytes in, in any pieces. Take all frames out before the next push.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame. Frames of 0 bytes are passed over. After an error the stream is of no use.
    pub(super) fn next_frame(&mut self) -> Result<Option<&[u8]>, LostFraming> {
        loop {
            let rest = &self.buffer[self.start..];
            let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
            let announced = u32::from_be_bytes(*header);
            let length = announced as usize;
            if length > MAX_TAKEN {
                return Err(LostFraming { length: announced });
            }
            if rest.len() < length {
                return Ok(None);
            }
            let first = self.start + HEADER;
            self.start = first + length;
            if length > 0 {
                return Ok(Some(&self.buffer[first..first + length]));
            }
        }
    }
}

/// A frame as it goes over the stream.
pub(super) fn framed(frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + frame.len());
    bytes.extend_from_slice(&(frame.len() as u32).to_be_bytes());
    bytes.extend_from_slice(frame);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(reader: &mut FrameReader) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(frame) = reader.next_frame().unwrap() {
            all.push(frame.to_vec());
        }
        all
    }

    #[test]
    fn frames_come_whole_however_the_bytes_come() {
        let bytes = [framed(b"one"), framed(&[7; MAX_SENT]), framed(b"three")].concat();
        for piece in [1, 3, 4, 5, 4096, bytes.len()] {
            let mut reader = FrameReader::default();
            let mut seen = Vec::new();
            for bytes in bytes.chunks(piece) {
                reader.push(bytes);
                seen.extend(frames(&mut reader));
            }
            assert_eq!(seen, [b"one".to_vec(), vec![7; MAX_SENT], b"three".to_vec()], "in pieces of {piece}");
        }
    }

    #[test]
    fn empty_frames_are_passed_over() {
        let mut reader = FrameReader::default();
        reader.push(&[framed(b""), framed(b""), framed(b"x"), framed(b"")].concat());
        assert_eq!(frames(&mut reader), [b"x".to_vec()]);
    }

    #[test]
    fn a_length_beyond_reason_is_an_error_before_any_memory_is_taken() {
        let mut reader = FrameReader::default();
        reader.push(&[0xff; 8]);
        assert_eq!(reader.next_frame(), Err(LostFraming { length: u32::MAX }));
    }

    #[test]
    fn half_a_frame_is_none() {
        let mut reader = FrameReader::default();
        reader.push(&framed(b"frame")[..8]);
        assert_eq!(reader.next_frame(), Ok(None));
        reader.push(b"e");
        assert_eq!(reader.next_frame(), Ok(Some(&b"frame"[..])));
    }
}
