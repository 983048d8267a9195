//! Tunnels and mirrors: what lies in VXLAN, Geneve, GRE, ERSPAN, MPLS and IP.

use etherparse::{EtherType, IpNumber, LaxSlicedPacket, TransportSlice};
use rocespec_codec::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Tag};

use super::link::by_version;
use super::{Around, Begin, Bytes, ETHERNET, be16, be32};

const MPLS: [u16; 2] = [0x8847, 0x8848];
/// Ethernet in GRE and Geneve.
const BRIDGED: u16 = 0x6558;
const ERSPAN_1_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;
/// Labels that are taken off at most.
const MAX_LABELS: usize = 8;

/// Takes one layer off. `None`: there is none, or it is not whole.
pub(super) fn step<'a>(bytes: Bytes<'a>, around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    if is_plain(bytes) { None } else { layer(bytes, around) }
}

/// Looks for a layer, and takes it off.
fn layer<'a>(bytes: Bytes<'a>, around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    let packet = slice(bytes)?;
    if let Some(payload) = packet.ether_payload()
        && MPLS.contains(&payload.ether_type.0)
    {
        return mpls(bytes, payload.payload, around);
    }
    if let Some(TransportSlice::Udp(udp)) = &packet.transport {
        return match udp.destination_port() {
            VXLAN_PORT => vxlan(bytes, udp.payload(), around),
            GENEVE_PORT => geneve(bytes, udp.payload(), around),
            _ => None,
        };
    }
    let payload = packet.ip_payload().filter(|payload| !payload.fragmented)?;
    let ip = |ethertype, around: &mut Vec<Around>| {
        around.push(Around::Ip);
        Some(bytes.from(payload.payload, Begin::EtherType(ethertype)))
    };
    match payload.ip_number {
        IpNumber::GRE => gre(bytes, payload.payload, around),
        IpNumber::IPV4 => ip(ETHERTYPE_IPV4, around),
        IpNumber::IPV6 => ip(ETHERTYPE_IPV6, around),
        _ => None,
    }
}

/// The bytes of the UDP datagram in a frame.
pub(super) fn udp(bytes: Bytes<'_>) -> Option<&[u8]> {
    match slice(bytes)?.transport? {
        TransportSlice::Udp(udp) => Some(udp.slice()),
        _ => None,
    }
}

fn slice(bytes: Bytes<'_>) -> Option<LaxSlicedPacket<'_>> {
    match bytes.begin {
        Begin::Ethernet => LaxSlicedPacket::from_ethernet(bytes.data).ok(),
        Begin::EtherType(ethertype) => Some(LaxSlicedPacket::from_ether_type(EtherType(ethertype), bytes.data)),
    }
}

/// The quick way for what most frames are: RoCE, with up to two tags. False says nothing.
#[inline]
fn is_plain(bytes: Bytes<'_>) -> bool {
    const UDP: u8 = IpNumber::UDP.0;
    let data = bytes.data;
    let (mut ethertype, mut at) = match bytes.begin {
        Begin::Ethernet => (be16(data, ETHERNET - 2), ETHERNET),
        Begin::EtherType(ethertype) => (Some(ethertype), 0),
    };
    for _ in 0..2 {
        if ethertype.is_some_and(Tag::is_tpid) {
            (ethertype, at) = (be16(data, at + 2), at + Tag::LEN);
        }
    }
    // Where the port lies, in IPv4 without options and in IPv6 without extension headers.
    let port = match (ethertype, data.get(at..)) {
        (Some(ETHERTYPE_ROCE_V1), _) => return true,
        (Some(ETHERTYPE_IPV4), Some([0x45, _, _, _, _, _, _, _, _, UDP, ..])) => be16(data, at + 22),
        (Some(ETHERTYPE_IPV6), Some([0x60..=0x6f, _, _, _, _, _, UDP, ..])) => be16(data, at + 42),
        _ => None,
    };
    port.is_some_and(|port| port != VXLAN_PORT && port != GENEVE_PORT)
}

/// By the Ethernet type that a tunnel names.
fn by_type<'a>(bytes: Bytes<'a>, inner: &'a [u8], ethertype: u16) -> Option<Bytes<'a>> {
    match ethertype {
        BRIDGED => Some(bytes.from(inner, Begin::Ethernet)),
        kind if kind == ETHERTYPE_IPV4 || kind == ETHERTYPE_IPV6 || MPLS.contains(&kind) => {
            Some(bytes.from(inner, Begin::EtherType(kind)))
        }
        _ => None,
    }
}

fn mpls<'a>(bytes: Bytes<'a>, labels: &'a [u8], around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    /// Set on the label next to what the labels carry.
    const BOTTOM: u32 = 0x100;
    let before = around.len();
    let mut at = 0;
    loop {
        let entry = be32(labels, at)?;
        at += 4;
        around.push(Around::Mpls { label: entry >> 12 });
        if entry & BOTTOM != 0 {
            break;
        }
        if around.len() - before == MAX_LABELS {
            return None;
        }
    }
    // Nothing says what follows: IP by its version; a zero is the control word before an Ethernet frame.
    let inner = labels.get(at..)?;
    match (by_version(inner), inner.first()? >> 4) {
        (Some(ethertype), _) => Some(bytes.from(inner, Begin::EtherType(ethertype))),
        (None, 0) => Some(bytes.from(inner.get(4..)?, Begin::Ethernet)),
        (None, _) => Some(bytes.from(inner, Begin::Ethernet)),
    }
}

