//! UDP datagrams for the RoCE v2 port that RoCE v2 does not allow: behind IPv6 extension headers, or in pieces.
//!
//! CA17-16 and CA17-24: the next header of a RoCE v2 packet over IPv6 is UDP, and fragments are dropped.

use arrayvec::ArrayVec;

use crate::eth::Ethernet;
use crate::net::{Ipv4, Ipv6, Net, PROTOCOL_UDP};
use crate::udp::{ROCE_V2_PORT, Udp};
use crate::wire;

/// Extension headers that are walked over, at most.
pub const MAX_IPV6_EXTENSIONS: usize = 8;
const FRAGMENT: u8 = 44;

/// A datagram that is, or may be, meant as RoCE v2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Ethernet header.
    pub eth: Ethernet,
    /// IP header.
    pub net: Net<'a>,
    /// IPv6 extension headers, in wire order.
    pub extensions: ArrayVec<Ipv6Extension, MAX_IPV6_EXTENSIONS>,
    /// Which piece this is, when it is one.
    pub fragment: Option<Fragment>,
    /// UDP header, with the RoCE v2 port; `None` in a later piece, which may belong to any UDP datagram.
    pub udp: Option<Udp>,
    /// Bytes behind the UDP header, or of the piece, as far as the IP header goes.
    pub payload: &'a [u8],
    /// The whole frame.
    pub frame: &'a [u8],
}

/// An IPv6 extension header (RFC 8200 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv6Extension {
    /// 0 hop-by-hop options, 43 routing, 44 fragment, 60 destination options.
    pub kind: u8,
    /// Where it begins, in bytes from the start of the frame.
    pub offset: u32,
    /// Bytes, at most 2048.
    pub len: u16,
}

/// A piece of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Where it stands in the datagram, in bytes.
    pub offset: usize,
    /// More pieces follow.
    pub more: bool,
    /// What the pieces of one datagram have in common: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
}

/// Where a chain of extension headers leads.
pub(crate) struct Chain {
    pub(crate) extensions: ArrayVec<Ipv6Extension, MAX_IPV6_EXTENSIONS>,
    pub(crate) fragment: Option<Fragment>,
    /// What follows the last one.
    pub(crate) next: u8,
    /// Where it begins.
    pub(crate) at: usize,
}

impl Chain {
    /// Walks from `at`, where a header of kind `next` begins, and stays below `end`. `None` when a header does not fit,
    /// or there are too many.
    pub(crate) fn walk(frame: &[u8], mut next: u8, mut at: usize, end: usize) -> Option<Chain> {
        let (mut extensions, mut fragment) = (ArrayVec::new(), None);
        while matches!(next, 0 | 43 | 60 | FRAGMENT) {
            let rest = frame.get(at..end).filter(|rest| rest.len() >= 8)?;
            let len = if next == FRAGMENT { 8 } else { 8 + 8 * usize::from(rest[1]) };
            if len > rest.len() {
                return None;
            }
            extensions.try_push(Ipv6Extension { kind: next, offset: at as u32, len: len as u16 }).ok()?;
            let is_fragment = next == FRAGMENT;
            next = rest[0];
            at += len;
            if is_fragment {
                let place = wire::u16(rest, 2);
                let offset = usize::from(place & !7);
                fragment = Some(Fragment { offset, more: place & 1 == 1, id: wire::u32(rest, 4) });
                if offset > 0 {
                    break;
                }
            }
        }
        Some(Chain { extensions, fragment, next, at })
    }
}

impl<'a> Datagram<'a> {
    /// The later piece of an IPv4 datagram that `ip` is.
    pub(crate) fn of_v4(eth: &Ethernet, ip: Ipv4<'a>, rest: usize, frame: &'a [u8]) -> Option<Datagram<'a>> {
        let fragment = ip.fragment().filter(|fragment| fragment.offset > 0 && ip.protocol == PROTOCOL_UDP)?;
        let at = eth.len() + ip.len();
        Some(Datagram {
            eth: eth.clone(),
            net: Net::V4(ip),
            extensions: ArrayVec::new(),
            fragment: Some(fragment),
            udp: None,
            payload: frame.get(at..at + rest)?,
            frame,
        })
    }

    /// A datagram behind the extension headers of `ip`, whose payload is `rest` bytes long.
    pub(crate) fn of_v6(eth: &Ethernet, ip: Ipv6, rest: usize, frame: &'a [u8]) -> Option<Datagram<'a>> {
        let start = eth.len() + Ipv6::LEN;
        let end = start + rest;
        let chain = Chain::walk(frame, ip.next_header, start, end)?;
        if chain.extensions.is_empty() || chain.next != PROTOCOL_UDP {
            return None;
        }
        let mut payload = &frame[chain.at..end];
        let mut udp = None;
        if chain.fragment.is_none_or(|fragment| fragment.offset == 0) {
            let (header, behind) = payload.split_at_checked(Udp::LEN)?;
            udp = Some(Udp::read(header)).filter(|udp| udp.dport == ROCE_V2_PORT);
            udp?;
            payload = behind;
        }
        let Chain { extensions, fragment, .. } = chain;
        Some(Datagram { eth: eth.clone(), net: Net::V6(ip), extensions, fragment, udp, payload, frame })
    }
}

impl Ipv4<'_> {
    /// Which piece of a datagram this is; `None` for a whole one.
    pub fn fragment(&self) -> Option<Fragment> {
        self.is_fragment().then(|| Fragment {
            offset: usize::from(self.flags_offset & 0x1fff) * 8,
            more: self.flags_offset & Ipv4::MF != 0,
            id: self.id.into(),
        })
    }
}
