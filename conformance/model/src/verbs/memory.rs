//! Memory and windows on it.

use rocespec_codec::RKey;

use super::{MemoryHandle, PdHandle, WindowHandle};

/// Largest memory region in bytes.
pub const MAX_REGION: u64 = 16 << 20;

/// A registered memory region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRegion {
    /// Handle for later calls.
    pub handle: MemoryHandle,
    /// Address of its first byte as a peer names it.
    pub va: u64,
    /// Bytes.
    pub len: u64,
    /// Key for local use.
    pub lkey: u32,
    /// Key for peers.
    pub rkey: RKey,
}

/// Kinds of memory windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// Every queue pair of its protection domain can use it; binding gives it a new key.
    Type1,
    /// Only the queue pair that bound it can use it (type 2B). The software chooses the low byte of its key, and the key
    /// can be invalidated, by the peer too.
    Type2,
}

/// A memory window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryWindow {
    /// Handle for later calls.
    pub handle: WindowHandle,
    /// Kind.
    pub kind: WindowKind,
    /// Protection domain.
    pub pd: PdHandle,
    /// Key for peers; it opens something only while the window is bound.
    pub rkey: RKey,
    /// It is bound to a part of a region.
    pub is_bound: bool,
}
