//! A packet to bytes.

use crate::error::EncodeError;
use crate::field::complete;
use crate::frame::Roce;
use crate::icrc;

/// Bytes that [`encode`] writes.
pub fn encoded_len(packet: &Roce<'_>) -> usize {
    packet.packet_len() + packet.trailer.len()
}

/// Writes the packet as it stands, right or wrong, and gives the bytes written.
///
/// # Errors
/// When `buffer` is shorter than [`encoded_len`].
pub fn encode<'b>(packet: &Roce<'_>, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
    Ok(write(packet, buffer)?)
}

/// Completes the packet and writes it: what [`complete`] and [`encode`] do one after the other, with the ICRC taken from
/// the bytes as they are written.
///
/// ```
/// use rocespec_codec::notation::{self, Line, Scope};
/// use rocespec_codec::{build, icrc, Psn};
///
/// let mut bytes = [0; 64];
/// let Line::Roce(mut packet) = notation::parse("SEND_ONLY 64B", &Scope::default(), &mut bytes)? else { panic!() };
/// let mut buffer = [0; 2048];
/// for psn in 0..4 {
///     packet.bth.psn = Psn::new(psn);
///     let frame = build(&mut packet, &mut buffer)?;
///     assert!(icrc::verify(&packet) && frame.len() == 122);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When `buffer` is shorter than the frame. The packet is then complete but for its ICRC.
pub fn build<'b>(packet: &mut Roce<'_>, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
    complete(packet, |field| field.name == "icrc");
    let frame = write(packet, buffer)?;
    packet.icrc = icrc::compute_in(frame, packet);
    let end = frame.len() - packet.trailer.len();
    frame[end - 4..end].copy_from_slice(&packet.icrc.to_le_bytes());
    Ok(frame)
}

#[inline]
fn write<'b>(packet: &Roce<'_>, buffer: &'b mut [u8]) -> Result<&'b mut [u8], EncodeError> {
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
    for bytes in [packet.pad, &packet.icrc.to_le_bytes(), packet.trailer] {
        if !bytes.is_empty() {
            put(bytes);
        }
    }
    Ok(out)
}
