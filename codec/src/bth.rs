//! The base transport header.

use crate::number::{PKey, Psn, Qpn};
use crate::opcode::Opcode;
use crate::wire;

/// Base transport header, 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bth {
    /// What the packet is.
    pub opcode: Opcode,
    /// Solicited event.
    pub se: bool,
    /// Migration state: 1 = migrated.
    pub migreq: bool,
    /// Pad bytes behind the payload, 0 to 3.
    pub pad_count: u8,
    /// Transport version, 0 to 15; 0 is the only one.
    pub tver: u8,
    /// Partition key.
    pub pkey: PKey,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification.
    pub becn: bool,
    /// Reserved, 6 bits, sent as 0. Not covered by the ICRC, like FECN and BECN beside it.
    pub resv6: u8,
    /// Destination queue pair.
    pub dest_qp: Qpn,
    /// A response is asked for.
    pub ack_req: bool,
    /// Reserved, 7 bits, sent as 0. Covered by the ICRC.
    pub resv7: u8,
    /// Sequence number of the packet.
    pub psn: Psn,
}

impl Bth {
    /// Bytes on the wire.
    pub const LEN: usize = 12;

    /// A header as an ordinary packet has it: default partition, everything else 0.
    pub const fn new(opcode: Opcode) -> Bth {
        Bth {
            opcode,
            se: false,
            migreq: false,
            pad_count: 0,
            tver: 0,
            pkey: PKey::DEFAULT,
            fecn: false,
            becn: false,
            resv6: 0,
            dest_qp: Qpn::new(0),
            ack_req: false,
            resv7: 0,
            psn: Psn::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn read(bytes: &[u8]) -> Bth {
        let bytes = bytes.first_chunk::<{ Bth::LEN }>().expect("a BTH");
        Bth {
            opcode: Opcode(bytes[0]),
            se: bytes[1] & 0x80 != 0,
            migreq: bytes[1] & 0x40 != 0,
            pad_count: bytes[1] >> 4 & 3,
            tver: bytes[1] & 0xf,
            pkey: PKey::new(wire::u16(bytes, 2)),
            fecn: bytes[4] & 0x80 != 0,
            becn: bytes[4] & 0x40 != 0,
            resv6: bytes[4] & 0x3f,
            dest_qp: Qpn::new(wire::u32(bytes, 4)),
            ack_req: bytes[8] & 0x80 != 0,
            resv7: bytes[8] & 0x7f,
            psn: Psn::new(wire::u32(bytes, 8)),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> [u8; 12] {
        let flags = u8::from(self.se) << 7 | u8::from(self.migreq) << 6 | (self.pad_count & 3) << 4 | self.tver & 0xf;
        let congestion = u8::from(self.fecn) << 7 | u8::from(self.becn) << 6 | self.resv6 & 0x3f;
        let ack = u8::from(self.ack_req) << 7 | self.resv7 & 0x7f;
        let [pkey_high, pkey_low] = self.pkey.get().to_be_bytes();
        let [c, q2, q1, q0] = wire::with_u24(congestion, self.dest_qp.get());
        let [a, p2, p1, p0] = wire::with_u24(ack, self.psn.get());
        [self.opcode.0, flags, pkey_high, pkey_low, c, q2, q1, q0, a, p2, p1, p0]
    }
}
