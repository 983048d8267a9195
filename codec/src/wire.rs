//! Big-endian integers in byte slices whose length is already known.

#[inline]
pub(crate) fn u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(crate) fn u24(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

#[inline]
pub(crate) fn u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
pub(crate) fn u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32(bytes, at)) << 32 | u64::from(u32(bytes, at + 4))
}

/// Low 24 bits of `value`, with `high` in front of them.
#[inline]
pub(crate) fn with_u24(high: u8, value: u32) -> [u8; 4] {
    (u32::from(high) << 24 | value & 0xff_ffff).to_be_bytes()
}
