//! What is wrong with a capture file.

use std::io;

/// A capture file could not be read, or not beyond a point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {offset}); {hint}")]
pub struct CaptureError {
    /// Where in the file, in bytes from its start: the beginning of the block or record that cannot be used.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
    /// What can be done about it, or what is likely to have happened.
    pub hint: &'static str,
}

impl CaptureError {
    pub(super) fn new(offset: u64, what: impl Into<String>, hint: &'static str) -> Self {
        Self { offset, what: what.into(), hint }
    }

    /// The file ends inside something that says how long it is.
    pub(super) fn truncated(offset: u64, thing: &str, wanted: usize, got: usize) -> Self {
        Self::new(
            offset,
            format!("the file ends inside {thing}: {got} of {wanted} bytes are there"),
            "the capture was cut off; everything before it is good",
        )
    }

    pub(super) fn io(offset: u64, error: &io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let hint = match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof => {
                "the packed file is damaged or cut off; the byte is counted in what was unpacked, everything before it is good"
            }
            _ => "this is a fault of the file system or pipe, not of the capture",
        };
        Self::new(offset, format!("cannot read on: {error}"), hint)
    }
}
