//! What the agent answers.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use crate::command::Qp;
use crate::qp::{GidKind, PathMtu, QpAttributes};

/// A line from the agent to the tester.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Of the request; 0 where the agent could not read one.
    pub id: u64,
    /// Exactly one of `ok` and `error`.
    #[serde(flatten)]
    pub result: Status,
}

/// Outcome of an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was carried out.
    Ok(Reply),
    /// It was not.
    Error(Failure),
}

/// Why an order was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// For programs.
    pub code: ErrorCode,
    /// For people: one line.
    pub message: String,
    /// The system's error number, where a system call or a verb failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Not JSON, no `id`, or a line longer than [`crate::MAX_LINE`].
    BadRequest,
    /// No such `cmd` in this version.
    UnknownCommand,
    /// The command is known but an argument is missing, unknown or out of range.
    BadArgument,
    /// The tester speaks another version.
    BadVersion,
    /// The token of `hello` is missing or wrong.
    Unauthorized,
    /// No object with that handle.
    NoSuchObject,
    /// The device or its driver cannot do this at all.
    Unsupported,
    /// The device or its driver refused; `errno` says why.
    Refused,
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ErrorCode::BadRequest => "bad request",
            ErrorCode::UnknownCommand => "unknown command",
            ErrorCode::BadArgument => "bad argument",
            ErrorCode::BadVersion => "bad version",
            ErrorCode::Unauthorized => "unauthorized",
            ErrorCode::NoSuchObject => "no such object",
            ErrorCode::Unsupported => "unsupported",
            ErrorCode::Refused => "refused",
        })
    }
}

/// A successful answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To `hello`.
    Device(Device),
    /// To orders that only do something.
    Done {},
    /// To `create_qp`.
    Qp {
        /// Handle for later orders.
        qp: Qp,
        /// Number on the wire, 24 bits.
        qpn: u32,
    },
    /// To `query_qp`.
    QpAttributes(QpAttributes),
    /// To `register_memory`.
    Memory(MemoryRegion),
    /// To `read_memory`: the bytes in hex.
    Data(String),
    /// To `create_pd`.
    Pd {
        /// Handle for later orders.
        pd: u32,
    },
    /// To `create_xrc_domain`.
    XrcDomain {
        /// Handle for later orders.
        xrc_domain: u32,
    },
    /// To `create_srq`.
    Srq {
        /// Handle for later orders.
        srq: u32,
        /// Number by which XRC requests name it, 24 bits; 0 where it serves no XRC.
        srqn: u32,
    },
    /// To `allocate_window` and `bind_window`.
    Window {
        /// Handle for later orders.
        window: u32,
        /// Key for peers.
        rkey: u32,
    },
    /// To `poll` and `poll_srq`.
    Completions(Vec<Completion>),
    /// To `counters`.
    Counters(BTreeMap<String, u64>),
    /// To `events`.
    Events(Vec<AsyncEvent>),
}

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Protocol version of the agent.
    pub version: u32,
    /// Name and version of the agent.
    pub agent: String,
    /// Name of the RDMA device, for example `rxe0`.
    pub name: String,
    /// What runs it: kernel release or firmware version.
    pub system: String,
    /// MAC address of the port, `02:00:00:00:00:01`.
    pub mac: String,
    /// Active MTU of the port in bytes.
    pub active_mtu: PathMtu,
    /// The GID table, without empty entries.
    pub gids: Vec<Gid>,
    /// What the device can do: see `docs/control-protocol.md`.
    pub capabilities: Vec<String>,
}

/// An entry of the GID table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gid {
    /// Where in the table.
    pub index: u8,
    /// The GID; IPv4 as `::ffff:a.b.c.d`.
    pub gid: Ipv6Addr,
    /// RoCE v1 or v2.
    pub kind: GidKind,
}

/// A registered memory region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRegion {
    /// Handle for later orders.
    pub mr: u32,
    /// Address of its first byte as a peer names it.
    pub va: u64,
    /// Bytes.
    pub length: u64,
    /// Key for local use.
    pub lkey: u32,
    /// Key for peers.
    pub rkey: u32,
}

/// A finished work request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// As posted.
    pub wr_id: u64,
    /// Status by the verbs' name in lower case without prefix: `success`, `loc_len_err`, `wr_flush_err`, …
    pub status: String,
    /// Kind: `send`, `rdma_write`, `rdma_read`, `comp_swap`, `fetch_add`, `recv`, `recv_rdma_with_imm`, …
    /// Undefined unless the status is `success`.
    pub opcode: String,
    /// Bytes received. Undefined unless the status is `success`.
    pub byte_len: u32,
    /// Immediate data, if any came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub immediate: Option<u32>,
    /// Key that the message invalidated, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalidated_rkey: Option<u32>,
    /// Sender's queue pair number (UD).
    #[serde(default)]
    pub src_qpn: u32,
    /// True where the first 40 bytes of the buffer hold the GRH area (UD).
    #[serde(default)]
    pub grh: bool,
}

/// Something that the device reported on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsyncEvent {
    /// The verbs' name in lower case without prefix: `qp_fatal`, `qp_access_err`, `port_active`, …; or `completion`.
    pub event: String,
    /// Queue pair, if the event is about one that the agent knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qp: Option<Qp>,
    /// Shared receive queue, if the event is about one that the agent knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srq: Option<u32>,
}
