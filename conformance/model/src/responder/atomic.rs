//! ATOMICs: read, compare, change in one.
//!
//! A value lies in memory with its low byte first, as on the hosts that most devices sit in.

use super::request::{Operation, Request};
use super::{length, outbox::Response, refuse::Refusal, remembered, rights};
use crate::context::Context;
use crate::defect::Defect;
use crate::qp::Qp;
use crate::verbs::{Access, MemoryHandle};

pub(super) fn execute(qp: &mut Qp, request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<(), Refusal> {
    rights::check_read_resources(qp, cx)?;
    length::check_packet(request, qp.mtu(), cx)?;
    let original = perform(request, cx)?;
    let psn = request.packet.bth.psn;
    let limit = qp.max_dest_rd_atomic();
    qp.responder
        .remembered
        .push(remembered::Entry { psn, psns: 1, what: remembered::What::Atomic { original } }, limit);
    qp.responder.count_message(request, cx);
    qp.responder.advance(1);
    qp.responder.outbox.push(Response::Atomic { psn, msn: qp.responder.msn, original }, cx);
    Ok(())
}

/// Carries it out and gives the value to return.
pub(super) fn perform(request: &Request<'_, '_>, cx: &mut Context<'_>) -> Result<u64, Refusal> {
    let atomic = request.packet.ext.atomic;
    // rule: rc.responder.atomic-alignment
    if !atomic.va.is_multiple_of(8) && !cx.has(Defect::AcceptsMisalignedAtomic) {
        return Err(Refusal::InvalidRequest);
    }
    let region = cx.authorize(atomic.rkey, atomic.va, 8, Access::REMOTE_ATOMIC)?;
    let original = load(region, atomic.va, cx);
    // rule: rc.responder.atomic-compare-swap, rc.responder.atomic-fetch-add
    let new = match request.operation {
        Operation::CompareSwap if original == atomic.compare || cx.has(Defect::CompareSwapAlwaysSwaps) => {
            atomic.swap_add
        }
        Operation::CompareSwap => original,
        _ => original.wrapping_add(atomic.swap_add),
    };
    cx.memory.write_remote(region, atomic.va, &new.to_le_bytes());
    let returns_new = request.operation == Operation::FetchAdd && cx.has(Defect::FetchAddReturnsNew);
    Ok(if returns_new { new } else { original })
}

/// The value in memory now.
pub(super) fn current(request: &Request<'_, '_>, cx: &Context<'_>) -> u64 {
    let atomic = request.packet.ext.atomic;
    let region = cx.authorize(atomic.rkey, atomic.va, 8, Access::REMOTE_ATOMIC);
    region.map_or(0, |region| load(region, atomic.va, cx))
}

fn load(region: MemoryHandle, va: u64, cx: &Context<'_>) -> u64 {
    let bytes = cx.memory.read_remote(region, va, 8);
    u64::from_le_bytes(bytes.bytes(cx.memory).try_into().unwrap_or_default())
}
