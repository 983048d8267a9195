//! Send requests.

use std::ptr;

use rdma_mummy_sys as ibv;
use rocespec_control::{ErrorCode, Failure, Opcode, QpKind, SendFlag, SendRequest};

use super::memory::Memory;
use super::qp::QueuePair;
use super::{check, last_error};
use crate::backend::failure;

/// UD destinations that one queue pair may name.
const MAX_ADDRESS_HANDLES: usize = 64;

impl QueuePair {
    pub(super) fn post_send(&mut self, request: &SendRequest, memory: &Memory) -> Result<(), Failure> {
        match request.opcode {
            Opcode::AtomicWrite | Opcode::Flush => self.post_extended(request, memory),
            _ => self.post_classic(request, memory),
        }
    }

    fn post_classic(&mut self, request: &SendRequest, memory: &Memory) -> Result<(), Failure> {
        use ibv::ibv_wr_opcode as code;
        let (remote_addr, rkey) = (request.remote_va, request.rkey);
        let rdma = ibv::wr_t { rdma: ibv::rdma_t { remote_addr, rkey } };
        let atomic = ibv::wr_t {
            atomic: ibv::atomic_t { remote_addr, compare_add: request.compare_add, swap: request.swap, rkey },
        };
        let (opcode, mut wr) = match request.opcode {
            Opcode::Send => (code::IBV_WR_SEND, rdma),
            Opcode::SendWithImmediate => (code::IBV_WR_SEND_WITH_IMM, rdma),
            Opcode::SendWithInvalidate => (code::IBV_WR_SEND_WITH_INV, rdma),
            Opcode::RdmaWrite => (code::IBV_WR_RDMA_WRITE, rdma),
            Opcode::RdmaWriteWithImmediate => (code::IBV_WR_RDMA_WRITE_WITH_IMM, rdma),
            Opcode::RdmaRead => (code::IBV_WR_RDMA_READ, rdma),
            Opcode::CompareSwap => (code::IBV_WR_ATOMIC_CMP_AND_SWP, atomic),
            Opcode::FetchAdd => (code::IBV_WR_ATOMIC_FETCH_AND_ADD, atomic),
            Opcode::LocalInvalidate => (code::IBV_WR_LOCAL_INV, rdma),
            Opcode::AtomicWrite | Opcode::Flush => {
                return Err(failure(ErrorCode::Unsupported, "not a classic request"));
            }
        };
        if self.kind == QpKind::Ud {
            let (remote_qpn, remote_qkey) = (request.remote_qpn, request.remote_qkey);
            wr = ibv::wr_t { ud: ibv::ud_t { ah: self.address_handle(request)?, remote_qpn, remote_qkey } };
        }
        let immediate = match request.opcode {
            Opcode::SendWithInvalidate | Opcode::LocalInvalidate => {
                ibv::imm_data_invalidated_rkey_union_t { invalidated_rkey: request.immediate }
            }
            _ => ibv::imm_data_invalidated_rkey_union_t { imm_data: request.immediate.to_be() },
        };
        let mut piece = memory.piece(request.offset as usize, request.length);
        let mut work = ibv::ibv_send_wr {
            wr_id: request.wr_id,
            next: ptr::null_mut(),
            sg_list: &mut piece,
            // Some devices take a piece of 0 bytes for one of 2 GiB.
            num_sge: i32::from(piece.length > 0),
            opcode,
            send_flags: flags(&request.flags),
            imm_data_invalidated_rkey_union: immediate,
            wr,
            qp_type: ibv::qp_type_t { xrc: ibv::xrc_t { remote_srqn: request.remote_srqn } },
            // SAFETY: all-zero bytes are a valid value of either variant; only memory window requests look at it.
            bind_mw_tso_union: unsafe { std::mem::zeroed() },
        };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair is valid until drop; request and list live over the call, which copies them. The memory is
        // registered; where the tester deregisters it too early, the device reports an error.
        check("ibv_post_send", unsafe { ibv::ibv_post_send(self.raw, &mut work, &mut bad) })
    }

    /// Requests that exist only in the extended interface.
    fn post_extended(&mut self, request: &SendRequest, memory: &Memory) -> Result<(), Failure> {
        let ops = self.context.ops;
        let flush = request.opcode == Opcode::Flush;
        let possible = self.kind == QpKind::Rc && if flush { ops.flush } else { ops.atomic_write };
        if !possible {
            let message = "the device or its verbs library cannot post this request on this queue pair";
            return Err(failure(ErrorCode::Unsupported, message));
        }
        if !flush && request.length != 8 {
            return Err(failure(ErrorCode::BadArgument, "an atomic write takes 8 bytes"));
        }
        let value = if flush { Vec::new() } else { memory.read(request.offset as usize, 8) };
        // SAFETY: the queue pair was made for the extended interface (`possible`), which gives every function that is
        // called here; the value lives over its call, which copies it.
        let result = unsafe {
            let qp = ibv::ibv_qp_to_qp_ex(self.raw);
            ibv::ibv_wr_start(qp);
            (*qp).wr_id = request.wr_id;
            (*qp).wr_flags = flags(&request.flags);
            // Only the function that the library promised is looked at: an older library's struct ends before the others.
            let posted = if flush {
                let kind = if request.immediate == 0 { ibv::IBV_FLUSH_GLOBAL } else { request.immediate };
                let level = u8::from(request.compare_add != 0);
                let post = (*qp).wr_flush;
                post.map(|post| post(qp, request.rkey, request.remote_va, request.length as usize, kind as u8, level))
            } else {
                let post = (*qp).wr_atomic_write;
                post.map(|post| post(qp, request.rkey, request.remote_va, value.as_ptr().cast()))
            };
            if posted.is_some() {
                ibv::ibv_wr_complete(qp)
            } else {
                ibv::ibv_wr_abort(qp);
                libc::EOPNOTSUPP
            }
        };
        check("ibv_wr_complete", result)
    }

    /// The address handle for a request's destination, made when first named.
    fn address_handle(&mut self, request: &SendRequest) -> Result<*mut ibv::ibv_ah, Failure> {
        let remote_gid =
            request.remote_gid.ok_or_else(|| failure(ErrorCode::BadArgument, "a UD request needs `remote_gid`"))?;
        let mut path = self.path;
        path.remote_gid = remote_gid;
        if let Some(&handle) = self.handles.get(&path) {
            return Ok(handle);
        }
        if self.handles.len() >= MAX_ADDRESS_HANDLES {
            let message = format!("a queue pair sends to at most {MAX_ADDRESS_HANDLES} destinations");
            return Err(failure(ErrorCode::BadArgument, message));
        }
        let mut attributes = path.address_handle(self.context.port);
        // SAFETY: the domain is valid as long as the queue pair and the struct lives over the call.
        let handle = unsafe { ibv::ibv_create_ah(self.pd(), &mut attributes) };
        if handle.is_null() {
            return Err(last_error("ibv_create_ah"));
        }
        self.handles.insert(path, handle);
        Ok(handle)
    }
}

fn flags(flags: &[SendFlag]) -> u32 {
    use ibv::ibv_send_flags as flag;
    flags.iter().fold(0, |all, one| {
        all | match one {
            SendFlag::Signaled => flag::IBV_SEND_SIGNALED.0,
            SendFlag::Solicited => flag::IBV_SEND_SOLICITED.0,
            SendFlag::Fence => flag::IBV_SEND_FENCE.0,
            SendFlag::Inline => flag::IBV_SEND_INLINE.0,
        }
    })
}
