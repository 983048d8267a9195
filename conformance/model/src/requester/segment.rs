//! A request, packet by packet.

use rocespec_codec::{AtomicEth, Extensions, Feth, Ieth, ImmDt, Opcode, Psn, Qpn, RKey, Reth, XrcEth};

use super::work::Work;
use crate::context::Context;
use crate::defect::Defect;
use crate::packet::{Packet, Payload};
use crate::verbs::{SendOperation, SendRequest};

/// Packet `number` of a request whose PSNs begin with `first`.
///
/// rule: rc.requester.segmentation
pub(super) fn packet(work: &mut Work, first: Psn, number: u32, mtu: usize, cx: &Context<'_>) -> Packet {
    if work.needs_response() {
        return ask(work, first, mtu, cx);
    }
    let request = &work.request;
    let is_first = number == 0;
    let is_last = number + 1 >= work.packets(mtu);
    let from = number * mtu as u32;
    let len = request.length.saturating_sub(from).min(mtu as u32);
    let len = if !is_last && cx.has(Defect::SendsShortPackets) { len / 2 } else { len };
    let mut ext = Extensions::default();
    let is_write = matches!(request.operation, SendOperation::RdmaWrite | SendOperation::RdmaWriteWithImmediate);
    if is_write && is_first {
        // rule: rc.requester.write-length
        let total = if cx.has(Defect::RethSaysPacketLength) { len } else { request.length };
        ext.reth = Reth { va: request.remote_va, rkey: request.rkey, len: total };
    }
    if is_last {
        // rule: rc.requester.immediate
        let swapped = cx.has(Defect::SendsImmediateByteSwapped);
        ext.immdt = ImmDt(if swapped { request.immediate.swap_bytes() } else { request.immediate });
        ext.ieth = Ieth(RKey::new(request.immediate));
    }
    // rule: rc.requester.solicited
    let may_solicit = request.operation != SendOperation::RdmaWrite;
    let solicited = is_last && request.flags.solicited && may_solicit || is_write && cx.has(Defect::SolicitsWithWrite);
    Packet {
        solicited,
        payload: payload(work, from, len),
        ..Packet::new(opcode(request.operation, is_first, is_last), first.plus(number), ext)
    }
}

/// What a request that is answered by responses asks for; of a READ that which has not come yet.
///
/// rule: rc.requester.read-retry
fn ask(work: &mut Work, first: Psn, mtu: usize, cx: &Context<'_>) -> Packet {
    work.resumed = work.answered;
    let SendRequest { operation, remote_va, rkey, length, compare_add, swap, .. } = work.request;
    let done = work.answered * mtu as u32;
    let mut ext = Extensions::default();
    let mut payload = Payload::None;
    let opcode = match operation {
        SendOperation::CompareSwap | SendOperation::FetchAdd => {
            let compares = operation == SendOperation::CompareSwap;
            let (swap_add, compare) = if compares { (swap, compare_add) } else { (compare_add, 0) };
            ext.atomic = AtomicEth { va: remote_va, rkey, swap_add, compare };
            if compares { Opcode::RC_COMPARE_SWAP } else { Opcode::RC_FETCH_ADD }
        }
        SendOperation::AtomicWrite => {
            ext.reth = Reth { va: remote_va, rkey, len: 8 };
            payload = self::payload(work, 0, 8);
            Opcode::RC_ATOMIC_WRITE
        }
        SendOperation::Flush => {
            ext.feth = Feth(work.request.immediate);
            ext.reth = Reth { va: remote_va, rkey, len: length };
            Opcode::RC_FLUSH
        }
        _ => {
            let va = if cx.has(Defect::RetriesReadFromItsBeginning) {
                remote_va
            } else {
                remote_va.wrapping_add(u64::from(done))
            };
            ext.reth = Reth { va, rkey, len: length.saturating_sub(done) };
            Opcode::RC_RDMA_READ_REQUEST
        }
    };
    Packet { payload, ..Packet::new(opcode, first.plus(work.answered), ext) }
}

/// Every request of XRC names the receive queue, whether it takes a receive or not. Other transports have no such header.
///
/// rule: xrc.requester.xrceth
pub(super) fn xrceth(work: &Work, number: u32, cx: &Context<'_>) -> XrcEth {
    let is_forgotten = number > 0 && cx.has(Defect::XrcNamesSrqOnce);
    XrcEth { srqn: if is_forgotten { Qpn::default() } else { work.request.srqn }, ..XrcEth::default() }
}

fn payload(work: &Work, from: u32, len: u32) -> Payload {
    if len == 0 {
        return Payload::None;
    }
    match &work.data {
        Some(data) => Payload::Bytes(data.get(from as usize..(from + len) as usize).unwrap_or_default().to_vec()),
        None => Payload::Memory { mr: work.request.mr, offset: work.request.offset + u64::from(from), len },
    }
}

fn opcode(operation: SendOperation, is_first: bool, is_last: bool) -> Opcode {
    use SendOperation::{RdmaWrite, RdmaWriteWithImmediate, SendWithImmediate, SendWithInvalidate};
    let is_write = matches!(operation, RdmaWrite | RdmaWriteWithImmediate);
    match (is_first, is_last, operation) {
        (true, false, _) if is_write => Opcode::RC_RDMA_WRITE_FIRST,
        (false, false, _) if is_write => Opcode::RC_RDMA_WRITE_MIDDLE,
        (false, true, RdmaWrite) => Opcode::RC_RDMA_WRITE_LAST,
        (false, true, RdmaWriteWithImmediate) => Opcode::RC_RDMA_WRITE_LAST_WITH_IMMEDIATE,
        (true, true, RdmaWrite) => Opcode::RC_RDMA_WRITE_ONLY,
        (true, true, RdmaWriteWithImmediate) => Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
        (true, false, _) => Opcode::RC_SEND_FIRST,
        (false, false, _) => Opcode::RC_SEND_MIDDLE,
        (false, true, SendWithImmediate) => Opcode::RC_SEND_LAST_WITH_IMMEDIATE,
        (false, true, SendWithInvalidate) => Opcode::RC_SEND_LAST_WITH_INVALIDATE,
        (false, true, _) => Opcode::RC_SEND_LAST,
        (true, true, SendWithImmediate) => Opcode::RC_SEND_ONLY_WITH_IMMEDIATE,
        (true, true, SendWithInvalidate) => Opcode::RC_SEND_ONLY_WITH_INVALIDATE,
        (true, true, _) => Opcode::RC_SEND_ONLY,
    }
}
