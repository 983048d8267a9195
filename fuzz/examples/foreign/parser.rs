//! A small parser as others write them. Put yours in its place.

/// The beginning of a RoCE v2 packet.
pub(crate) struct Packet<'a> {
    pub(crate) opcode: u8,
    pub(crate) dest_qp: u32,
    pub(crate) psn: u32,
    /// Extension headers and payload, without pad and ICRC.
    pub(crate) body: &'a [u8],
}

/// Reads an untagged frame of IPv4 without options.
pub(crate) fn parse(frame: &[u8]) -> Option<Packet<'_>> {
    if frame.get(12..14)? != [0x08, 0x00] || *frame.get(14)? != 0x45 || *frame.get(23)? != 17 {
        return None;
    }
    if frame.get(36..38)? != 4791u16.to_be_bytes() {
        return None;
    }
    let len = usize::from(u16::from_be_bytes([*frame.get(38)?, *frame.get(39)?]));
    let transport = frame.get(42..34 + len)?;
    let (bth, rest) = transport.split_at_checked(12)?;
    let pad = usize::from(bth[1] >> 4 & 3);
    Some(Packet {
        opcode: bth[0],
        dest_qp: u32::from_be_bytes([0, bth[5], bth[6], bth[7]]),
        psn: u32::from_be_bytes([0, bth[9], bth[10], bth[11]]),
        body: rest.get(..rest.len().checked_sub(4 + pad)?)?,
    })
}
