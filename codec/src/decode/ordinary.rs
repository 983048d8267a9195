//! The short way through the frame that is ordinary: no tag, IPv4 without options, RoCE v2, every length right.
//!
//! All is looked at first, and then written once, to where it stays: with the checks between the fields, each of them
//! would wait on the stack. Whatever is not ordinary is left to the long way, and so is every error.

use super::{
    Bth, DecodeError, ETHERTYPE_IPV4, Ethernet, Extensions, Frame, Net, PROTOCOL_UDP, ROCE_V2_PORT, Roce, Udp,
};
use crate::net::Ipv4;
use crate::opcode::Opcode;
use crate::wire;

const IP: usize = 14;
const UDP: usize = IP + Ipv4::MIN_LEN;
const BTH: usize = UDP + Udp::LEN;
const END: usize = BTH + Bth::LEN;

/// The pieces of an ordinary frame.
pub(super) struct Parts<'a> {
    fixed: &'a [u8; END],
    extensions: &'a [u8],
    payload: &'a [u8],
    pad: &'a [u8],
    icrc: &'a [u8; 4],
    trailer: &'a [u8],
}

impl<'a> Parts<'a> {
    /// `None` for frames that are not ordinary.
    #[inline(always)]
    pub(super) fn of(frame: &'a [u8]) -> Option<Parts<'a>> {
        let fixed = frame.first_chunk::<END>()?;
        let len = usize::from(wire::u16(fixed, IP + 2));
        let is_ordinary = wire::u16(fixed, 12) == ETHERTYPE_IPV4
            && fixed[IP] == 0x45
            && wire::u16(fixed, IP + 6) & 0x1fff == 0
            && fixed[IP + 9] == PROTOCOL_UDP
            && wire::u16(fixed, UDP + 2) == ROCE_V2_PORT
            && usize::from(wire::u16(fixed, UDP + 4)) + Ipv4::MIN_LEN == len;
        if !is_ordinary {
            return None;
        }
        let (packet, trailer) = frame.split_at_checked(IP + len)?;
        let (body, icrc) = packet.get(END..)?.split_last_chunk()?;
        let (extensions, body) = body.split_at_checked(Opcode(fixed[BTH]).headers_len())?;
        let pad = usize::from(fixed[BTH + 1] >> 4 & 3);
        let (payload, pad) = body.split_at_checked(body.len().checked_sub(pad)?)?;
        Some(Parts { fixed, extensions, payload, pad, icrc, trailer })
    }

    #[inline(always)]
    pub(super) fn opcode(&self) -> Opcode {
        Opcode(self.fixed[BTH])
    }

    /// The packet, with what `extensions` makes of its bytes.
    #[inline(never)]
    pub(super) fn packet(&self, extensions: impl Fn(&[u8]) -> Extensions) -> Result<Frame<'a>, DecodeError> {
        let (eth, rest) = self.fixed.split_first_chunk::<IP>().expect("bytes");
        let (ip, rest) = rest.split_first_chunk::<{ Ipv4::MIN_LEN }>().expect("bytes");
        let (udp, bth) = rest.split_at(Udp::LEN);
        Ok(Frame::Roce(Roce {
            ext: extensions(self.extensions),
            eth: Ethernet::untagged(eth),
            net: Net::V4(Ipv4::read(ip, &[])),
            udp: Some(Udp::read(udp)),
            bth: Bth::read(bth),
            payload: self.payload,
            pad: self.pad,
            icrc: u32::from_le_bytes(*self.icrc),
            trailer: self.trailer,
        }))
    }
}
