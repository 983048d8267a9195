//! Frames that do not arrive as they were sent.

use rocespec_codec::{Ecn, Frame, Net, decode};

use super::fate::Damage;

/// Marks a RoCE v2 packet as having met congestion (ECN 11), as a switch does: where the sender allows it (ECN 01 or 10),
/// and with the IPv4 header checksum made right. The ICRC does not cover these bits. Gives false where there is nothing
/// to mark.
pub fn mark_ce(frame: &mut [u8]) -> bool {
    let before = frame.to_vec();
    let Ok(Frame::Roce(mut packet)) = decode(&before) else { return false };
    if !matches!(packet.net.ecn(), Ecn::Ect0 | Ecn::Ect1) {
        return false;
    }
    match &mut packet.net {
        Net::V4(ip) => {
            ip.tos |= Ecn::Ce as u8;
            ip.checksum = ip.right_checksum();
        }
        Net::V6(ip) => ip.traffic_class |= Ecn::Ce as u8,
        // A GRH belongs to no IP network: no router looks at it.
        Net::Grh(_) => return false,
    }
    Frame::Roce(packet).encode(frame).is_ok()
}

/// Turns one bit over, counted from the first of the frame; beyond its end it begins anew.
fn flip_bit(frame: &mut [u8], bit: u32) {
    let bits = frame.len() * 8;
    if bits > 0 {
        let bit = bit as usize % bits;
        frame[bit / 8] ^= 0x80 >> (bit % 8);
    }
}

/// Bytes of an ICRC.
const ICRC_LEN: usize = 4;

/// Turns over the last bit that the ICRC covers. What is no RoCE packet stays as it is.
fn flip_content(frame: &mut [u8]) {
    let behind = match decode(frame) {
        Ok(Frame::Roce(packet)) => packet.trailer.len() + ICRC_LEN + 1,
        _ => return,
    };
    if let Some(last) = frame.len().checked_sub(behind).and_then(|at| frame.get_mut(at)) {
        *last ^= 1;
    }
}

pub(super) fn apply(frame: &mut Vec<u8>, damage: Damage) {
    match damage {
        Damage::Bit(bit) => flip_bit(frame, bit),
        Damage::Cut(len) => frame.truncate(len),
        Damage::Content => flip_content(frame),
    }
}
