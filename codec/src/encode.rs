//! A packet to bytes.

use crate::error::EncodeError;
use crate::frame::Roce;

/// Bytes that [`encode`] writes.
pub fn encoded_len(packet: &Roce<'_>) -> usize {
    packet.packet_len() + packet.trailer.len()
}

/// Writes the packet as it stands, right or wrong, and gives the bytes written.
///
/// # Errors
/// When `buffer` is shorter than [`encoded_len`].
pub fn encode<'b>(packet: &Roce<'_>, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
    let needed = encoded_len(packet);
    let available = buffer.len();
    let Some(out) = buffer.get_mut(..needed) else {
        return Err(EncodeError { needed, available });
    };
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    packet.eth.write(&mut put);
    packet.net.write(&mut put);
    if let Some(udp) = packet.udp {
        put(&udp.bytes());
    }
    put(&packet.bth.bytes());
    packet.ext.write(packet.bth.opcode, &mut put);
    put(packet.payload);
    put(packet.pad);
    put(&packet.icrc.to_le_bytes());
    put(packet.trailer);
    Ok(out)
}
