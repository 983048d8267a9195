//! Checksums of changed headers: right where they were right, wrong where they were wrong.

use rocespec_codec::{Ipv4, Net, Roce, Udp, right_udp_checksum};

/// Of an IPv4 header; 0 stands for one that an offload fills in later.
pub(super) fn ipv4(before: &Ipv4<'_>, after: &Ipv4<'_>) -> u16 {
    like(before.checksum, before.right_checksum(), || after.right_checksum())
}

/// Of a UDP datagram; 0 stands for none.
pub(super) fn udp(before: &Roce<'_>, after: &Roce<'_>) -> u16 {
    let (Some(old), Some(_)) = (before.udp, after.udp) else { return 0 };
    if old.checksum != 0 && old.checksum == pseudo(before) {
        return pseudo(after);
    }
    like(old.checksum, right_udp_checksum(before), || right_udp_checksum(after))
}

/// Of a UDP datagram whose end was not captured: what changed is taken out and put in (RFC 1624).
pub(super) fn updated(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    if checksum == 0 {
        return 0;
    }
    match !folded(u64::from(!checksum) + 0xffff * before.len() as u64 - words(before) + words(after)) {
        0 => 0xffff,
        checksum => checksum,
    }
}

fn like(old: u16, old_right: u16, right: impl FnOnce() -> u16) -> u16 {
    match old {
        0 => 0,
        _ => right() ^ old ^ old_right,
    }
}

/// The sum over the pseudo header alone, not complemented: what a host hands to a NIC that does the rest.
fn pseudo(packet: &Roce<'_>) -> u16 {
    let addresses = match packet.net {
        Net::V4(ip) => words(&ip.src.octets()) + words(&ip.dst.octets()),
        Net::V6(ip) | Net::Grh(ip) => words(&ip.src.octets()) + words(&ip.dst.octets()),
    };
    folded(addresses + u64::from(rocespec_codec::PROTOCOL_UDP) + packet.udp.map_or(0, |udp: Udp| udp.len.into()))
}

/// The words of 16 bits, added up; a last odd byte is the upper half of one.
fn words(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |low| u64::from(*low))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
