//! A region: bytes with an address, a key and rights.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use rocespec_codec::RKey;

use super::Grant;
use crate::verbs::{Access, MemoryHandle, PdHandle};

#[derive(Debug)]
pub(super) struct Region {
    pub(super) pd: PdHandle,
    pub(super) va: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) key: RKey,
    pub(super) access: Access,
    /// False after a peer invalidated the key.
    pub(super) key_valid: bool,
    /// Windows that are bound to it.
    pub(super) windows: u32,
    /// Deregistered, and still there for its key, as only a defect has it.
    pub(super) is_gone: bool,
}

impl Region {
    pub(super) fn new(pd: PdHandle, va: u64, len: u64, key: RKey, access: Access) -> Region {
        let bytes = vec![0; len as usize];
        Region { pd, va, bytes, key, access, key_valid: true, windows: 0, is_gone: false }
    }

    pub(super) fn opens(&self, key: RKey) -> bool {
        self.key == key && self.key_valid
    }

    /// What its key opens.
    pub(super) fn grant(&self, handle: MemoryHandle) -> Grant {
        let end = self.va + self.bytes.len() as u64;
        Grant { region: handle, start: self.va, end, access: self.access, pd: self.pd }
    }

    pub(super) fn offset(&self, va: u64) -> Option<usize> {
        let offset = va.checked_sub(self.va)?;
        usize::try_from(offset).ok().filter(|offset| *offset <= self.bytes.len())
    }

    /// The range of so many bytes behind an offset, when it lies inside.
    pub(super) fn within(&self, offset: u64, len: u64) -> Option<Range<usize>> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}
