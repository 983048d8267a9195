//! The frames: every opcode over every network, and every fault.

use rocespec_codec::arbitrary::{FAULTS, Network, ordinary, payload_lengths};
use rocespec_codec::{Opcode, Roce, Tag, Udp, encode, encoded_len};

use super::Layer;

/// Opcodes that faults are shown on: each extension header once, with and without payload.
const SHOWN: [Opcode; 10] = [
    Opcode::RC_SEND_ONLY,
    Opcode::RC_SEND_MIDDLE,
    Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
    Opcode::RC_RDMA_READ_REQUEST,
    Opcode::RC_ACKNOWLEDGE,
    Opcode::RC_COMPARE_SWAP,
    Opcode::RC_FLUSH,
    Opcode::RD_SEND_ONLY,
    Opcode::UD_SEND_ONLY,
    Opcode::XRC_SEND_ONLY_WITH_INVALIDATE,
];

/// Gives each seed with the name of its file.
pub(super) fn each(layer: Layer, mut put: impl FnMut(&str, &[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let bytes: Vec<u8> = (0..=255).collect();
    for &opcode in Opcode::DEFINED {
        for network in Network::ALL {
            for &len in payload_lengths(opcode) {
                let packet = ordinary(opcode, network, payload(opcode, &bytes[..len]));
                let name = format!("right.{}.{}.{len}B", network.name(), name(opcode));
                put(&name, beginning_at(layer, &packet, &encoded(&packet)))?;
            }
        }
    }
    for tags in [&[TAG][..], &[SERVICE_TAG, TAG]] {
        let packet = tagged(ordinary(Opcode::RC_SEND_ONLY, Network::V4, &bytes[..64]), tags);
        let name = format!("right.v4.RC_SEND_ONLY.64B.{}-tags", tags.len());
        put(&name, beginning_at(layer, &packet, &encoded(&packet)))?;
    }
    for fault in FAULTS {
        for network in Network::ALL {
            for opcode in SHOWN {
                let len = *payload_lengths(opcode).iter().rev().find(|len| **len <= 14).unwrap_or(&256);
                let mut packet = ordinary(opcode, network, &bytes[..len]);
                if fault.name.starts_with("tag") {
                    packet = tagged(packet, &[TAG]);
                }
                if let Some(frame) = fault.apply(&packet) {
                    let name = format!("wrong.{}.{}.{}", fault.name, network.name(), name(opcode));
                    put(&name, beginning_at(layer, &packet, &frame))?;
                }
            }
        }
    }
    Ok(())
}

const TAG: Tag = Tag { tpid: 0x8100, tci: 3 << 13 | 5 };
const SERVICE_TAG: Tag = Tag { tpid: 0x88a8, tci: 100 };

fn tagged<'p>(mut packet: Roce<'p>, tags: &[Tag]) -> Roce<'p> {
    packet.eth.tags.extend(tags.iter().copied());
    packet
}

/// A CNP carries zeroes.
fn payload(opcode: Opcode, bytes: &[u8]) -> &[u8] {
    if matches!(opcode, Opcode::CNP | Opcode::CNP_NATIVE) { &[0; 16] } else { bytes }
}

fn name(opcode: Opcode) -> &'static str {
    opcode.info().map_or("OTHER", |info| info.name)
}

fn encoded(packet: &Roce<'_>) -> Vec<u8> {
    let mut bytes = vec![0; encoded_len(packet)];
    encode(packet, &mut bytes).expect("a buffer as long as the packet");
    bytes
}

/// The part of the frame that the parser gets. Frames of a packet have their layers at the same places.
fn beginning_at<'f>(layer: Layer, packet: &Roce<'_>, frame: &'f [u8]) -> &'f [u8] {
    let start = match layer {
        Layer::Ethernet => 0,
        Layer::Ip => packet.eth.len(),
        Layer::Bth => packet.eth.len() + packet.net.len() + packet.udp.map_or(0, |_| Udp::LEN),
    };
    frame.get(start..).unwrap_or(&[])
}
