//! ARP for IPv4 over Ethernet (RFC 826).

use core::net::Ipv4Addr;

use arrayvec::ArrayVec;

use crate::eth::{Ethernet, MIN_FRAME, MacAddr};
use crate::wire;

/// Ethertype of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// Hardware type 1 (Ethernet), protocol type IPv4, lengths 6 and 4.
const ETHERNET_IPV4: [u8; 6] = [0, 1, 0x08, 0, 6, 4];
const LEN: usize = 28;

/// An ARP packet for IPv4 over Ethernet. Those for anything else are left as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arp<'a> {
    /// Ethernet header.
    pub eth: Ethernet,
    /// [`Arp::REQUEST`], [`Arp::REPLY`] or any other.
    pub operation: u16,
    /// MAC address of the sender.
    pub sender_mac: MacAddr,
    /// IP address of the sender; 0.0.0.0 in a probe.
    pub sender_ip: Ipv4Addr,
    /// MAC address of the target: zero in a request.
    pub target_mac: MacAddr,
    /// IP address of the target.
    pub target_ip: Ipv4Addr,
    /// Bytes behind it: zeroes up to 60 bytes of frame.
    pub trailer: &'a [u8],
}

impl<'a> Arp<'a> {
    /// Who has this address?
    pub const REQUEST: u16 = 1;
    /// I have it.
    pub const REPLY: u16 = 2;

    /// Asks everybody who has `ip`.
    pub fn request(mac: MacAddr, own: Ipv4Addr, ip: Ipv4Addr) -> Arp<'static> {
        Arp::new(Arp::REQUEST, MacAddr([0xff; 6]), (mac, own), (MacAddr([0; 6]), ip))
    }

    /// Tells the one who asks that `ip` has the address `mac`.
    pub fn reply(&self, mac: MacAddr, ip: Ipv4Addr) -> Arp<'static> {
        let mut reply = Arp::new(Arp::REPLY, self.sender_mac, (mac, ip), (self.sender_mac, self.sender_ip));
        reply.eth.tags = self.eth.tags.clone();
        reply
    }

    fn new(operation: u16, dst: MacAddr, sender: (MacAddr, Ipv4Addr), target: (MacAddr, Ipv4Addr)) -> Arp<'static> {
        static ZEROS: [u8; MIN_FRAME - 14 - LEN] = [0; MIN_FRAME - 14 - LEN];
        Arp {
            eth: Ethernet { dst, src: sender.0, tags: ArrayVec::new(), ethertype: ETHERTYPE_ARP },
            operation,
            sender_mac: sender.0,
            sender_ip: sender.1,
            target_mac: target.0,
            target_ip: target.1,
            trailer: &ZEROS,
        }
    }

    /// Bytes of the frame.
    #[expect(clippy::len_without_is_empty, reason = "a frame is never empty")]
    pub fn len(&self) -> usize {
        self.eth.len() + LEN + self.trailer.len()
    }

    /// Reads what is behind the Ethernet header; `None` for other hardware, other protocols and too few bytes.
    pub(crate) fn read(eth: &Ethernet, frame: &'a [u8]) -> Option<Arp<'a>> {
        let (arp, trailer) = frame[eth.len()..].split_at_checked(LEN)?;
        if arp[..6] != ETHERNET_IPV4 {
            return None;
        }
        let ip = |at: usize| Ipv4Addr::from(wire::u32(arp, at));
        let mac = |at: usize| MacAddr(arp[at..at + 6].try_into().expect("six bytes"));
        Some(Arp {
            eth: eth.clone(),
            operation: wire::u16(arp, 6),
            sender_mac: mac(8),
            sender_ip: ip(14),
            target_mac: mac(18),
            target_ip: ip(24),
            trailer,
        })
    }

    pub(crate) fn write(&self, mut put: impl FnMut(&[u8])) {
        self.eth.write(&mut put);
        put(&ETHERNET_IPV4);
        put(&self.operation.to_be_bytes());
        put(&self.sender_mac.0);
        put(&self.sender_ip.octets());
        put(&self.target_mac.0);
        put(&self.target_ip.octets());
        put(self.trailer);
    }
}
