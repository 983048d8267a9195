//! The ICRC over the parts of a packet against one pass over its masked bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::{Frame, Net, decode, icrc};

fuzz_target!(|bytes: &[u8]| {
    let Ok(Frame::Roce(packet)) = decode(bytes) else { return };
    let masked: &[usize] = match packet.net {
        Net::V4(_) => &[1, 8, 10, 11],
        Net::V6(_) | Net::Grh(_) => &[1, 2, 3, 7],
    };
    let mut covered = vec![0xff; 8];
    covered.extend_from_slice(&bytes[packet.eth.len()..packet.packet_len() - 4]);
    let net = &mut covered[8..];
    masked.iter().for_each(|at| net[*at] = 0xff);
    if !matches!(packet.net, Net::V4(_)) {
        net[0] |= 0x0f;
    }
    let mut bth = packet.net.len();
    if packet.udp.is_some() {
        net[bth + 6..bth + 8].fill(0xff);
        bth += 8;
    }
    net[bth + 4] = 0xff;
    assert_eq!(icrc::compute(&packet), one_pass(&covered));
});

/// CRC-32, a bit at a time.
fn one_pass(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
