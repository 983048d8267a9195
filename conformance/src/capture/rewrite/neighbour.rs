//! ARP and neighbour discovery.

use rocespec_codec::{Arp, Ethernet, Frame, Neighbor};

use super::names::Names;
use super::{LeftOut, encoded};

/// An option of neighbour discovery that only tells one question from another (RFC 3971).
const NONCE: u8 = 14;

impl Names {
    /// Both addresses of an Ethernet header.
    pub(super) fn ethernet(&mut self, eth: &mut Ethernet) {
        // The sender first: it is the one that is sure to exist.
        eth.src = self.mac(eth.src);
        eth.dst = self.mac(eth.dst);
    }
}

pub(super) fn arp(mut arp: Arp<'_>, names: &mut Names) -> Vec<u8> {
    names.ethernet(&mut arp.eth);
    arp.sender_mac = names.mac(arp.sender_mac);
    arp.sender_ip = names.v4(arp.sender_ip);
    arp.target_mac = names.mac(arp.target_mac);
    arp.target_ip = names.v4(arp.target_ip);
    let trailer = vec![0; arp.trailer.len()];
    encoded(&Frame::Arp(Arp { trailer: &trailer, ..arp }))
}

pub(super) fn neighbor(mut neighbor: Neighbor<'_>, names: &mut Names) -> Result<Vec<u8>, LeftOut> {
    if !matches!(neighbor.options, [] | [NONCE, 1, _, _, _, _, _, _]) {
        return Err(LeftOut::Link);
    }
    let off_by = neighbor.checksum ^ neighbor.right_checksum();
    names.ethernet(&mut neighbor.eth);
    neighbor.ip.src = names.v6(neighbor.ip.src);
    neighbor.ip.dst = names.v6(neighbor.ip.dst);
    neighbor.target = names.v6(neighbor.target);
    if let Some(link) = &mut neighbor.link {
        link.mac = names.mac(link.mac);
    }
    neighbor.checksum = neighbor.right_checksum() ^ off_by;
    let trailer = vec![0; neighbor.trailer.len()];
    Ok(encoded(&Frame::Neighbor(Neighbor { trailer: &trailer, ..neighbor })))
}
