//! The invariant CRC.
//!
//! CRC-32 of Ethernet over 8 bytes of ones, then everything from the network header to the last pad byte, with the
//! fields that routers may change taken as ones (CA17-22; BTH byte 4 by section 7.8.1). Low byte first on the wire.

mod alike;
mod explain;
mod masks;
mod whole;

pub use alike::made_alike;
pub use explain::{Explanation, Verdict, crc32c, explain};
pub use masks::{Mask, Masks};

use crc32fast::Hasher;

use crate::bth::Bth;
use crate::frame::Roce;
use crate::net::Net;
use crate::udp::Udp;

/// CRC register state behind the 8 bytes of ones that stand in front.
const AFTER_ONES: u32 = 0x2144_df1c;
/// Longest headers: IPv4 with options 60, UDP 8, BTH 12, RDETH + DETH + AtomicETH 40.
const MAX_HEADERS: usize = 120;

/// The ICRC that belongs to the packet.
pub fn compute(packet: &Roce<'_>) -> u32 {
    let mut crc = Hasher::new_with_initial(AFTER_ONES);
    // Gathered first: one long piece is faster than many short ones.
    let (mut headers, mut len) = ([0; MAX_HEADERS], 0);
    let mut put = |bytes: &[u8]| {
        if let Some(room) = headers.get_mut(len..len + bytes.len()) {
            room.copy_from_slice(bytes);
            len += bytes.len();
        } else {
            // Longer options than a header can say.
            crc.update(&headers[..len]);
            crc.update(bytes);
            len = 0;
        }
    };
    packet.net.write_masked(&mut put);
    if let Some(udp) = packet.udp {
        put(&Udp { checksum: 0xffff, ..udp }.bytes());
    }
    put(&Bth { fecn: true, becn: true, resv6: 0x3f, ..packet.bth }.bytes());
    packet.ext.write(packet.bth.opcode, &mut put);
    crc.update(&headers[..len]);
    crc.update(packet.payload);
    if !packet.pad.is_empty() {
        crc.update(packet.pad);
    }
    crc.finalize()
}

/// The ICRC that belongs to the packet, as [`compute`], from the bytes that it was decoded from.
///
/// Faster, since the headers are not put together again. `frame` has to be what [`decode`](crate::decode()) was given:
/// of another frame the value says nothing.
#[inline]
pub fn compute_in(frame: &[u8], packet: &Roce<'_>) -> u32 {
    let end = frame.len().saturating_sub(packet.trailer.len() + 4);
    let covered =
        frame.get(packet.eth.len()..end).filter(|_| packet.udp.is_some() != matches!(packet.net, Net::Grh(_)));
    covered.and_then(|covered| whole::compute(&packet.net, covered)).unwrap_or_else(|| compute(packet))
}

/// True when the packet carries the ICRC that belongs to it, as [`verify`], from the bytes that it was decoded from, see
/// [`compute_in`].
///
/// ```
/// use rocespec_codec::{Frame, decode, icrc};
///
/// /// Is this a RoCE packet that arrived as it was sent?
/// fn is_sound(frame: &[u8]) -> bool {
///     matches!(decode(frame), Ok(Frame::Roce(packet)) if icrc::verify_in(frame, &packet))
/// }
/// # assert!(!is_sound(&[0; 64]));
/// ```
#[inline]
pub fn verify_in(frame: &[u8], packet: &Roce<'_>) -> bool {
    packet.icrc == compute_in(frame, packet)
}

/// True when the packet carries the ICRC that belongs to it.
pub fn verify(packet: &Roce<'_>) -> bool {
    packet.icrc == compute(packet)
}
