//! What a device takes for a packet that does not look at a field: the frame with that field put right.

use alloc::vec::Vec;

use rocespec_codec::{
    DecodeError, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, ErrorKind, Frame, Layer, Net, ROCE_V2_PORT, Roce,
    decode, icrc,
};

use crate::config::Config;
use crate::defect::Defect;

/// Where the network header stands: what is overlooked is overlooked in frames without tags.
const NET: usize = 14;
const V4: usize = 20;
const V6: usize = 40;

/// The packet that is left of a frame which is none, when a defect overlooks what is wrong with it. `room` is where the
/// frame goes that is right.
pub(super) fn in_frame<'f>(
    config: &Config,
    frame: &[u8],
    room: &'f mut Vec<u8>,
    error: Option<&DecodeError>,
) -> Option<Roce<'f>> {
    if config.defects.is_empty() {
        return None;
    }
    let has = |defect| config.defects.has(defect);
    room.extend_from_slice(frame);
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    let net = room.get_mut(NET..)?;
    let header = match kind {
        ETHERTYPE_IPV4 => V4,
        ETHERTYPE_IPV6 | ETHERTYPE_ROCE_V1 => V6,
        _ => return None,
    };
    let (ip, udp) = net.split_at_mut_checked(header)?;
    let udp = udp.first_chunk_mut::<8>()?;
    if has(Defect::IgnoresUdpLength) {
        let error = error.filter(|error| error.layer == Layer::Udp)?;
        let written = u16::from_be_bytes([udp[4], udp[5]]);
        let right = match error.kind {
            ErrorKind::Disagree { expected, .. } => expected,
            ErrorKind::TooLong { available, .. } => available,
            _ => return None,
        };
        udp[4..6].copy_from_slice(&u16::try_from(right).ok()?.to_be_bytes());
        let Ok(Frame::Roce(mut packet)) = decode(room) else { return None };
        packet.udp.as_mut()?.len = written;
        return Some(packet);
    }
    if has(Defect::AcceptsCutHeaders) && kind != ETHERTYPE_ROCE_V1 {
        fill_up(room, header)?;
    } else if has(Defect::IgnoresUdpPort) && kind != ETHERTYPE_ROCE_V1 {
        udp[2..4].copy_from_slice(&ROCE_V2_PORT.to_be_bytes());
    } else if has(Defect::IgnoresIpVersion) && kind != ETHERTYPE_ROCE_V1 {
        ip[0] = if kind == ETHERTYPE_IPV4 { 0x45 } else { 0x60 };
    } else if has(Defect::IgnoresIpLength) && kind == ETHERTYPE_IPV4 {
        let right = u16::from_be_bytes([udp[4], udp[5]]).checked_add(V4 as u16)?;
        ip[2..4].copy_from_slice(&right.to_be_bytes());
    } else if has(Defect::IgnoresGrhFields) && kind == ETHERTYPE_ROCE_V1 {
        (ip[0], ip[6]) = (0x60, 0x1b);
    } else if has(Defect::AcceptsPadBeyondPayload) && kind != ETHERTYPE_ROCE_V1 {
        *net.get_mut(header + 8 + 1)? &= !0x30;
    } else {
        return None;
    }
    let Ok(Frame::Roce(mut packet)) = decode(room) else { return None };
    // Whoever sent it has its checksums cover what was wrong.
    if let Net::V4(ip) = &mut packet.net {
        ip.checksum = ip.right_checksum();
    }
    packet.icrc = icrc::compute(&packet);
    Some(packet)
}

/// Puts as many zeroes in front of the ICRC as the headers are short of.
fn fill_up(room: &mut Vec<u8>, header: usize) -> Option<()> {
    let udp = NET + header;
    let length = usize::from(u16::from_be_bytes([*room.get(udp + 4)?, *room.get(udp + 5)?]));
    // The zeroes, then four bytes in place of the ICRC.
    let end = (udp + length).checked_sub(4).filter(|end| *end >= udp + 8)?;
    room.truncate(end);
    room.extend([0; 4]);
    // No headers are longer than these.
    for _ in 0..64 {
        room.push(0);
        let length = u16::try_from(room.len() - udp).ok()?;
        room[udp + 4..udp + 6].copy_from_slice(&length.to_be_bytes());
        let (at, outer) = if header == V4 { (2, length.checked_add(V4 as u16)?) } else { (4, length) };
        room[NET + at..NET + at + 2].copy_from_slice(&outer.to_be_bytes());
        if decode(room).is_ok() {
            break;
        }
    }
    Some(())
}
