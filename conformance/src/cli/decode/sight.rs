//! One frame of a capture: what it is, and what is wrong with it.

use rocespec_codec::field::{FIELDS, Kind, Ordinary, Value};
use rocespec_codec::{DecodeError, ErrorKind, Frame, LengthSource, Opcode, Roce, decode, icrc};

use crate::capture::{CapturedFrame, LINKTYPE_ETHERNET};

/// What is seen of a captured frame.
pub(super) struct Sight<'a> {
    pub(super) captured: &'a CapturedFrame,
    pub(super) what: What<'a>,
    /// What is wrong with it, in words.
    pub(super) wrong: Vec<String>,
    /// The capture holds only its beginning.
    pub(super) is_cut: bool,
}

/// What a captured frame is.
pub(super) enum What<'a> {
    Roce(Roce<'a>),
    /// Not RoCE. `None`: not even Ethernet.
    Other(Option<Frame<'a>>),
    /// It ends too early, or its lengths lie.
    Unreadable,
}

impl<'a> Sight<'a> {
    pub(super) fn of(captured: &'a CapturedFrame) -> Sight<'a> {
        let is_cut = captured.data.len() < captured.original_len as usize;
        let sight = |what, wrong| Sight { captured, what, wrong, is_cut };
        if captured.linktype != LINKTYPE_ETHERNET {
            return sight(What::Other(None), Vec::new());
        }
        match decode(&captured.data) {
            Ok(Frame::Roce(packet)) => {
                let wrong = wrong_fields(&packet);
                sight(What::Roce(packet), wrong)
            }
            Ok(other) => sight(What::Other(Some(other)), Vec::new()),
            Err(error) if is_cut && is_shortage(error) => sight(What::Unreadable, Vec::new()),
            Err(error) => sight(What::Unreadable, vec![error.to_string()]),
        }
    }

    /// The packet, where there is one.
    pub(super) fn packet(&self) -> Option<&Roce<'a>> {
        if let What::Roce(packet) = &self.what { Some(packet) } else { None }
    }
}

/// True when the bytes that the capture left out can be what is missing.
fn is_shortage(error: DecodeError) -> bool {
    match error.kind {
        ErrorKind::TooShort { limit, .. } => limit == LengthSource::Frame,
        ErrorKind::TooLong { field, .. } => field != LengthSource::UdpLength,
        _ => false,
    }
}

/// Derived fields that do not hold what belongs there.
fn wrong_fields(packet: &Roce<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for field in FIELDS {
        let Ordinary::Derived(right) = field.ordinary else { continue };
        // `len` is that of the message, not of the packet; and whatever pads a frame is right.
        if matches!(field.name, "len" | "trailer" | "pad.data" | "icrc") {
            continue;
        }
        if let Some(value) = (field.get)(packet)
            && value != right(packet)
        {
            wrong.push(format!("{} should be {}", field.name, plain(field.kind, right(packet))));
        }
    }
    let right = icrc::compute(packet);
    if packet.icrc != right {
        wrong.push(format!("ICRC {:#010x} should be {right:#010x}", packet.icrc));
    }
    wrong
}

/// A value of a field as it stands alone.
pub(super) fn plain(kind: Kind, value: Value<'_>) -> String {
    match (kind, value) {
        (Kind::Hex(_) | Kind::Va | Kind::RKey | Kind::Qpn, Value::Uint(number)) => format!("{number:#x}"),
        (Kind::Psn, Value::Uint(number)) => format!("{number:#08x}"),
        (_, Value::Uint(number)) => number.to_string(),
        (_, Value::Mac(mac)) => mac.to_string(),
        (_, Value::V4(address)) => address.to_string(),
        (_, Value::V6(address)) => address.to_string(),
        (_, Value::Bytes(bytes)) => hex(bytes),
    }
}

/// Bytes as pairs of hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The name of an opcode with its transport in front; a number where it has none.
pub(super) fn opcode_name(opcode: Opcode) -> String {
    opcode.info().map_or_else(|| format!("OP_{:#04x}", opcode.0), |info| info.name.to_owned())
}
