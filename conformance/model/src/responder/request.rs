//! What a packet asks for, and whether it may come now.

use rocespec_codec::{Info, Position, Roce};

use super::Message;
use super::refuse::Refusal;
use crate::config::Capabilities;
use crate::context::Context;
use crate::defect::Defect;

/// What a message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Send,
    Write,
    Read,
    CompareSwap,
    FetchAdd,
    Flush,
    AtomicWrite,
}

/// A packet with what is known of its opcode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'p, 'f> {
    pub(super) operation: Operation,
    pub(super) info: &'static Info,
    pub(super) packet: &'p Roce<'f>,
}

impl<'p, 'f> Request<'p, 'f> {
    /// `None` for opcodes that this responder does not know.
    pub(super) fn of(packet: &'p Roce<'f>, capabilities: Capabilities) -> Option<Request<'p, 'f>> {
        let info = packet.bth.opcode.info().filter(|info| info.is_request())?;
        let operation = match packet.bth.opcode.operation() {
            0x00..=0x05 | 0x16 | 0x17 => Operation::Send,
            0x06..=0x0b => Operation::Write,
            0x0c => Operation::Read,
            0x13 => Operation::CompareSwap,
            0x14 => Operation::FetchAdd,
            0x1c if capabilities.flush => Operation::Flush,
            0x1d if capabilities.atomic_write => Operation::AtomicWrite,
            _ => return None,
        };
        Some(Request { operation, info, packet })
    }

    /// Payload bytes.
    pub(super) fn len(&self) -> u32 {
        self.packet.payload.len() as u32
    }
}

impl Message {
    fn operation(&self) -> Option<Operation> {
        match self {
            Message::Send { .. } | Message::LostSend => Some(Operation::Send),
            Message::Write(_) => Some(Operation::Write),
            Message::Dropped => None,
        }
    }
}

/// rule: rc.responder.opcode-order
pub(super) fn check_order(
    message: &mut Option<Message>,
    request: &Request<'_, '_>,
    cx: &Context<'_>,
) -> Result<(), Refusal> {
    let in_order = match (message.as_ref(), request.info.position) {
        (None, Position::First | Position::Only) => true,
        (Some(begun), Position::Middle | Position::Last) => begun.operation() == Some(request.operation),
        _ => false,
    };
    if in_order {
        return Ok(());
    }
    if cx.has(Defect::IgnoresOpcodeOrder) {
        *message = None;
        return Ok(());
    }
    Err(Refusal::InvalidRequest)
}
