//! Management datagrams over queue pair 1, and the communication manager's messages in them.
//!
//! ```
//! use rocespec_codec::mad::{self, Message, Mad, Rtu};
//!
//! let rtu = Message::Rtu(Rtu { local_comm_id: 1, remote_comm_id: 2, ..Rtu::default() });
//! let mut buffer = [0; Mad::LEN];
//! let bytes = Mad::cm(0x1122, rtu.attribute(), &rtu.data()).encode(&mut buffer)?;
//! let seen = Mad::read(bytes).expect("256 bytes");
//! assert_eq!(seen.attribute.name(), Some("RTU"));
//! assert_eq!(seen.message(), Some(rtu));
//! # Ok::<(), rocespec_codec::EncodeError>(())
//! ```
//!
//! Layouts: volume 1 chapters 12 and 13 as Linux has them (`ibta_vol1_c12.h`, which cites tables 106 to 116); the clauses
//! themselves are unverified.

mod bits;
mod cm;
mod fields;
mod ip;
mod names;

pub use bits::MadField;
pub use cm::{Apr, Drep, Dreq, Lap, Message, Mra, Rej, Rep, Req, Rtu, SidrRep, SidrReq};
pub use ip::{IpCm, ServiceId};
pub use names::{AprStatus, Attribute, RejReason, SidrStatus, Status, TransportService, timeout};

use crate::bth::Bth;
use crate::error::EncodeError;
use crate::frame::Roce;
use crate::number::Qpn;
use crate::opcode::Transport;
use crate::wire;

/// Class of the communication manager.
pub const CLASS_CM: u8 = 0x07;
/// Method of its messages.
pub const METHOD_SEND: u8 = 0x03;
/// Bytes behind the header of a MAD.
pub const DATA_LEN: usize = 232;

/// A management datagram: a header of 24 bytes and 232 bytes of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mad<'a> {
    /// 1.
    pub base_version: u8,
    /// What it is about: [`CLASS_CM`] is the communication manager.
    pub class: u8,
    /// 2 for the communication manager.
    pub class_version: u8,
    /// What it does; bit 7 marks a response.
    pub method: u8,
    /// How it went.
    pub status: Status,
    /// Left to the class.
    pub class_specific: u16,
    /// Tells requests apart.
    pub transaction: u64,
    /// What it carries.
    pub attribute: Attribute,
    /// 16 bits, sent as 0.
    pub reserved: u16,
    /// Left to the attribute.
    pub modifier: u32,
    /// What is behind the header: 232 bytes, when right.
    pub data: &'a [u8],
}

/// The MAD of a packet for [management](is_management), when its payload holds a header.
pub fn of<'a>(packet: &Roce<'a>) -> Option<Mad<'a>> {
    if is_management(&packet.bth) { Mad::read(packet.payload) } else { None }
}

/// True for an unreliable datagram to queue pair 1, whatever is in it.
pub fn is_management(bth: &Bth) -> bool {
    bth.opcode.transport() == Transport::Ud && bth.dest_qp == Qpn::new(1)
}

impl<'a> Mad<'a> {
    /// Bytes of the whole.
    pub const LEN: usize = 256;
    /// Bytes of the header.
    pub const HEADER_LEN: usize = 24;

    /// A message of the communication manager.
    pub fn cm(transaction: u64, attribute: Attribute, data: &'a [u8]) -> Mad<'a> {
        Mad {
            base_version: 1,
            class: CLASS_CM,
            class_version: 2,
            method: METHOD_SEND,
            status: Status(0),
            class_specific: 0,
            transaction,
            attribute,
            reserved: 0,
            modifier: 0,
            data,
        }
    }

    /// Reads the header; `None` when there are fewer bytes than that.
    pub fn read(bytes: &'a [u8]) -> Option<Mad<'a>> {
        let (header, data) = bytes.split_at_checked(Mad::HEADER_LEN)?;
        Some(Mad {
            base_version: header[0],
            class: header[1],
            class_version: header[2],
            method: header[3],
            status: Status(wire::u16(header, 4)),
            class_specific: wire::u16(header, 6),
            transaction: wire::u64(header, 8),
            attribute: Attribute(wire::u16(header, 16)),
            reserved: wire::u16(header, 18),
            modifier: wire::u32(header, 20),
            data,
        })
    }

    /// Writes header and data, and gives their bytes.
    ///
    /// # Errors
    /// When `buffer` is too short.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let (needed, available) = (Mad::HEADER_LEN + self.data.len(), buffer.len());
        let out = buffer.get_mut(..needed).ok_or(EncodeError { needed, available })?;
        out[..4].copy_from_slice(&[self.base_version, self.class, self.class_version, self.method]);
        out[4..6].copy_from_slice(&self.status.0.to_be_bytes());
        out[6..8].copy_from_slice(&self.class_specific.to_be_bytes());
        out[8..16].copy_from_slice(&self.transaction.to_be_bytes());
        out[16..18].copy_from_slice(&self.attribute.0.to_be_bytes());
        out[18..20].copy_from_slice(&self.reserved.to_be_bytes());
        out[20..24].copy_from_slice(&self.modifier.to_be_bytes());
        out[24..].copy_from_slice(self.data);
        Ok(out)
    }

    /// The message of the communication manager; `None` for other classes, for attributes that are no message, and for
    /// data that is not 232 bytes long.
    pub fn message(&self) -> Option<Message> {
        if self.class != CLASS_CM {
            return None;
        }
        Message::read(self.attribute, self.data.try_into().ok()?)
    }
}
