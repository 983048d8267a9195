//! `> cut BYTES PACKET`: a packet that ends too early by all its lengths, under the ICRC that belongs to it.

use rocespec_codec::icrc::Masks;
use rocespec_codec::notation::{self, Line};
use rocespec_codec::{Ipv4, MIN_FRAME, Net, Roce, encode, encoded_len};

use super::{Bench, LINE_BUFFER, Stop};
use crate::scenario::{PacketText, cuttable};

impl Bench<'_> {
    pub(super) fn send_cut(&mut self, packet: &PacketText, bytes: usize, line: u32) -> Result<(), Stop> {
        let text = self.named(&packet.text)?;
        let symbols = self.connection.symbols();
        let scope = self.connection.scope_to_device(&symbols);
        let mut buffer = vec![0; LINE_BUFFER];
        let parsed = notation::parse(&text, &scope, &mut buffer)
            .map_err(|error| self.cannot(&format!("line {line}: {error}")))?;
        let cut = if let Line::Roce(packet) = &parsed { without(packet, bytes) } else { None };
        let Some(frame) = cut else {
            return Err(self.cannot(&format!("line {line}: there are not so many bytes to cut out")));
        };
        self.transmit(&frame, format!("cut {bytes} {text}"), line)
    }
}

/// The frame of a packet without `count` bytes in front of its ICRC; `None` when what is cut lies not all behind UDP, or
/// behind the GRH.
fn without(packet: &Roce<'_>, count: usize) -> Option<Vec<u8>> {
    let mut frame = vec![0; encoded_len(packet)];
    encode(packet, &mut frame).expect("the buffer has the packet's length");
    let net = packet.eth.len();
    let inner = net + packet.net.len();
    let icrc = frame.len() - packet.trailer.len() - 4;
    let end = (count <= cuttable(packet)).then(|| icrc - count)?;
    frame.truncate(end);
    let less = |length: u16| length.saturating_sub(count as u16).to_be_bytes();
    match packet.net {
        Net::V4(ip) => {
            let ip = Ipv4 { total_len: ip.total_len.saturating_sub(count as u16), ..ip };
            frame[net + 2..net + 4].copy_from_slice(&ip.total_len.to_be_bytes());
            frame[net + 10..net + 12].copy_from_slice(&ip.right_checksum().to_be_bytes());
        }
        Net::V6(ip) | Net::Grh(ip) => frame[net + 4..net + 6].copy_from_slice(&less(ip.payload_len)),
    }
    if let Some(udp) = packet.udp {
        frame[inner + 4..inner + 6].copy_from_slice(&less(udp.len));
    }
    frame.extend(icrc_of(packet, &frame).to_le_bytes());
    frame.resize(frame.len().max(MIN_FRAME), 0);
    Some(frame)
}

/// The ICRC of the headers that are left of `packet` in `frame`.
fn icrc_of(packet: &Roce<'_>, frame: &[u8]) -> u32 {
    let mut masked = frame.to_vec();
    for bit in Masks::of(packet).iter().flat_map(|mask| mask.bits.clone()) {
        if let Some(byte) = masked.get_mut(bit / 8) {
            *byte |= 0x80 >> (bit % 8);
        }
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xff; 8]);
    crc.update(&masked[packet.eth.len()..]);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use rocespec_codec::notation::Scope;
    use rocespec_codec::{DecodeError, Frame, Layer, decode};

    use super::*;

    fn cut(line: &str, count: usize) -> Option<Vec<u8>> {
        let mut buffer = [0; 256];
        let Ok(Line::Roce(packet)) = notation::parse(line, &Scope::default(), &mut buffer) else { panic!("{line}") };
        without(&packet, count)
    }

    #[test]
    fn what_is_left_of_a_payload_is_a_packet_with_a_right_icrc() {
        for net in ["v4", "v6", "v1"] {
            let frame = cut(&format!("SEND_ONLY psn=0 {net} 16B"), 8).unwrap();
            let Ok(Frame::Roce(packet)) = decode(&frame) else { panic!("{net}") };
            assert!(rocespec_codec::icrc::verify(&packet), "{net}");
            assert_eq!(packet.payload, [0, 1, 2, 3, 4, 5, 6, 7]);
            assert!(frame.len() >= MIN_FRAME);
        }
    }

    #[test]
    fn what_is_left_of_a_header_is_too_short_for_it() {
        let frame = cut("RDMA_READ_REQUEST psn=0 len=64", 8).unwrap();
        assert!(matches!(decode(&frame), Err(DecodeError { layer: Layer::Reth, .. })));
        assert!(cut("SEND_ONLY psn=0", 12).is_some());
        assert_eq!(cut("SEND_ONLY psn=0", 13), None);
    }
}
