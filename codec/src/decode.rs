//! Bytes to a [`Frame`].

use crate::bth::Bth;
use crate::error::{DecodeError, ErrorKind, Layer, LengthSource};
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Ethernet};
use crate::ext::{Aeth, Extensions, Header, Reth};
use crate::frame::{Frame, Roce};
use crate::net::{NEXT_HEADER_IBA, Net, PROTOCOL_UDP, USNIC_VERSION};
use crate::opcode::Opcode;
use crate::other;
use crate::udp::{ROCE_V2_PORT, Udp};
use crate::wire;

mod ordinary;
use ordinary::Parts;

/// Takes a frame apart, strictly: every length field must agree with what there is.
///
/// `frame` begins at the destination MAC address and ends before the frame check sequence. What is not RoCE comes back
/// as another kind of [`Frame`]; so do later fragments of a datagram. Values are not judged: ICRC, checksums, reserved bits and
/// undefined opcodes are kept as they are.
///
/// # Errors
/// The first layer that cannot be read, where it begins, and which length lied.
pub fn decode(frame: &[u8]) -> Result<Frame<'_>, DecodeError> {
    let Some(parts) = Parts::of(frame) else { return any(frame) };
    match parts.opcode().headers() {
        [] => parts.packet(|_| Extensions::default()),
        [Header::Reth] => parts.packet(|bytes| Extensions { reth: Reth::read(bytes), ..Extensions::default() }),
        [Header::Aeth] => parts.packet(|bytes| Extensions { aeth: Aeth::read(bytes), ..Extensions::default() }),
        _ => parts.packet(|bytes| Extensions::read_all(parts.opcode(), bytes)),
    }
}

/// Takes any frame apart, layer by layer.
fn any(frame: &[u8]) -> Result<Frame<'_>, DecodeError> {
    let eth = Ethernet::read(frame)?;
    let at = eth.len();
    let (net, rest) = match eth.ethertype {
        ETHERTYPE_IPV4 => {
            let (ip, rest) = Net::read_v4(frame, at)?;
            if ip.protocol != PROTOCOL_UDP || ip.flags_offset & 0x1fff != 0 {
                return Ok(other::in_v4(&eth, ip, rest, frame));
            }
            (Net::V4(ip), rest)
        }
        ETHERTYPE_IPV6 => {
            let (ip, rest) = Net::read_v6(frame, at, Layer::Ipv6, LengthSource::Ipv6PayloadLength)?;
            if ip.next_header != PROTOCOL_UDP {
                return Ok(other::in_v6(&eth, ip, rest, frame));
            }
            (Net::V6(ip), rest)
        }
        ETHERTYPE_ROCE_V1 if frame.get(at).is_some_and(|byte| byte >> 4 == USNIC_VERSION) => {
            return Ok(Frame::Usnic(frame));
        }
        ETHERTYPE_ROCE_V1 => {
            let (grh, rest) = Net::read_v6(frame, at, Layer::Grh, LengthSource::GrhPayLen)?;
            if grh.next_header != NEXT_HEADER_IBA {
                return Ok(Frame::Other(frame));
            }
            (Net::Grh(grh), rest)
        }
        _ => return Ok(other::by_ethertype(eth, frame)),
    };
    let at = at + net.len();
    let end = at + rest;
    let limit = LengthSource::of(&net);
    if matches!(net, Net::Grh(_)) {
        return transport(Outer { eth, net, udp: None }, frame, at, end);
    }
    let error = |kind| DecodeError { layer: Layer::Udp, offset: at, kind };
    if rest < Udp::LEN {
        return Err(error(ErrorKind::TooShort { needed: Udp::LEN, available: rest, limit }));
    }
    let udp = Udp::read(&frame[at..]);
    if udp.dport != ROCE_V2_PORT {
        return Ok(Frame::Other(frame));
    }
    let (claimed, field) = (usize::from(udp.len), LengthSource::UdpLength);
    if claimed > rest {
        return Err(error(ErrorKind::TooLong { field, claimed, available: rest }));
    }
    if claimed < rest {
        return Err(error(ErrorKind::Disagree { field, claimed, expected: rest }));
    }
    transport(Outer { eth, net, udp: Some(udp) }, frame, at + Udp::LEN, end)
}