fn vxlan<'a>(bytes: Bytes<'a>, datagram: &'a [u8], around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    const HEADER: usize = 8;
    /// The network identifier is valid: always set.
    const VALID: u8 = 0x08;
    let inner = datagram.get(HEADER..).filter(|_| datagram[0] & VALID != 0)?;
    around.push(Around::Vxlan { vni: be32(datagram, 4)? >> 8 });
    Some(bytes.from(inner, Begin::Ethernet))
}

fn geneve<'a>(bytes: Bytes<'a>, datagram: &'a [u8], around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    const HEADER: usize = 8;
    let first = *datagram.first()?;
    let (version, options) = (first >> 6, usize::from(first & 0x3f) * 4);
    if version != 0 {
        return None;
    }
    let inner = by_type(bytes, datagram.get(HEADER + options..)?, be16(datagram, 2)?)?;
    around.push(Around::Geneve { vni: be32(datagram, 4)? >> 8 });
    Some(inner)
}

fn gre<'a>(bytes: Bytes<'a>, data: &'a [u8], around: &mut Vec<Around>) -> Option<Bytes<'a>> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const VERSION: u16 = 0x0007;
    let (flags, protocol) = (be16(data, 0)?, be16(data, 2)?);
    if flags & (ROUTING | VERSION) != 0 {
        return None;
    }
    let optional = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    let inner = data.get(4 + 4 * optional..)?;
    match protocol {
        // Without a sequence number it is version 1, which has no header of its own.
        ERSPAN_1_2 if flags & SEQUENCE == 0 => {
            around.push(Around::Erspan { version: 1, session: None, truncated: false });
            Some(bytes.from(inner, Begin::Ethernet))
        }
        ERSPAN_1_2 => erspan(bytes, inner, 2, 8, around),
        ERSPAN_3 => {
            let has_more = be16(inner, 10)? & 1 != 0;
            erspan(bytes, inner, 3, if has_more { 20 } else { 12 }, around)
        }
        _ => {
            let inner = by_type(bytes, inner, protocol)?;
            around.push(Around::Gre);
            Some(inner)
        }
    }
}

fn erspan<'a>(
    bytes: Bytes<'a>,
    data: &'a [u8],
    version: u8,
    header: usize,
    around: &mut Vec<Around>,
) -> Option<Bytes<'a>> {
    let word = be16(data, 2)?;
    let inner = data.get(header..)?;
    around.push(Around::Erspan { version, session: Some(word & 0x3ff), truncated: word & 0x0400 != 0 });
    Some(bytes.from(inner, Begin::Ethernet))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(tags: &[u16], v6: bool, port: u16) -> Vec<u8> {
        let mut frame = vec![2; 12];
        tags.iter().for_each(|tag| frame.extend([tag.to_be_bytes(), [0, 7]].concat()));
        let (header, ethertype) = if v6 {
            ([&[0x60, 0, 0, 0, 0, 20, 17, 64][..], &[1; 32]].concat(), ETHERTYPE_IPV6)
        } else {
            ([&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0][..], &[1; 8]].concat(), ETHERTYPE_IPV4)
        };
        let udp = [&[0xc0, 1], &port.to_be_bytes()[..], &[0, 20, 0, 0]].concat();
        [frame, ethertype.to_be_bytes().to_vec(), header, udp, vec![8; 12]].concat()
    }

    fn bytes(data: &[u8], begin: Begin) -> Bytes<'_> {
        Bytes { data, begin, original_len: data.len() }
    }

    #[test]
    fn roce_takes_the_quick_way_and_tunnels_do_not() {
        for tags in [&[][..], &[0x8100], &[0x88a8, 0x8100]] {
            for v6 in [false, true] {
                assert!(is_plain(bytes(&frame(tags, v6, 4791), Begin::Ethernet)), "{tags:?} {v6}");
                for port in [VXLAN_PORT, GENEVE_PORT] {
                    assert!(!is_plain(bytes(&frame(tags, v6, port), Begin::Ethernet)), "{tags:?} {v6} {port}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_quick_way_passes_nothing_over(
            tags in prop::collection::vec(prop::sample::select(vec![0x8100, 0x88a8, 0x9100, 0x8847]), 0..4),
            v6 in any::<bool>(),
            port in prop::sample::select(vec![4791, VXLAN_PORT, GENEVE_PORT]),
            begin in prop::sample::select(vec![Begin::Ethernet, Begin::EtherType(ETHERTYPE_IPV4)]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut data = frame(&tags, v6, port);
            for (at, byte) in changes {
                let at = at.index(data.len());
                data[at] = byte;
            }
            data.truncate(cut.index(data.len() * 2));
            let data = if begin == Begin::Ethernet { &data[..] } else { data.get(14..).unwrap_or_default() };
            if is_plain(bytes(data, begin)) {
                prop_assert!(layer(bytes(data, begin), &mut Vec::new()).is_none());
            }
        }
    }
}
