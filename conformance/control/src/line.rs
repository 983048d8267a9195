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
    /// Bytes of `buffer` already searched for a newline.
    searched: usize,
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
        while !bytes.is_empty() {
            if self.skipping {
                match bytes.iter().position(|&b| b == b'\n') {
                    Some(end) => {
                        self.skipping = false;
                        bytes = &bytes[end + 1..];
                    }
                    None => return,
                }
                continue;
            }
            // Only the unfinished last line counts against the limit.
            let unfinished = self.buffer.iter().rev().take_while(|&&b| b != b'\n').count();
            let newline = bytes.iter().position(|&b| b == b'\n');
            let piece = newline.map_or(bytes.len(), |end| end + 1);
            if unfinished + newline.unwrap_or(bytes.len()) > MAX_LINE {
                self.buffer.truncate(self.buffer.len() - unfinished);
                self.searched = self.searched.min(self.buffer.len());
                self.pending_error = true;
                self.skipping = newline.is_none();
            } else {
                self.buffer.extend_from_slice(&bytes[..piece]);
            }
            bytes = &bytes[piece..];
        }
    }

    /// The next whole line, without its newline (and carriage return).
    pub fn next_line(&mut self) -> Option<Result<Vec<u8>, LineError>> {
        if let Some(end) = self.buffer[self.searched..].iter().position(|&b| b == b'\n') {
            let end = self.searched + end;
            let rest = self.buffer.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            self.searched = 0;
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Some(Ok(line));
        }
        self.searched = self.buffer.len();
        std::mem::take(&mut self.pending_error).then_some(Err(LineError::TooLong))
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
}