/// What lies around the transport headers.
struct Outer<'a> {
    eth: Ethernet,
    net: Net<'a>,
    udp: Option<Udp>,
}

/// Reads from the BTH at `at` to the end of the ICRC at `end`.
#[inline(always)]
fn transport<'a>(outer: Outer<'a>, frame: &'a [u8], at: usize, end: usize) -> Result<Frame<'a>, DecodeError> {
    let (packet, trailer) = frame.split_at(end);
    let packet = &packet[at..];
    let limit = LengthSource::of(&outer.net);
    if packet.len() < Bth::LEN + 4 {
        return Err(too_short(packet, at, limit));
    }
    let bth = Bth::read(packet);
    let (headers, pad) = (Bth::LEN + bth.opcode.headers_len(), usize::from(bth.pad_count));
    if packet.len() < headers + pad + 4 {
        return Err(too_short(packet, at, limit));
    }
    let (packet, icrc) = packet.split_at(packet.len() - 4);
    let (packet, pad) = packet.split_at(packet.len() - pad);
    let (headers, payload) = packet.split_at(headers);
    let Outer { eth, net, udp } = outer;
    let ext = Extensions::read_all(bth.opcode, &headers[Bth::LEN..]);
    let icrc = wire::u32(icrc, 0).swap_bytes();
    Ok(Frame::Roce(Roce { eth, net, udp, bth, ext, payload, pad, icrc, trailer }))
}

/// What is too short in the transport headers, which begin at `offset`.
#[cold]
fn too_short(packet: &[u8], mut offset: usize, limit: LengthSource) -> DecodeError {
    let mut available = packet.len();
    let opcode = packet.first().filter(|_| available >= Bth::LEN).map_or(Opcode(0), |code| Opcode(*code));
    let headers = opcode.headers().iter().map(|header| (header.layer(), header.len()));
    for (layer, needed) in [(Layer::Bth, Bth::LEN)].into_iter().chain(headers).chain([(Layer::Icrc, 4)]) {
        if available < needed {
            return DecodeError { layer, offset, kind: ErrorKind::TooShort { needed, available, limit } };
        }
        if layer != Layer::Icrc {
            available -= needed;
            offset += needed;
        }
    }
    let kind = ErrorKind::Pad { count: Bth::read(packet).pad_count, available: available - 4 };
    DecodeError { layer: Layer::Payload, offset, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SEND of four bytes over IPv4, with two bytes behind it.
    const FRAME: [u8; 64] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, //
        0x45, 2, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, //
        0xc0, 0, 0x12, 0xb7, 0, 28, 0, 0, //
        4, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 5, //
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ];

    #[test]
    fn the_short_way_and_the_long_way_agree_whatever_a_byte_holds() {
        assert!(Parts::of(&FRAME).is_some());
        for at in 12..56 {
            for byte in 0..=255 {
                let mut frame = FRAME;
                frame[at] = byte;
                assert_eq!(decode(&frame), any(&frame), "byte {at} = {byte}");
            }
        }
    }

    #[test]
    fn the_short_way_and_the_long_way_agree_for_every_opcode_length_and_pad() {
        for opcode in 0..=255 {
            for pad in 0..4 {
                for len in 50..140_u16 {
                    let mut frame = [0x5a; 142];
                    frame[..FRAME.len()].copy_from_slice(&FRAME);
                    frame[16..18].copy_from_slice(&(len - 14).to_be_bytes());
                    frame[38..40].copy_from_slice(&(len - 34).to_be_bytes());
                    (frame[42], frame[43]) = (opcode, pad << 4);
                    let frame = &frame[..usize::from(len) + usize::from(opcode) % 3];
                    assert_eq!(decode(frame), any(frame), "opcode {opcode:#x}, pad {pad}, {len} bytes");
                }
            }
        }
    }
}
