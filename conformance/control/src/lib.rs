//! The control protocol: how rocespec tells the software beside a device what to do.
//!
//! One JSON object per line in each direction over any byte stream (virtio-serial, TCP, a unix socket).
//! A [`Request`] is answered by exactly one [`Response`] that carries the same `id`; the agent never speaks unasked.
//! `docs/control-protocol.md` is the same contract for people who write an agent in another language.

mod command;
pub mod limits;
mod line;
mod qp;
mod reply;
mod request;
mod send;
pub mod serve;

pub use command::{Command, Qp};
pub use line::{LineError, LineReader, MAX_LINE};
pub use qp::{Access, GidKind, PathMtu, QpAttributes, QpCapacity, QpKind, QpState};
pub use reply::{AsyncEvent, Completion, Device, ErrorCode, Failure, Gid, MemoryRegion, Reply, Response, Status};
pub use request::{BadLine, Request};
pub use send::{BindRequest, Opcode, SendFlag, SendRequest, WindowKind};

/// Version of the protocol that this crate speaks. A peer with another version is refused at `hello`.
pub const VERSION: u32 = 1;
