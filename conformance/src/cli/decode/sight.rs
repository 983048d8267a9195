//! One frame of a capture: what it is, and what is wrong with it.

use std::sync::LazyLock;

use rocespec_codec::field::{FIELDS, Field, Kind, Ordinary, Value};
use rocespec_codec::mad::{self, Mad};
use rocespec_codec::{Datagram, Frame, Opcode, Roce, decode, decode_lax, icrc};

use crate::capture::CapturedFrame;
use crate::capture::inside::{Carried, Inside, NativeInfiniBand, Opened};

/// What is seen of a captured frame.
pub(in crate::cli) struct Sight<'a> {
    pub(in crate::cli) captured: &'a CapturedFrame,
    /// The Ethernet frame in it. `None`: there is none.
    pub(in crate::cli) carried: Option<Carried<'a>>,
    pub(in crate::cli) what: What<'a>,
    /// What is wrong with it, in words.
    pub(in crate::cli) wrong: Vec<String>,
    /// The capture holds only its beginning.
    pub(in crate::cli) is_cut: bool,
}

/// What a captured frame is.
pub(in crate::cli) enum What<'a> {
    Roce {
        /// As it is.
        packet: Roce<'a>,
        /// The ICRC that belongs to it.
        right_icrc: u32,
    },
    /// RoCE that ends before its ICRC, or could not be read to its end.
    Partial(Box<Partial<'a>>),
    /// Not RoCE.
    Other(Frame<'a>),
    /// Not even Ethernet.
    InfiniBand(NativeInfiniBand),
    /// Of a link type that is not known, or too short for the one that it has.
    Unknown,
}

/// A packet as far as it can be read.
pub(in crate::cli) struct Partial<'a> {
    /// With what is there; layers that are not hold zeroes. `None` when there is no BTH.
    pub(in crate::cli) packet: Option<Roce<'a>>,
    /// All headers are there.
    pub(in crate::cli) has_headers: bool,
    /// Bytes of payload by the lengths of the frame.
    pub(in crate::cli) payload_len: Option<usize>,
}

impl<'a> Sight<'a> {
    pub(in crate::cli) fn of(opened: Opened<'a>) -> Sight<'a> {
        let captured = opened.captured;
        let bare = |what| Sight { captured, carried: None, what, wrong: Vec::new(), is_cut: false };
        let carried = match opened.inside {
            Inside::Ethernet(carried) => carried,
            Inside::InfiniBand(native) => return bare(What::InfiniBand(native)),
            Inside::Unknown => return bare(What::Unknown),
        };
        let is_cut = captured.data.len() < captured.original_len as usize || carried.is_cut_by_mirror();
        let (what, wrong) = look(&carried, is_cut);
        Sight { captured, carried: Some(carried), what, wrong, is_cut }
    }

    /// The Ethernet frame, or what was captured where there is none.
    pub(in crate::cli) fn bytes(&self) -> &[u8] {
        self.carried.as_ref().map_or(&self.captured.data, |carried| carried.frame)
    }

    /// The packet, as far as it is there.
    pub(in crate::cli) fn packet(&self) -> Option<&Roce<'a>> {
        match &self.what {
            What::Roce { packet, .. } => Some(packet),
            What::Partial(partial) => partial.packet.as_ref(),
            What::Other(_) | What::InfiniBand(_) | What::Unknown => None,
        }
    }

    /// The management datagram in the packet.
    pub(in crate::cli) fn mad(&self) -> Option<Mad<'a>> {
        if let What::Roce { packet, .. } = &self.what { mad::of(packet) } else { None }
    }
}

/// What a frame is, and what is wrong with it.
fn look<'a>(carried: &Carried<'a>, is_cut: bool) -> (What<'a>, Vec<String>) {
    match decode(carried.frame) {
        Ok(Frame::Roce(packet)) => {
            let packet = carried.at_its_port(packet);
            let right_icrc = match carried.port {
                None => icrc::compute_in(carried.frame, &packet),
                Some(_) => icrc::compute(&packet),
            };
            let mut wrong = wrong_fields(&packet);
            wrong.extend(wrong_icrc(&packet, right_icrc));
            (What::Roce { packet, right_icrc }, wrong)
        }
        Ok(Frame::Datagram(datagram)) if datagram.udp.is_some() => {
            let wrong = vec![hidden(&datagram).to_owned()];
            let partial = Partial { packet: None, has_headers: false, payload_len: None };
            (What::Partial(Box::new(partial)), wrong)
        }
        Ok(other) => (What::Other(other), Vec::new()),
        Err(_) => {
            let lax = decode_lax(carried.frame, carried.original_len);
            let mut wrong: Vec<String> = lax.problems.iter().map(ToString::to_string).collect();
            if let Some(packet) = lax.packet() {
                let packet = carried.at_its_port(packet);
                let right_icrc = icrc::compute(&packet);
                wrong.extend(wrong_icrc(&packet, right_icrc));
                return (What::Roce { packet, right_icrc }, wrong);
            }
            if !lax.is_roce() && (is_cut || lax.other.is_some()) {
                // Somebody else's, as far as can be seen.
                return (What::Other(lax.other.unwrap_or(Frame::Other(carried.frame))), Vec::new());
            }
            let (packet, has_headers, payload_len) = (lax.beginning(), lax.has_headers(), lax.payload_len);
            (What::Partial(Box::new(Partial { packet, has_headers, payload_len })), wrong)
        }
    }
}

/// Why RoCE v2 does not allow a datagram for its port.
fn hidden(datagram: &Datagram<'_>) -> &'static str {
    match datagram.fragment {
        Some(_) => "a piece of a datagram; RoCE v2 packets are never fragmented",
        None => "behind IPv6 extension headers, which RoCE v2 does not have",
    }
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
pub(in crate::cli) fn plain(kind: Kind, value: Value<'_>) -> String {
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
pub(in crate::cli) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The name of an opcode with its transport in front; a number where it has none.
pub(in crate::cli) fn opcode_name(opcode: Opcode) -> String {
    opcode.info().map_or_else(|| format!("OP_{:#04x}", opcode.0), |info| info.name.to_owned())
}
