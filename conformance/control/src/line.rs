//! Lines out of a byte stream that may hold anything.

/// Longest line accepted, in bytes, without the newline. Memory of 1 MiB in hex fits with its wrapping.
pub const MAX_LINE: usize = 4 << 20;

/// Cuts a byte stream into lines without ever holding more than [`MAX_LINE`] bytes.
///
/// Push what was read, then take lines until `None`. A line that is too long is reported once and skipped to its end;
/// lines before and after it are not lost.
#[derive(Debug, Default)]
pub struct LineReader {
    buffer: Vec<u8>,
    /// Where the first line not given out begins.
    start: usize,
    /// Where the unfinished last line begins: behind the last newline.
    unfinished: usize,
    skipping: bool,
    pending_error: bool,
}

/// A line that cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// More than [`MAX_LINE`] bytes without a newline.
    #[error("a line is longer than {MAX_LINE} bytes; it is skipped")]
    TooLong,
}

impl LineReader {
    /// Takes bytes in. Past the limit they are dropped, not kept.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.forget_what_was_given_out();
        while !bytes.is_empty() {
            let newline = bytes.iter().position(|&b| b == b'\n');
            let piece = newline.map_or(bytes.len(), |end| end + 1);
            if self.skipping {
                self.skipping = newline.is_none();
            } else if self.buffer.len() - self.unfinished + newline.unwrap_or(bytes.len()) > MAX_LINE {
                self.buffer.truncate(self.unfinished);
                self.pending_error = true;
                self.skipping = newline.is_none();
            } else {
                self.buffer.extend_from_slice(&bytes[..piece]);
                if newline.is_some() {
                    self.unfinished = self.buffer.len();
                }
            }
            bytes = &bytes[piece..];
        }
    }

    /// The next whole line, without its newline (and carriage return).
    pub fn next_line(&mut self) -> Option<Result<Vec<u8>, LineError>> {
        if self.start < self.unfinished {
            let whole = &self.buffer[self.start..self.unfinished];
            let end = whole.iter().position(|&b| b == b'\n').unwrap_or(whole.len() - 1);
            let line = whole[..end].strip_suffix(b"\r").unwrap_or(&whole[..end]).to_vec();
            self.start += end + 1;
            return Some(Ok(line));
        }
        std::mem::take(&mut self.pending_error).then_some(Err(LineError::TooLong))
    }

    fn forget_what_was_given_out(&mut self) {
        self.buffer.drain(..self.start);
        self.unfinished -= self.start;
        self.start = 0;
        // One line of 4 MiB must not hold its memory for the rest of a session of short ones.
        if self.buffer.len() < 64 << 10 {
            self.buffer.shrink_to(64 << 10);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(reader: &mut LineReader) -> Vec<Result<Vec<u8>, LineError>> {
        std::iter::from_fn(|| reader.next_line()).collect()
    }

    #[test]
    fn half_a_line_waits_for_its_other_half() {
        let mut reader = LineReader::default();
        reader.push(b"one\r\ntw");
        assert_eq!(lines(&mut reader), [Ok(b"one".to_vec())]);
        reader.push(b"o\n");
        assert_eq!(lines(&mut reader), [Ok(b"two".to_vec())]);
    }

    #[test]
    fn a_line_without_end_is_reported_once_and_never_kept() {
        let mut reader = LineReader::default();
        reader.push(b"before\n");
        for _ in 0..100 {
            reader.push(&[b'x'; 1 << 20]);
            assert!(reader.buffer.len() <= MAX_LINE + 7);
        }
        reader.push(b"\nafter\n");
        let seen = lines(&mut reader);
        assert!(seen.contains(&Ok(b"before".to_vec())) && seen.contains(&Ok(b"after".to_vec())));
        assert_eq!(seen.iter().filter(|line| line.is_err()).count(), 1);
    }

    #[test]
    fn the_limit_itself_is_a_line_and_one_byte_more_is_not() {
        let mut reader = LineReader::default();
        reader.push(&vec![b'x'; MAX_LINE]);
        reader.push(b"\n");
        assert_eq!(reader.next_line().unwrap().unwrap().len(), MAX_LINE);
        reader.push(&vec![b'x'; MAX_LINE + 1]);
        assert_eq!(reader.next_line(), Some(Err(LineError::TooLong)));
        reader.push(b"tail of it\nnext\n");
        assert_eq!(lines(&mut reader), [Ok(b"next".to_vec())]);
    }

    #[test]
    fn a_line_that_comes_byte_by_byte_costs_one_look_at_each_byte() {
        let mut reader = LineReader::default();
        for _ in 0..MAX_LINE {
            reader.push(b"x");
        }
        reader.push(b"\n");
        assert_eq!(reader.next_line().unwrap().unwrap().len(), MAX_LINE);
    }
}
