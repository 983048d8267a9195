//! What the software is told.

use rocespec_codec::{Qpn, RKey};

use super::{QpHandle, SrqHandle};

/// A finished work request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// As posted.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// What it was.
    pub kind: CompletionKind,
    /// Bytes received, or written by a WRITE with immediate. 0 unless the status is success.
    pub byte_len: u32,
    /// Immediate data, if any came.
    pub immediate: Option<u32>,
    /// Key that the message invalidated, if any.
    pub invalidated: Option<RKey>,
    /// The message asked for a solicited event.
    pub solicited: bool,
    /// Sender's queue pair number (UD).
    pub src_qpn: Qpn,
    /// The first 40 bytes of the buffer hold the GRH area (UD).
    pub grh: bool,
}

macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $type {
            /// The verbs' name in lower case without prefix.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }
    };
}

named! {
    /// How a work request ended.
    Status {
        /// As asked.
        Success "success",
        /// The message did not fit the buffer.
        LocalLengthError "loc_len_err",
        /// The request itself cannot be carried out.
        LocalQpOperationError "loc_qp_op_err",
        /// The buffer is not, or no longer, the queue pair's to use so.
        LocalProtectionError "loc_prot_err",
        /// The memory window cannot be bound so.
        MwBindError "mw_bind_err",
        /// The queue pair was in error before it was its turn.
        FlushError "wr_flush_err",
        /// The peer's response was not what it had to be.
        BadResponseError "bad_resp_err",
        /// The peer had no right to the memory it named.
        LocalAccessError "loc_access_err",
        /// The message was invalid to its receiver.
        RemoteInvalidRequestError "rem_inv_req_err",
        /// The receiver refused access to its memory.
        RemoteAccessError "rem_access_err",
        /// The receiver could not carry it out.
        RemoteOperationError "rem_op_err",
        /// The peer did not answer.
        RetryExceeded "retry_exc_err",
        /// The peer was not ready too often.
        RnrRetryExceeded "rnr_retry_exc_err",
    }
}

named! {
    /// What a finished work request was.
    CompletionKind {
        /// SEND.
        Send "send",
        /// RDMA WRITE.
        RdmaWrite "rdma_write",
        /// RDMA READ.
        RdmaRead "rdma_read",
        /// Compare and swap.
        CompareSwap "comp_swap",
        /// Fetch and add.
        FetchAdd "fetch_add",
        /// ATOMIC WRITE.
        AtomicWrite "atomic_write",
        /// FLUSH.
        Flush "flush",
        /// A memory window was bound.
        BindWindow "bind_mw",
        /// A key was invalidated.
        LocalInvalidate "local_inv",
        /// A receive that a SEND took.
        Receive "recv",
        /// A receive that a WRITE with immediate took.
        ReceiveRdmaWithImmediate "recv_rdma_with_imm",
    }
}

named! {
    /// What a device reports on its own.
    EventKind {
        /// The queue pair failed.
        QpFatal "qp_fatal",
        /// A peer's request was invalid.
        QpRequestError "qp_req_err",
        /// A peer's request had no right to the memory it named.
        QpAccessError "qp_access_err",
        /// All that was sent before the send queue was stopped is done.
        SendQueueDrained "sq_drained",
        /// Fewer receives are left in a shared queue than its limit says.
        SrqLimitReached "srq_limit_reached",
        /// A queue pair in error takes no more receives from its shared queue.
        LastReceiveTaken "qp_last_wqe_reached",
    }
}

/// Something that the device reports on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    /// What happened.
    pub kind: EventKind,
    /// The queue pair that it happened to.
    pub qp: Option<QpHandle>,
    /// The shared receive queue that it happened to.
    pub srq: Option<SrqHandle>,
}
