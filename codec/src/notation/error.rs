//! What can be wrong with a line.

use core::fmt;
use core::ops::Range;

use arrayvec::ArrayString;

use crate::field::Kind;

/// Why a line is not understood, and where. Displays as one sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotationError {
    /// The part of the line that is meant, in bytes.
    pub span: Range<usize>,
    /// What is wrong with it.
    pub kind: NotationErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotationErrorKind {
    /// Nothing is written.
    Empty,
    /// The first word is no packet.
    UnknownPacket {
        /// The word.
        word: Snippet,
        /// What was probably meant.
        near: Option<&'static str>,
    },
    /// A word is no field.
    UnknownField {
        /// The word.
        word: Snippet,
        /// What was probably meant.
        near: Option<&'static str>,
    },
    /// A name is no memory region.
    UnknownRegion {
        /// The name.
        word: Snippet,
        /// What was probably meant.
        near: Option<Snippet>,
    },
    /// The packet does not have the field.
    NotInPacket {
        /// The field.
        field: &'static str,
        /// The packet, as its first word.
        packet: Snippet,
    },
    /// The value is not one of the field.
    Value {
        /// The field.
        field: &'static str,
        /// What its values are.
        kind: Kind,
    },
    /// The syndrome says something else than the first word.
    Syndrome,
    /// The field is written without a value, and is no flag.
    NoValue {
        /// The field.
        field: &'static str,
    },
    /// The line does not say a field that it has to.
    Missing {
        /// The field.
        field: &'static str,
    },
    /// The field, or another one for the same bits, is already written.
    Twice {
        /// The field.
        field: &'static str,
    },
    /// The range ends before it begins.
    Backwards,
    /// There are no ranges of this field.
    NoRange {
        /// The field.
        field: &'static str,
    },
    /// A range, a `*` or a check sum stands in a packet that is to be sent.
    OnlyExpected,
    /// The payload is cut short for reading.
    Elided,
    /// The bytes are not pairs of hex digits.
    Hex,
    /// A frame that is no RoCE packet stands in an expectation.
    RawExpected,
    /// The buffer is too short for the bytes of the line.
    Buffer {
        /// Bytes that are left in it.
        available: usize,
    },
    /// The right value of a derived field does not fit in it.
    Overflow {
        /// The field.
        field: &'static str,
    },
}

/// The first bytes of a word, for an error message.
pub type Snippet = ArrayString<32>;

/// As much of `text` as a snippet holds.
pub(super) fn snippet(text: &str) -> Snippet {
    let mut snippet = Snippet::new();
    for c in text.chars() {
        if snippet.try_push(c).is_err() {
            break;
        }
    }
    snippet
}

/// A snippet of what displays.
pub(super) fn snippet_of(shown: impl fmt::Display) -> Snippet {
    let mut snippet = Snippet::new();
    // Too long is cut: there is no other error.
    let _ = fmt::Write::write_fmt(&mut snippet, format_args!("{shown}"));
    snippet
}

impl NotationErrorKind {
    pub(super) fn at(self, span: Range<usize>) -> NotationError {
        NotationError { span, kind: self }
    }
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.kind, f)
    }
}

impl fmt::Display for NotationErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use NotationErrorKind as Is;
        match self {
            Is::Empty => f.write_str("nothing is written here; begin with a packet such as `SEND_ONLY`"),
            Is::UnknownPacket { word, near } => {
                write!(f, "unknown packet `{word}`; ")?;
                meant(f, near.as_ref(), "begin with an opcode such as `SEND_ONLY`, `ACK` or `OP_0x15`, or with `raw`")
            }
            Is::UnknownField { word, near } => {
                write!(f, "unknown field `{word}`; ")?;
                meant(f, near.as_ref(), "write `name=value`, a flag such as `ack`, or a payload such as `64B`")
            }
            Is::UnknownRegion { word, near } => {
                write!(f, "unknown memory region `{word}`; ")?;
                meant(f, near.as_ref(), "register it first, or write a number")
            }
            Is::NotInPacket { field, packet } => {
                write!(f, "{packet} has no `{field}`; leave it out or choose another packet")
            }
            Is::Value { field, kind } => {
                write!(f, "`{field}` takes ")?;
                values(f, *kind)
            }
            Is::Syndrome => {
                f.write_str("the first word says another class of syndrome; begin with `ACKNOWLEDGE` instead")
            }
            Is::NoValue { field } => write!(f, "`{field}` is no flag; write `{field}=` and its value"),
            Is::Missing { field } => write!(f, "`{field}` has no ordinary value here; write `{field}=` and a value"),
            Is::Twice { field } => write!(f, "`{field}` is already said; write it once"),
            Is::Backwards => f.write_str("the range ends before it begins; write the smaller value first"),
            Is::NoRange { field } => write!(f, "`{field}` has no ranges; write one value, or `*` for any"),
            Is::OnlyExpected => f.write_str("this describes many packets; write the one value to send"),
            Is::Elided => {
                f.write_str("these bytes are cut short for reading; print the packet in full to send it again")
            }
            Is::Hex => f.write_str("bytes are pairs of hex digits; write `0a0b`, or `none` for no bytes"),
            Is::RawExpected => {
                f.write_str("this frame can be sent but not expected; write a RoCE packet and its fields")
            }
            Is::Buffer { available } => {
                write!(f, "the bytes of this line need a longer buffer; {available} bytes are left")
            }
            Is::Overflow { field } => {
                write!(
                    f,
                    "the right value of `{field}` does not fit in it; write less payload, or `{field}=` and a value"
                )
            }
        }
    }
}

fn meant(f: &mut fmt::Formatter<'_>, near: Option<&impl fmt::Display>, otherwise: &str) -> fmt::Result {
    match near {
        Some(near) => write!(f, "did you mean `{near}`?"),
        None => f.write_str(otherwise),
    }
}

fn values(f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
    f.write_str(match kind {
        Kind::Flag => "`1` or `0`; the bare name means 1",
        Kind::Decimal(bits) => return write!(f, "a number of at most {bits} bits, such as `1`"),
        Kind::Hex(bits) => return write!(f, "a number of at most {bits} bits, such as `0x1`"),
        Kind::Psn => {
            "a distance from the start of the connection, such as `3` or `-1`, or a number, such as `@0x123456`"
        }
        Kind::Qpn => "a number of at most 24 bits, such as `0x11`",
        Kind::RKey => "the name of a memory region, or a number of at most 32 bits, such as `0x1234`",
        Kind::Va => "a memory region and an offset, such as `mr+0x40`, or a number of at most 64 bits",
        Kind::RnrTimer => "a time of the RNR timer table, such as `0.64ms`, or a code, such as `#12`",
        Kind::NakCode => "the name of a NAK code, such as `psn_sequence_error`, or a number up to 31",
        Kind::Ecn => "`not-ect`, `ect1`, `ect0` or `ce`",
        Kind::Mac => "a MAC address, such as `02:00:00:00:00:01`",
        Kind::Address => "an address of the packet's IP version; `v4`, `v6` and `v1` choose it",
        Kind::Bytes => "pairs of hex digits, such as `0a0b`, or `none`",
        Kind::Payload => "pairs of hex digits, or `none`; `64B` and `64B=aa` stand alone",
    })
}

impl core::error::Error for NotationError {}
