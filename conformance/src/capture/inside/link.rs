//! Link types: what stands in front of the network layer, by the numbers of tcpdump's list.

use rocespec_codec::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

use super::infiniband::NativeInfiniBand;
use super::{Around, Begin, Bytes, be16, be32};

/// What lies behind the link type.
pub(super) enum Link<'a> {
    Bytes(Bytes<'a>),
    InfiniBand(NativeInfiniBand),
}

const ETHERNET: u32 = 1;
const NULL: u32 = 0;
const LOOP: u32 = 108;
/// Raw IP has one number in files and others in some old ones.
const RAW: [u32; 3] = [101, 12, 14];
const COOKED_1: u32 = 113;
const ERF: u32 = 197;
const IPV4: u32 = 228;
const IPV6: u32 = 229;
const INFINIBAND: u32 = 247;
const COOKED_2: u32 = 276;

/// Looks behind the link type. `None`: it is not known, or too little of it was captured.
#[inline]
pub(super) fn open<'a>(linktype: u32, original_len: u32, data: &'a [u8], around: &mut Vec<Around>) -> Option<Link<'a>> {
    let all = Bytes { data, begin: Begin::Ethernet, original_len: original_len as usize };
    let behind = |at: usize, begin| Some(Link::Bytes(all.from(data.get(at..)?, begin)));
    match linktype {
        ETHERNET => Some(Link::Bytes(all)),
        kind @ (NULL | LOOP) => {
            around.push(Around::Loopback);
            // The family is written in the order of the capturing host, and small.
            let family = data.get(..4)?.try_into().ok().map(u32::from_be_bytes)?;
            let family = if kind == NULL && family > 0xffff { family.swap_bytes() } else { family };
            behind(4, Begin::EtherType(by_family(family)?))
        }
        COOKED_1 => {
            around.push(Around::Cooked { version: 1, interface: None });
            behind(16, Begin::EtherType(be16(data, 14)?))
        }
        COOKED_2 => {
            around.push(Around::Cooked { version: 2, interface: be32(data, 4) });
            behind(20, Begin::EtherType(be16(data, 0)?))
        }
        kind if RAW.contains(&kind) => {
            around.push(Around::RawIp);
            behind(0, Begin::EtherType(by_version(data)?))
        }
        IPV4 | IPV6 => {
            around.push(Around::RawIp);
            let v4 = linktype == IPV4;
            behind(0, Begin::EtherType(if v4 { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 }))
        }
        INFINIBAND => NativeInfiniBand::read(data).map(Link::InfiniBand),
        ERF => erf(all, around),
        _ => None,
    }
}

/// By the version in an IP header.
pub(super) fn by_version(data: &[u8]) -> Option<u16> {
    match data.first()? >> 4 {
        4 => Some(ETHERTYPE_IPV4),
        6 => Some(ETHERTYPE_IPV6),
        _ => None,
    }
}

/// Address families: 2 is IPv4 everywhere, IPv6 has a number of its own in every system.
fn by_family(family: u32) -> Option<u16> {
    match family {
        2 => Some(ETHERTYPE_IPV4),
        10 | 24 | 28 | 30 => Some(ETHERTYPE_IPV6),
        _ => None,
    }
}

/// Endace's records: 16 bytes of header, extension headers, then what the type says.
fn erf<'a>(all: Bytes<'a>, around: &mut Vec<Around>) -> Option<Link<'a>> {
    const HEADER: usize = 16;
    const EXTENSION: usize = 8;
    /// More extension headers than any record has.
    const MAX_EXTENSIONS: usize = 16;
    /// Ethernet frames have an offset and a pad byte in front, whichever way the port is described.
    const ETHERNET: [u8; 3] = [2, 11, 16];
    const INFINIBAND: u8 = 21;
    const IPV4: u8 = 22;
    const IPV6: u8 = 23;

    let data = all.data;
    let kind = *data.get(8)?;
    let mut at = HEADER;
    let mut more = kind & 0x80 != 0;
    while more {
        more = data.get(at)? & 0x80 != 0 && at < HEADER + MAX_EXTENSIONS * EXTENSION;
        at += EXTENSION;
    }
    around.push(Around::Erf);
    let wire_len = usize::from(be16(data, 14)?);
    let behind = |at: usize, begin| {
        let bytes = all.from(data.get(at..)?, begin);
        Some(Link::Bytes(Bytes { original_len: wire_len.max(bytes.data.len()), ..bytes }))
    };
    match kind & 0x7f {
        kind if ETHERNET.contains(&kind) => behind(at + 2, Begin::Ethernet),
        IPV4 => behind(at, Begin::EtherType(ETHERTYPE_IPV4)),
        IPV6 => behind(at, Begin::EtherType(ETHERTYPE_IPV6)),
        INFINIBAND => NativeInfiniBand::read(data.get(at..)?).map(Link::InfiniBand),
        _ => None,
    }
}
