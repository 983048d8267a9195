//! Frames without their ends.

use super::super::decode::sight::Sight;
use crate::capture::inside::{Around, Inside, Opened};

/// How much of a frame is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Snap {
    Bytes(usize),
    Headers,
}

impl Snap {
    /// How many bytes of what was captured. Frames that have no payload keep all.
    pub(super) fn len(self, sight: &Sight<'_>) -> usize {
        let all = sight.captured.data.len();
        let (carried, packet) = match (self, &sight.carried, sight.packet()) {
            (Snap::Bytes(bytes), ..) => return bytes,
            (Snap::Headers, Some(carried), Some(packet)) if !packet.payload.is_empty() => (carried, packet),
            (Snap::Headers, ..) => return all,
        };
        if sight.mad().is_some_and(|mad| mad.message().is_some()) {
            return all;
        }
        let behind = packet.payload.len() + packet.pad.len() + 4;
        carried.start + (packet.packet_len() - behind).saturating_sub(carried.made)
    }
}

/// Reads `64` and `headers`.
pub(super) fn snap(text: &str) -> Result<Snap, String> {
    if text == "headers" {
        return Ok(Snap::Headers);
    }
    let bytes = text.parse().ok().filter(|bytes| *bytes > 0 && !text.starts_with('+'));
    bytes.map(Snap::Bytes).ok_or_else(|| "this is a number of bytes from 1 on, or `headers`".to_owned())
}

/// Something lies around the frame that is not its own.
pub(super) fn has_tunnel(opened: &Opened<'_>) -> bool {
    let Inside::Ethernet(carried) = &opened.inside else { return false };
    !carried.around.iter().all(|around| matches!(around, Around::RawIp))
}
