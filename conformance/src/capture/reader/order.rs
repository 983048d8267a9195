//! Numbers in the byte order of the host that wrote the file.

/// A byte order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// The two bytes at `at`, which are there.
    #[inline]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        if self == Order::Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// The four bytes at `at`, which are there.
    #[inline]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        if self == Order::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub(super) fn i64(self, bytes: [u8; 8]) -> i64 {
        if self == Order::Big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
    }
}
