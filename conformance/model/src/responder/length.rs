//! How long a packet and a message may be.

use rocespec_codec::PayloadRule;

use super::refuse::Refusal;
use super::request::Request;
use crate::context::Context;
use crate::defect::Defect;

/// Longest message in bytes (C9-94 via rxe).
pub(crate) const MAX_MESSAGE: u32 = 1 << 31;

/// The payload and the pad of one packet.
pub(super) fn check_packet(request: &Request<'_, '_>, mtu: usize, cx: &Context<'_>) -> Result<(), Refusal> {
    let len = request.packet.payload.len();
    let rule = request.info.payload;
    // rule: rc.responder.packet-length
    let excused = rule == PayloadRule::Full && len < mtu && cx.has(Defect::AcceptsShortFirst)
        || rule != PayloadRule::Empty && len > mtu && cx.has(Defect::AcceptsLongPacket)
        || rule == PayloadRule::OneToMtu && len == 0 && cx.has(Defect::AcceptsEmptyLast);
    if !rule.allows(len, mtu) && !excused {
        return Err(Refusal::InvalidRequest);
    }
    // rule: rc.responder.pad
    let pad = len.wrapping_neg() & 3;
    if usize::from(request.packet.bth.pad_count) != pad && !cx.has(Defect::IgnoresPad) {
        return Err(Refusal::InvalidRequest);
    }
    Ok(())
}

/// rule: rc.responder.reth-length
pub(super) fn check_reth(request: &Request<'_, '_>, cx: &Context<'_>) -> Result<(), Refusal> {
    if request.packet.ext.reth.len > MAX_MESSAGE && !cx.has(Defect::AcceptsHugeReth) {
        return Err(Refusal::InvalidRequest);
    }
    Ok(())
}

/// PSNs that a READ takes: one for each response, and one where there is nothing to read.
pub(crate) fn read_psns(len: u32, mtu: usize) -> u32 {
    len.div_ceil(mtu as u32).max(1)
}
