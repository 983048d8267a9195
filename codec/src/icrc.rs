//! The invariant CRC.
//!
//! CRC-32 of Ethernet over 8 bytes of ones, then everything from the network header to the last pad byte, with the
//! fields that routers may change taken as ones (CA17-22; BTH byte 4 by section 7.8.1). Low byte first on the wire.

mod explain;
mod masks;

pub use explain::{Explanation, Verdict, explain};
pub use masks::{Mask, Masks};

use arrayvec::ArrayVec;
use crc32fast::Hasher;

use crate::bth::Bth;
use crate::frame::Roce;
use crate::udp::Udp;

/// CRC register state behind the 8 bytes of ones that stand in front.
const AFTER_ONES: u32 = 0x2144_df1c;
/// Longest headers: IPv4 with options 60, UDP 8, BTH 12, RDETH + DETH + AtomicETH 40.
const MAX_HEADERS: usize = 120;

/// The ICRC that belongs to the packet.
pub fn compute(packet: &Roce<'_>) -> u32 {
    let mut crc = Hasher::new_with_initial(AFTER_ONES);
    // Gathered first: one long piece is faster than many short ones.
    let mut headers = ArrayVec::<u8, MAX_HEADERS>::new();
    let mut put = |bytes: &[u8]| {
        if headers.try_extend_from_slice(bytes).is_err() {
            // Longer options than a header can say.
            crc.update(&headers);
            crc.update(bytes);
            headers.clear();
        }
    };
    packet.net.write_masked(&mut put);
    if let Some(udp) = packet.udp {
        put(&Udp { checksum: 0xffff, ..udp }.bytes());
    }
    put(&Bth { fecn: true, becn: true, resv6: 0x3f, ..packet.bth }.bytes());
    packet.ext.write(packet.bth.opcode, &mut put);
    crc.update(&headers);
    crc.update(packet.payload);
    crc.update(packet.pad);
    crc.finalize()
}

/// True when the packet carries the ICRC that belongs to it.
pub fn verify(packet: &Roce<'_>) -> bool {
    packet.icrc == compute(packet)
}
