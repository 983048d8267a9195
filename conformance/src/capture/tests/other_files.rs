use super::*;

#[test]
fn a_file_that_is_no_capture_is_called_what_it_is() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"\x0a\x0d", "neither"),
        (b"\x1f\x8b\x08\x00\x00", "packed twice"),
        (b"\x28\xb5\x2f\xfd", "packed twice"),
        (b"snoop\0\0\0", "snoop"),
        (b"PK\x03\x04", "neither"),
    ] {
        let error = read(bytes).1.unwrap();
        assert!(error.what.contains(word), "{error}");
        assert_eq!(error.offset, 0);
        assert!(!error.hint.is_empty());
    }
}

/// A pipe that gives a byte at a time and breaks.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else { return Err(io::Error::other("the pipe broke")) };
        buffer[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn a_pipe_that_breaks_is_an_error_after_the_frames() {
    let (file, _) = written();
    let items: Vec<_> = Reader::new(Trickle(&file)).collect();
    assert_eq!(items.len(), 7);
    let error = items[6].as_ref().unwrap_err();
    assert_eq!(error.offset, file.len() as u64);
    assert!(error.what.contains("the pipe broke"), "{error}");
}
