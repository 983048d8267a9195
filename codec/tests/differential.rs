//! The same frames through other people's code.

mod common;

use common::spec::spec;
use common::{encoded, vectors};
use crc::{CRC_32_ISO_HDLC, Crc};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use rocespec_codec::{Frame, Net, Roce, decode, icrc};

const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Takes the same fields from etherparse's view of the frame.
fn agrees(frame: &[u8], packet: &Roce<'_>) {
    let other = SlicedPacket::from_ethernet(frame).unwrap();
    let Some(etherparse::LinkSlice::Ethernet2(eth)) = &other.link else { panic!("no Ethernet") };
    assert_eq!((eth.source(), eth.destination()), (packet.eth.src.0, packet.eth.dst.0));
    let tags: Vec<u16> = other
        .link_exts
        .iter()
        .map(|ext| {
            let etherparse::LinkExtHeader::Vlan(tag) = ext.to_header() else { panic!("{ext:?}") };
            let pcp: u8 = tag.pcp.into();
            u16::from(pcp) << 13 | u16::from(tag.drop_eligible_indicator) << 12 | u16::from(tag.vlan_id)
        })
        .collect();
    assert_eq!(tags, packet.eth.tags.iter().map(|tag| tag.tci).collect::<Vec<_>>());
    match (&other.net, &packet.net) {
        (Some(NetSlice::Ipv4(slice)), Net::V4(ip)) => {
            let header = slice.header();
            assert_eq!(header.version(), ip.version);
            assert_eq!(header.ihl(), ip.ihl);
            assert_eq!(header.dcp().value() << 2 | header.ecn().value(), ip.tos);
            assert_eq!(header.total_len(), ip.total_len);
            assert_eq!(header.identification(), ip.id);
            assert_eq!(
                (header.dont_fragment(), header.more_fragments()),
                (ip.flags_offset & 0x4000 != 0, ip.flags_offset & 0x2000 != 0)
            );
            assert_eq!((header.ttl(), header.protocol().0), (ip.ttl, ip.protocol));
            assert_eq!((header.source_addr(), header.destination_addr()), (ip.src, ip.dst));
            assert_eq!(header.options(), ip.options);
            assert_eq!(header.header_checksum(), ip.checksum);
            // etherparse's header has no room for the reserved flag, so its checksum is another one with it.
            let is_reserved = ip.flags_offset & 0x8000 != 0;
            let right = ip.right_checksum();
            assert!(is_reserved || header.to_header().calc_header_checksum() == right);
        }
        (Some(NetSlice::Ipv6(slice)), Net::V6(ip)) => {
            let header = slice.header();
            assert_eq!((header.version(), header.traffic_class()), (ip.version, ip.traffic_class));
            assert_eq!(header.flow_label().value(), ip.flow_label);
            assert_eq!(header.payload_length(), ip.payload_len);
            assert_eq!((header.next_header().0, header.hop_limit()), (ip.next_header, ip.hop_limit));
            assert_eq!((header.source_addr(), header.destination_addr()), (ip.src, ip.dst));
        }
        (None, Net::Grh(_)) => {}
        (seen, _) => panic!("{seen:?}"),
    }
    match (&other.transport, packet.udp) {
        (Some(TransportSlice::Udp(slice)), Some(udp)) => {
            assert_eq!((slice.source_port(), slice.destination_port()), (udp.sport, udp.dport));
            assert_eq!((slice.length(), slice.checksum()), (udp.len, udp.checksum));
            assert_eq!(slice.payload().len(), packet.transport_len());
        }
        // A first fragment: etherparse leaves its payload alone.
        (None, Some(_)) => assert!(matches!(packet.net, Net::V4(ip) if ip.is_fragment())),
        (None, None) => {}
        (seen, _) => panic!("{seen:?}"),
    }
}

#[test]
fn etherparse_reads_the_vectors_alike() {
    for vector in vectors() {
        agrees(&vector.frame, &common::roce(&vector.frame));
    }
}

#[test]
fn the_crc_crate_gives_the_icrc_of_the_vectors() {
    for vector in vectors() {
        assert_eq!(CRC32.checksum(&vector.crc_input).to_le_bytes(), vector.icrc, "{}", vector.name);
    }
}

/// The ICRC by the text of the rule, on the bytes of the frame.
fn by_the_rule(frame: &[u8], packet: &Roce<'_>) -> u32 {
    let start = packet.eth.len();
    let end = packet.packet_len() - 4;
    let mut bytes = vec![0xff; 8];
    bytes.extend_from_slice(&frame[start..end]);
    let (net, header) = (&mut bytes[8..], packet.net.len());
    match packet.net {
        Net::V4(_) => [1, 8, 10, 11].into_iter().for_each(|at| net[at] = 0xff),
        Net::V6(_) | Net::Grh(_) => {
            net[0] |= 0x0f;
            [1, 2, 3, 7].into_iter().for_each(|at| net[at] = 0xff);
        }
    }
    let mut bth = header;
    if packet.udp.is_some() {
        net[header + 6..header + 8].fill(0xff);
        bth += 8;
    }
    net[bth + 4] = 0xff;
    CRC32.checksum(&bytes)
}

proptest! {
    #[test]
    fn random_packets_are_read_alike(spec in spec()) {
        let bytes = encoded(&spec.decodable());
        let Ok(Frame::Roce(packet)) = decode(&bytes) else { panic!("not RoCE") };
        agrees(&bytes, &packet);
    }

    #[test]
    fn the_icrc_follows_the_rule(spec in spec()) {
        let packet = spec.decodable();
        prop_assert_eq!(icrc::compute(&packet), by_the_rule(&encoded(&packet), &packet));
    }
}
