//! A packet as the transport makes it, before the network headers.

use alloc::vec::Vec;

use rocespec_codec::{Extensions, Opcode, PKey, Psn};

use crate::memory::Memory;
use crate::route::Route;
use crate::verbs::MemoryHandle;

/// What the transport says of a packet; the rest follows from the queue pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) opcode: Opcode,
    pub(crate) psn: Psn,
    pub(crate) solicited: bool,
    pub(crate) ack_request: bool,
    pub(crate) ext: Extensions,
    pub(crate) payload: Payload,
    pub(crate) becn: bool,
    /// P_Key, when not that of the queue pair.
    pub(crate) pkey: Option<PKey>,
    /// Where it goes, when not to the queue pair's peer.
    pub(crate) route: Option<Route>,
}

impl Packet {
    /// A packet without payload to the queue pair's peer.
    pub(crate) fn new(opcode: Opcode, psn: Psn, ext: Extensions) -> Packet {
        Packet {
            opcode,
            psn,
            solicited: false,
            ack_request: false,
            ext,
            payload: Payload::None,
            becn: false,
            pkey: None,
            route: None,
        }
    }
}

/// Payload of a packet. What lies in memory is taken from there when the frame is made, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    None,
    Bytes(Vec<u8>),
    Memory { mr: MemoryHandle, offset: u64, len: u32 },
}

impl Payload {
    pub(crate) fn bytes<'m>(&'m self, memory: &'m Memory) -> &'m [u8] {
        match self {
            Payload::None => &[],
            Payload::Bytes(bytes) => bytes,
            // Who made the packet has looked whether the memory is there.
            Payload::Memory { mr, offset, len } => memory.bytes(*mr, *offset, u64::from(*len)).unwrap_or_default(),
        }
    }
}
