//! Differential: etherparse finds the same addresses, ports and bytes behind UDP.
#![no_main]

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use libfuzzer_sys::fuzz_target;
use rocespec_codec::{Frame, Net, decode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(Frame::Roce(packet)) = decode(bytes) else { return };
    let Some(udp) = packet.udp else { return };
    // Tags that etherparse does not know, and first pieces, whose payload it leaves alone.
    let is_fragment = matches!(packet.net, Net::V4(ip) if ip.is_fragment());
    let other = SlicedPacket::from_ethernet(bytes).expect("what is RoCE is Ethernet, IP and UDP");
    assert_eq!(other.link_exts.len(), packet.eth.tags.len());
    match (&other.net, &packet.net) {
        (Some(NetSlice::Ipv4(ip)), Net::V4(ours)) => {
            let header = ip.header();
            assert_eq!((header.source_addr(), header.destination_addr()), (ours.src, ours.dst));
            assert_eq!((header.total_len(), header.identification()), (ours.total_len, ours.id));
            assert_eq!((header.options(), header.ttl()), (ours.options, ours.ttl));
        }
        (Some(NetSlice::Ipv6(ip)), Net::V6(ours)) => {
            let header = ip.header();
            assert_eq!((header.source_addr(), header.destination_addr()), (ours.src, ours.dst));
            assert_eq!((header.traffic_class(), header.flow_label().value()), (ours.traffic_class, ours.flow_label));
        }
        (seen, _) => panic!("{seen:?}"),
    }
    match &other.transport {
        Some(TransportSlice::Udp(slice)) => {
            assert_eq!((slice.source_port(), slice.length(), slice.checksum()), (udp.sport, udp.len, udp.checksum));
            assert_eq!(slice.payload().len(), packet.transport_len());
        }
        seen => assert!(is_fragment, "{seen:?}"),
    }
});
