//! Bytes to a [`Frame`].

use crate::bth::Bth;
use crate::error::{DecodeError, ErrorKind, Layer, LengthSource};
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Ethernet};
use crate::ext::Extensions;
use crate::frame::{Frame, Roce};
use crate::net::{NEXT_HEADER_IBA, Net, PROTOCOL_UDP, USNIC_VERSION};
use crate::other;
use crate::udp::{ROCE_V2_PORT, Udp};
use crate::wire;

/// Takes a frame apart, strictly: every length field must agree with what there is.
///
/// `frame` begins at the destination MAC address and ends before the frame check sequence. What is not RoCE comes back
/// as another kind of [`Frame`]; so do later fragments of a datagram. Values are not judged: ICRC, checksums, reserved bits and
/// undefined opcodes are kept as they are.
///
/// # Errors
/// The first layer that cannot be read, where it begins, and which length lied.
pub fn decode(frame: &[u8]) -> Result<Frame<'_>, DecodeError> {
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
    let mut at = at + net.len();
    let end = at + rest;
    let mut packet = Roce {
        eth,
        net,
        udp: None,
        bth: Bth::new(crate::Opcode(0)),
        ext: Extensions::default(),
        payload: &[],
        pad: &[],
        icrc: 0,
        trailer: &frame[end..],
    };
    let limit = packet.length_source();
    if !matches!(packet.net, Net::Grh(_)) {
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
        packet.udp = Some(udp);
        at += Udp::LEN;
    }
    transport(&mut packet, frame, at, end, limit)?;
    Ok(Frame::Roce(packet))
}

/// Reads from the BTH at `at` to the end of the ICRC at `end`.
fn transport<'a>(
    packet: &mut Roce<'a>,
    frame: &'a [u8],
    mut at: usize,
    end: usize,
    limit: LengthSource,
) -> Result<(), DecodeError> {
    let need = |layer, offset: usize, needed: usize, end: usize| {
        let available = end.saturating_sub(offset);
        if available >= needed {
            return Ok(());
        }
        Err(DecodeError { layer, offset, kind: ErrorKind::TooShort { needed, available, limit } })
    };
    need(Layer::Bth, at, Bth::LEN, end)?;
    packet.bth = Bth::read(&frame[at..]);
    at += Bth::LEN;
    for header in packet.bth.opcode.headers() {
        need(header.layer(), at, header.len(), end)?;
        packet.ext.read(*header, &frame[at..]);
        at += header.len();
    }
    need(Layer::Icrc, at, 4, end)?;
    let body = &frame[at..end - 4];
    let count = packet.bth.pad_count;
    let Some(payload_len) = body.len().checked_sub(usize::from(count)) else {
        let kind = ErrorKind::Pad { count, available: body.len() };
        return Err(DecodeError { layer: Layer::Payload, offset: at, kind });
    };
    packet.payload = &body[..payload_len];
    packet.pad = &body[payload_len..];
    packet.icrc = wire::u32(frame, end - 4).swap_bytes();
    Ok(())
}
