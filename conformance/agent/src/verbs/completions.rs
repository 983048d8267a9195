//! Completion queues.

use std::ptr;
use std::rc::Rc;

use rdma_mummy_sys as ibv;
use rocespec_control::{Completion, Failure, QpCapacity};

use super::context::Context;
use super::{check, last_error, names};

/// A completion queue with room for everything that two queues can hold. It tells the context's event channel of
/// completions where it was asked to.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    /// Valid until drop.
    pub(super) raw: *mut ibv::ibv_cq,
    _context: Rc<Context>,
}

impl CompletionQueue {
    pub(super) fn create(context: &Rc<Context>, capacity: QpCapacity) -> Result<CompletionQueue, Failure> {
        let raw = create_raw(context, capacity)?;
        Ok(CompletionQueue { raw, _context: Rc::clone(context) })
    }

    pub(super) fn poll(&self, max: usize) -> Result<Vec<Completion>, Failure> {
        let mut completions = Vec::new();
        while completions.len() < max {
            // SAFETY: all-zero bytes are a valid value of this plain C struct.
            let mut entry: ibv::ibv_wc = unsafe { std::mem::zeroed() };
            // SAFETY: the completion queue is valid until drop and the struct lives over the call.
            match unsafe { ibv::ibv_poll_cq(self.raw, 1, &mut entry) } {
                0 => break,
                count if count > 0 => completions.push(completion(&entry)),
                _ if completions.is_empty() => return Err(last_error("ibv_poll_cq")),
                _ => break,
            }
        }
        Ok(completions)
    }

    /// Wants to be told of the next completion, or the next one that is solicited or failed.
    pub(super) fn request_notification(&self, solicited_only: bool) -> Result<(), Failure> {
        // SAFETY: the completion queue is valid until drop.
        check("ibv_req_notify_cq", unsafe { ibv::ibv_req_notify_cq(self.raw, i32::from(solicited_only)) })
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: made by this object and not destroyed since; every event of it that was taken was acknowledged at once.
        unsafe { ibv::ibv_destroy_cq(self.raw) };
    }
}

/// The caller destroys it.
pub(super) fn create_raw(context: &Context, capacity: QpCapacity) -> Result<*mut ibv::ibv_cq, Failure> {
    let entries = (capacity.max_send_wr.saturating_add(capacity.max_recv_wr)).clamp(1, i32::MAX as u32).cast_signed();
    // SAFETY: the context is open, and so is its event channel; no user data.
    let cq = unsafe { ibv::ibv_create_cq(context.raw, entries, ptr::null_mut(), context.channel, 0) };
    if cq.is_null() { Err(last_error("ibv_create_cq")) } else { Ok(cq) }
}

/// A receive of one buffer, which has to live as long as the request.
pub(super) fn receive_request(wr_id: u64, piece: &mut ibv::ibv_sge) -> ibv::ibv_recv_wr {
    // Some devices take a piece of 0 bytes for one of 2 GiB.
    let num_sge = i32::from(piece.length > 0);
    ibv::ibv_recv_wr { wr_id, next: ptr::null_mut(), sg_list: piece, num_sge }
}

fn completion(entry: &ibv::ibv_wc) -> Completion {
    use ibv::ibv_wc_flags as flag;
    let has = |bit: flag| entry.wc_flags & bit.0 != 0;
    // SAFETY: both variants of the union are 32 bits of plain data; the flags say which one is meant.
    let (immediate, invalidated) = unsafe {
        let data = entry.imm_data_invalidated_rkey_union;
        (u32::from_be(data.imm_data), data.invalidated_rkey)
    };
    let success = entry.status == ibv::ibv_wc_status::IBV_WC_SUCCESS;
    Completion {
        wr_id: entry.wr_id,
        status: names::status(entry.status),
        opcode: names::completion_opcode(entry.opcode),
        byte_len: entry.byte_len,
        immediate: (success && has(flag::IBV_WC_WITH_IMM)).then_some(immediate),
        invalidated_rkey: (success && has(flag::IBV_WC_WITH_INV)).then_some(invalidated),
        src_qpn: entry.src_qp,
        grh: success && has(flag::IBV_WC_GRH),
    }
}
