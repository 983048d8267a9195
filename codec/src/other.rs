//! Frames that are no RoCE packets, told apart. What cannot be read stays as it is: only RoCE packets are judged.

use crate::arp::{Arp, ETHERTYPE_ARP};
use crate::datagram::Datagram;
use crate::eth::Ethernet;
use crate::frame::Frame;
use crate::lldp::{ETHERTYPE_LLDP, Lldp};
use crate::mac_control::{ETHERTYPE_MAC_CONTROL, MacControl};
use crate::nd::{Neighbor, PROTOCOL_ICMPV6};
use crate::net::{Ipv4, Ipv6};

/// By the ethertype, where that is neither one of IP nor that of RoCE v1.
#[cold]
pub(crate) fn by_ethertype(eth: Ethernet, frame: &[u8]) -> Frame<'_> {
    match eth.ethertype {
        ETHERTYPE_MAC_CONTROL => Frame::MacControl(MacControl::read(eth, frame)),
        ETHERTYPE_ARP => Arp::read(&eth, frame).map_or(Frame::Other(frame), Frame::Arp),
        ETHERTYPE_LLDP => Frame::Lldp(Lldp::read(eth, frame)),
        _ => Frame::Other(frame),
    }
}

/// IPv4 that is not UDP, or a later piece of a datagram.
#[cold]
pub(crate) fn in_v4<'a>(eth: &Ethernet, ip: Ipv4<'a>, rest: usize, frame: &'a [u8]) -> Frame<'a> {
    Datagram::of_v4(eth, ip, rest, frame).map_or(Frame::Other(frame), Frame::Datagram)
}

/// IPv6 whose next header is not UDP.
#[cold]
pub(crate) fn in_v6<'a>(eth: &Ethernet, ip: Ipv6, rest: usize, frame: &'a [u8]) -> Frame<'a> {
    let start = eth.len() + Ipv6::LEN;
    if ip.next_header == PROTOCOL_ICMPV6 {
        let (icmp, trailer) = frame[start..].split_at(rest);
        return Neighbor::read(eth, ip, icmp, trailer).map_or(Frame::Other(frame), Frame::Neighbor);
    }
    Datagram::of_v6(eth, ip, rest, frame).map_or(Frame::Other(frame), Frame::Datagram)
}
