//! InfiniBand's own link layer. It is named, not judged: its ICRC covers other bytes than that of RoCE.

use std::fmt;

use rocespec_codec::Opcode;

use super::{be16, be32};

/// A packet of native InfiniBand, as far as it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeInfiniBand {
    /// Local identifier of the sender.
    pub slid: u16,
    /// Local identifier of the receiver.
    pub dlid: u16,
    /// What the transport header says, where there is one.
    pub transport: Option<Transport>,
}

/// Some fields of the base transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// Operation code.
    pub opcode: Opcode,
    /// Queue pair that it goes to.
    pub dest_qp: u32,
    /// Packet sequence number.
    pub psn: u32,
}

const LRH: usize = 8;
const GRH: usize = 40;

impl NativeInfiniBand {
    /// From the local route header on. `None` when that is not there.
    pub(super) fn read(data: &[u8]) -> Option<NativeInfiniBand> {
        let (dlid, slid) = (be16(data, 2)?, be16(data, 6)?);
        // The low two bits of the second byte say what follows: the transport, or a GRH before it.
        let at = match data[1] & 3 {
            2 => Some(LRH),
            3 => Some(LRH + GRH),
            _ => None,
        };
        let low24 = |at| Some(be32(data, at)? & 0xff_ffff);
        let transport = at.and_then(|at| {
            Some(Transport { opcode: Opcode(*data.get(at)?), dest_qp: low24(at + 4)?, psn: low24(at + 8)? })
        });
        Some(NativeInfiniBand { slid, dlid, transport })
    }
}

impl fmt::Display for NativeInfiniBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "native InfiniBand, lid {} > {}", self.slid, self.dlid)?;
        let Some(Transport { opcode, dest_qp, psn }) = self.transport else { return Ok(()) };
        match opcode.info() {
            Some(info) => write!(f, " {}", info.name)?,
            None => write!(f, " OP_{:#04x}", opcode.0)?,
        }
        write!(f, " qp={dest_qp:#x} psn=@{psn:#08x}")
    }
}
