//! Neighbour discovery of IPv6: solicitations and advertisements (RFC 4861).

use core::net::Ipv6Addr;

use arrayvec::ArrayVec;

use crate::eth::{ETHERTYPE_IPV6, Ethernet, MacAddr};
use crate::net::Ipv6;
use crate::wire;

/// IP protocol number of ICMPv6.
pub const PROTOCOL_ICMPV6: u8 = 58;
/// ICMPv6 header, flags and target.
const LEN: usize = 24;

/// A neighbour solicitation or advertisement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbor<'a> {
    /// Ethernet header.
    pub eth: Ethernet,
    /// IPv6 header. Receivers take a hop limit of 255 only.
    pub ip: Ipv6,
    /// What it says.
    pub message: NeighborMessage,
    /// ICMPv6 code, 0.
    pub code: u8,
    /// ICMPv6 checksum, see [`Neighbor::right_checksum`].
    pub checksum: u16,
    /// Bits 31:29 router, solicited, override (advertisements only); the others reserved, sent as 0.
    pub flags: u32,
    /// The address that is asked for or told of.
    pub target: Ipv6Addr,
    /// Link-layer address of the source (solicitation) or of the target (advertisement), where the first option is one.
    pub link: Option<LinkAddress>,
    /// The options behind it.
    pub options: &'a [u8],
    /// Bytes of the frame behind the datagram.
    pub trailer: &'a [u8],
}

/// Kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NeighborMessage {
    /// ICMPv6 type 135.
    Solicitation = 135,
    /// ICMPv6 type 136.
    Advertisement = 136,
}

/// A link-layer address option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkAddress {
    /// 1: of the source. 2: of the target.
    pub kind: u8,
    /// The address.
    pub mac: MacAddr,
}

impl<'a> Neighbor<'a> {
    /// Router flag of an advertisement.
    pub const ROUTER: u32 = 1 << 31;
    /// The advertisement answers a solicitation.
    pub const SOLICITED: u32 = 1 << 30;
    /// The address in it replaces a known one.
    pub const OVERRIDE: u32 = 1 << 29;

    /// Asks for the MAC address of `target`, at its solicited-node multicast address.
    pub fn solicitation(mac: MacAddr, own: Ipv6Addr, target: Ipv6Addr) -> Neighbor<'static> {
        let [.., a, b, c] = target.octets();
        let group = Ipv6Addr::from(0xff02_0000_0000_0000_0000_0001_ff00_0000 | u128::from(wire::u24(&[a, b, c], 0)));
        let link = LinkAddress { kind: 1, mac };
        Neighbor::new(NeighborMessage::Solicitation, MacAddr([0x33, 0x33, 0xff, a, b, c]), (own, group), target, link)
    }

    /// Answers a solicitation: its target has the address `mac`. A request without a source address is answered to all
    /// nodes.
    pub fn advertisement(&self, mac: MacAddr) -> Neighbor<'static> {
        let link = LinkAddress { kind: 2, mac };
        let message = NeighborMessage::Advertisement;
        let (dst, to, flags) = if self.ip.src.is_unspecified() {
            (MacAddr([0x33, 0x33, 0, 0, 0, 1]), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), Neighbor::OVERRIDE)
        } else {
            (self.eth.src, self.ip.src, Neighbor::SOLICITED | Neighbor::OVERRIDE)
        };
        let mut answer = Neighbor::new(message, dst, (self.target, to), self.target, link);
        answer.eth.tags = self.eth.tags.clone();
        answer.flags = flags;
        answer.checksum = answer.right_checksum();
        answer
    }

    fn new(
        message: NeighborMessage,
        dst: MacAddr,
        (from, to): (Ipv6Addr, Ipv6Addr),
        target: Ipv6Addr,
        link: LinkAddress,
    ) -> Neighbor<'static> {
        let ip = Ipv6 {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_len: (LEN + 8) as u16,
            next_header: PROTOCOL_ICMPV6,
            hop_limit: 255,
            src: from,
            dst: to,
        };
        let mut neighbor = Neighbor {
            eth: Ethernet { dst, src: link.mac, tags: ArrayVec::new(), ethertype: ETHERTYPE_IPV6 },
            ip,
            message,
            code: 0,
            checksum: 0,
            flags: 0,
            target,
            link: Some(link),
            options: &[],
            trailer: &[],
        };
        neighbor.checksum = neighbor.right_checksum();
        neighbor
    }

    /// The checksum that belongs to the other fields: over the pseudo header of RFC 8200 section 8.1 and the message.
    pub fn right_checksum(&self) -> u16 {
        let blank = Neighbor { checksum: 0, ..self.clone() };
        let mut sum = 0u64;
        let mut odd = false;
        // Every part but the last one is of even length.
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                sum += if odd { u64::from(*byte) } else { u64::from(*byte) << 8 };
                odd = !odd;
            }
        };
        add(&self.ip.src.octets());
        add(&self.ip.dst.octets());
        add(&(self.icmp_len() as u32).to_be_bytes());
        add(&[0, 0, 0, PROTOCOL_ICMPV6]);
        blank.write_icmp(&mut add);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn icmp_len(&self) -> usize {
        LEN + self.link.map_or(0, |_| 8) + self.options.len()
    }

    /// Bytes of the frame.
    #[expect(clippy::len_without_is_empty, reason = "a frame is never empty")]
    pub fn len(&self) -> usize {
        self.eth.len() + Ipv6::LEN + self.icmp_len() + self.trailer.len()
    }

    /// Reads the ICMPv6 message `icmp`; `None` when it is another one, or too short.
    pub(crate) fn read(eth: &Ethernet, ip: Ipv6, icmp: &'a [u8], trailer: &'a [u8]) -> Option<Neighbor<'a>> {
        let (fixed, mut options) = icmp.split_at_checked(LEN)?;
        let message = match fixed[0] {
            135 => NeighborMessage::Solicitation,
            136 => NeighborMessage::Advertisement,
            _ => return None,
        };
        let mut link = None;
        if let [kind @ 1..=2, 1, a, b, c, d, e, f, rest @ ..] = options {
            link = Some(LinkAddress { kind: *kind, mac: MacAddr([*a, *b, *c, *d, *e, *f]) });
            options = rest;
        }
        Some(Neighbor {
            eth: eth.clone(),
            ip,
            message,
            code: fixed[1],
            checksum: wire::u16(fixed, 2),
            flags: wire::u32(fixed, 4),
            target: Ipv6Addr::from(<[u8; 16]>::try_from(&fixed[8..]).expect("16 bytes")),
            link,
            options,
            trailer,
        })
    }

    pub(crate) fn write(&self, mut put: impl FnMut(&[u8])) {
        self.eth.write(&mut put);
        put(&self.ip.bytes());
        self.write_icmp(&mut put);
        put(self.trailer);
    }

    fn write_icmp(&self, mut put: impl FnMut(&[u8])) {
        put(&[self.message as u8, self.code]);
        put(&self.checksum.to_be_bytes());
        put(&self.flags.to_be_bytes());
        put(&self.target.octets());
        if let Some(link) = self.link {
            put(&[link.kind, 1]);
            put(&link.mac.0);
        }
        put(self.options);
    }
}
