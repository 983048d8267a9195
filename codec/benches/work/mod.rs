//! Packets to measure with.

use rocespec_codec::notation::{Line, Scope, parse};
use rocespec_codec::{Frame, Roce, decode, encode, encoded_len};

/// A frame, from its line.
pub(crate) fn frame(line: &str) -> Vec<u8> {
    let mut buffer = vec![0; 8192];
    let packet = match parse(line, &Scope::default(), &mut buffer) {
        Ok(Line::Roce(packet)) => packet,
        other => panic!("{line}: {other:?}"),
    };
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).expect("a buffer of the right length");
    bytes
}

/// An RDMA WRITE over RoCE v2 and IPv4 with so many payload bytes.
pub(crate) fn write(len: usize) -> Vec<u8> {
    frame(&format!("RDMA_WRITE_ONLY qp=0x11 psn=5 ack va=0x7f0000001040 rkey=0x1234 ip.ecn=ect0 {len}B"))
}

/// A SEND with so many payload bytes.
pub(crate) fn send(len: usize) -> Vec<u8> {
    frame(&format!("SEND_ONLY qp=0x11 psn=5 ack ip.ecn=ect0 {len}B"))
}

/// The packet in a frame.
pub(crate) fn roce(frame: &[u8]) -> Roce<'_> {
    match decode(frame) {
        Ok(Frame::Roce(packet)) => packet,
        other => panic!("no RoCE packet: {other:?}"),
    }
}
