//! The reference RoCE transport: time and frames come in, frames and events go out.
//!
//! [`Endpoint`] is one port with its queue pairs and its memory. It has no clock, no randomness, no socket and no thread:
//! the caller says what time it is, hands in frames and takes frames out. The same calls give the same bytes.
//!
//! ```
//! use rocespec_codec::{MacAddr, Qpn};
//! use rocespec_model::{Access, Config, Endpoint, GidEntry, GidKind, Input, Output, Time};
//!
//! let gid = "::ffff:10.0.0.1".parse().unwrap();
//! let mut port = Endpoint::new(Config {
//!     mac: MacAddr([2, 0, 0, 0, 0, 1]),
//!     gids: vec![GidEntry { gid, kind: GidKind::RoceV2 }],
//!     first_qpn: Qpn::new(0x11),
//!     ..Config::default()
//! });
//! let region = port.register_memory(4096, Access::REMOTE_WRITE | Access::REMOTE_READ).unwrap();
//! port.write_memory(region.handle, 0, b"hello").unwrap();
//!
//! port.handle(Time::ZERO, Input::Frame(&[0; 60])); // not RoCE: counted and forgotten
//! assert_eq!(port.poll_output(Time::ZERO), None);
//! ```
//!
//! A port may obey flow control ([`PauseConfig`]) and act on congestion ([`CongestionConfig`]); by default it does neither.
//!
//! Queue pairs are of any kind in [`QpKind`]: connections, datagrams with multicast, XRC with its shared receive queues.
//! Queue pair 0 is not there, as on every RoCE port. Queue pair 1, the messages of connection management, is out of scope:
//! the software says itself whom a queue pair is connected with. Path migration is never armed: both values of the
//! migration bit are taken, and which one is sent is a policy.
//!
//! What the standard leaves free is a [`Policy`]. What an implementation can get wrong is a [`Defect`]: off by default,
//! one line at the decision that it changes. Comments of the form `// rule: rc.responder.gap-nak` stand where a rule of
//! that id is kept.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
pub mod congestion;
mod context;
mod counters;
mod defect;
mod egress;
mod endpoint;
mod ingress;
mod memory;
mod multicast;
mod objects;
mod packet;
pub mod pause;
mod policy;
mod port;
mod presets;
mod qp;
mod qps;
mod receives;
mod requester;
mod responder;
mod route;
mod schedule;
mod shared;
mod srq;
mod time;
mod transition;
mod verbs;

pub use config::{Capabilities, Config, GidEntry, GidKind, PKEY_TABLE};
pub use congestion::{CnpConfig, CnpScope, CongestionConfig, NotificationConfig, ReactionConfig};
pub use defect::{Defect, Defects};
pub use endpoint::{Endpoint, Input, Output};
pub use pause::{ClassBy, LinkSpeed, PauseConfig, PauseMode};
pub use policy::{
    AckInsteadOfResponse, AckWhen, BehindRnr, CreditPolicy, CreditUse, DuplicateAck, ExcessReads, ForeignSrq,
    Interruption, LongDatagram, Policy, ReadRetry, ReservedSyndrome,
};
pub use time::Time;
pub use verbs::{
    Access, AsyncEvent, Bind, Capacity, Completion, CompletionKind, Destination, EventKind, MAX_REGION, MemoryHandle,
    MemoryRegion, MemoryWindow, PdHandle, QpAttributes, QpHandle, QpInit, QpKind, QpState, SendFlags, SendOperation,
    SendRequest, SrqHandle, SrqInit, Status, VerbError, WindowHandle, WindowKind, XrcDomainHandle,
};
