//! One frame of a capture: what it is, and what is wrong with it.

use std::sync::LazyLock;

use rocespec_codec::field::{FIELDS, Field, Kind, Ordinary, Value};
use rocespec_codec::mad::{self, Mad};
use rocespec_codec::{Datagram, Frame, Lax, Opcode, Roce, decode, decode_lax, icrc};

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
    Roce {
        /// As it is.
        packet: Roce<'a>,
        /// The ICRC that belongs to it.
        right_icrc: u32,
    },
    /// RoCE that ends before its ICRC, or could not be read to its end.
    Partial(Box<Partial<'a>>),
    /// Not RoCE. `None`: not even Ethernet.
    Other(Option<Frame<'a>>),
}

/// A packet as far as it can be read.
pub(super) struct Partial<'a> {
    /// With what is there; layers that are not hold zeroes. `None` when there is no BTH.
    pub(super) packet: Option<Roce<'a>>,
    /// All headers are there.
    pub(super) has_headers: bool,
    /// Bytes of payload by the lengths of the frame.
    pub(super) payload_len: Option<usize>,
}

impl<'a> Sight<'a> {
    pub(super) fn of(captured: &'a CapturedFrame) -> Sight<'a> {
        let original_len = captured.original_len as usize;
        let is_cut = captured.data.len() < original_len;
        let sight = |what, wrong| Sight { captured, what, wrong, is_cut };
        if captured.linktype != LINKTYPE_ETHERNET {
            return sight(What::Other(None), Vec::new());
        }
        match decode(&captured.data) {
            Ok(Frame::Roce(packet)) => {
                let right_icrc = icrc::compute_in(&captured.data, &packet);
                let mut wrong = wrong_fields(&packet);
                wrong.extend(wrong_icrc(&packet, right_icrc));
                sight(What::Roce { packet, right_icrc }, wrong)
            }
            Ok(Frame::Datagram(datagram)) if datagram.udp.is_some() => {
                let wrong = vec![hidden(&datagram).to_owned()];
                let partial = Partial { packet: None, has_headers: false, payload_len: None };
                sight(What::Partial(Box::new(partial)), wrong)
            }
            Ok(other) => sight(What::Other(Some(other)), Vec::new()),
            Err(_) => {
                let lax = decode_lax(&captured.data, original_len);
                let mut wrong: Vec<String> = lax.problems.iter().map(ToString::to_string).collect();
                if let Some(packet) = lax.packet() {
                    let right_icrc = icrc::compute(&packet);
                    wrong.extend(wrong_icrc(&packet, right_icrc));
                    return sight(What::Roce { packet, right_icrc }, wrong);
                }
                if !lax.is_roce() && (is_cut || lax.other.is_some()) {
                    // Somebody else's, as far as can be seen.
                    return sight(What::Other(Some(lax.other.unwrap_or(Frame::Other(&captured.data)))), Vec::new());
                }
                sight(What::Partial(Box::new(partial(&lax))), wrong)
            }
        }
    }

    /// The packet, as far as it is there.
    pub(super) fn packet(&self) -> Option<&Roce<'a>> {
        match &self.what {
            What::Roce { packet, .. } => Some(packet),
            What::Partial(partial) => partial.packet.as_ref(),
            What::Other(_) => None,
        }
    }

    /// The management datagram in the packet.
    pub(super) fn mad(&self) -> Option<Mad<'a>> {
        if let What::Roce { packet, .. } = &self.what { mad::of(packet) } else { None }
    }
}

/// Why RoCE v2 does not allow a datagram for its port.
fn hidden(datagram: &Datagram<'_>) -> &'static str {
    match datagram.fragment {
        Some(_) => "a piece of a datagram; RoCE v2 packets are never fragmented",
        None => "behind IPv6 extension headers, which RoCE v2 does not have",
    }
}

fn partial<'a>(lax: &Lax<'a>) -> Partial<'a> {
    let read = || {
        Some(Roce {
            eth: lax.eth.clone()?,
            net: lax.net?,
            udp: lax.udp,
            bth: lax.bth?,
            ext: lax.ext,
            payload: lax.payload,
            pad: lax.pad,
            icrc: lax.icrc.unwrap_or(0),
            trailer: &[],
        })
    };
    let packet = read();
    let has_headers = packet.as_ref().is_some_and(|packet| packet.bth.opcode.headers().len() == lax.headers().len());
    Partial { packet, has_headers, payload_len: lax.payload_len }
}

/// Derived fields whose value is right or wrong by itself, apart from the ICRC. `len` is that of the message, not of the
/// packet; and whatever pads a frame is right.
static CHECKED: LazyLock<Vec<&'static Field>> = LazyLock::new(|| {
    let is_checked = |field: &&Field| {
        matches!(field.ordinary, Ordinary::Derived(_)) && !matches!(field.name, "len" | "trailer" | "pad.data" | "icrc")
    };
    FIELDS.iter().filter(is_checked).collect()
});

/// Derived fields that do not hold what belongs there.
fn wrong_fields(packet: &Roce<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for field in CHECKED.iter() {
        if let Ordinary::Derived(right) = field.ordinary
            && let Some(value) = (field.get)(packet)
            && value != right(packet)
        {
            wrong.push(format!("{} should be {}", field.name, plain(field.kind, right(packet))));
        }
    }
    wrong
}

fn wrong_icrc(packet: &Roce<'_>, right: u32) -> Option<String> {
    (packet.icrc != right).then(|| icrc::explain(packet).to_string())
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
