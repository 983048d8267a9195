//! Registered memory: keys, ranges, rights, bytes.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use rocespec_codec::RKey;

use crate::defect::{Defect, Defects};
use crate::packet::Payload;
use crate::verbs::{Access, MAX_REGION, MemoryHandle, MemoryRegion, VerbError};

/// Address of the first region. Page-aligned; behind each region an unmapped page follows.
const FIRST_VA: u64 = 0x7f00_0000_0000;
const PAGE: u64 = 4096;

/// All regions of an endpoint. Handles, keys and addresses follow from the order of registration and are not reused.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    regions: BTreeMap<MemoryHandle, Region>,
    registered: u32,
    next_va: u64,
}

#[derive(Debug)]
struct Region {
    va: u64,
    bytes: Vec<u8>,
    rkey: RKey,
    access: Access,
    /// False after a peer invalidated the key.
    key_valid: bool,
}

/// A peer has no right to the memory it named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessError;

impl Memory {
    pub(crate) fn register(&mut self, len: u64, access: Access) -> Result<MemoryRegion, VerbError> {
        if len == 0 || len > MAX_REGION {
            return Err(VerbError::OutOfRange("length"));
        }
        let mut access = access;
        if access.contains(Access::REMOTE_WRITE) || access.contains(Access::REMOTE_ATOMIC) {
            access |= Access::LOCAL_WRITE;
        }
        self.registered += 1;
        let handle = MemoryHandle(self.registered);
        let va = self.next_va.max(FIRST_VA);
        self.next_va = va + len.next_multiple_of(PAGE) + PAGE;
        // The index in the upper bits, and a low byte that changes, as the verbs' keys have.
        let rkey = RKey::new(self.registered << 8 | self.registered.wrapping_mul(0x35) & 0xff);
        let bytes = vec![0; len as usize];
        self.regions.insert(handle, Region { va, bytes, rkey, access, key_valid: true });
        Ok(MemoryRegion { handle, va, len, lkey: rkey.get(), rkey })
    }

    pub(crate) fn deregister(&mut self, handle: MemoryHandle) -> Result<(), VerbError> {
        self.regions.remove(&handle).map(drop).ok_or(VerbError::NoSuchObject)
    }

    pub(crate) fn exists(&self, handle: MemoryHandle) -> bool {
        self.regions.contains_key(&handle)
    }

    /// The software's own view of a region.
    pub(crate) fn bytes(&self, handle: MemoryHandle, offset: u64, len: u64) -> Result<&[u8], VerbError> {
        let region = self.regions.get(&handle).ok_or(VerbError::NoSuchObject)?;
        let range = within(region.bytes.len(), offset, len).ok_or(VerbError::OutOfRange("offset"))?;
        Ok(&region.bytes[range])
    }

    /// As [`Memory::bytes`], to write.
    pub(crate) fn bytes_mut(&mut self, handle: MemoryHandle, offset: u64, len: u64) -> Result<&mut [u8], VerbError> {
        let region = self.regions.get_mut(&handle).ok_or(VerbError::NoSuchObject)?;
        let range = within(region.bytes.len(), offset, len).ok_or(VerbError::OutOfRange("offset"))?;
        Ok(&mut region.bytes[range])
    }

    /// True when the software's own request may use this range so.
    pub(crate) fn allows_local(&self, handle: MemoryHandle, offset: u64, len: u64, right: Access) -> bool {
        self.regions
            .get(&handle)
            .is_some_and(|region| region.access.contains(right) && within(region.bytes.len(), offset, len).is_some())
    }

    /// Places received data. Gives `None` where the buffer is not the device's to write.
    pub(crate) fn place(&mut self, handle: MemoryHandle, offset: u64, data: &[u8]) -> Option<()> {
        let writable = self.regions.get(&handle)?.access.contains(Access::LOCAL_WRITE);
        let buffer = self.bytes_mut(handle, offset, data.len() as u64).ok()?;
        writable.then(|| buffer.copy_from_slice(data))
    }

    /// Which region a peer may use so, with key, range and rights checked.
    pub(crate) fn authorize(
        &self,
        rkey: RKey,
        va: u64,
        len: u64,
        right: Access,
        defects: Defects,
    ) -> Result<MemoryHandle, AccessError> {
        let handle = self.still_authorize(rkey, va, right, defects)?;
        // rule: rc.responder.range
        if !self.regions[&handle].covers_range(va, len, defects) {
            return Err(AccessError);
        }
        Ok(handle)
    }

    /// As [`Memory::authorize`], for the later parts of a range that was let in: key and rights may have gone since.
    pub(crate) fn still_authorize(
        &self,
        rkey: RKey,
        va: u64,
        right: Access,
        defects: Defects,
    ) -> Result<MemoryHandle, AccessError> {
        // rule: rc.responder.rkey
        let names = |region: &Region| region.key_valid && region.rkey == rkey;
        let guessed = |region: &Region| defects.has(Defect::IgnoresRkey) && region.covers(va);
        let (handle, region) =
            self.regions.iter().find(|(_, region)| names(region) || guessed(region)).ok_or(AccessError)?;
        // rule: rc.responder.rights
        if !region.access.contains(right) && !defects.has(Defect::IgnoresRights) {
            return Err(AccessError);
        }
        Ok(*handle)
    }

    /// Writes for a peer that [`Memory::authorize`] let in. Bytes outside the region, which only a defect lets through,
    /// are lost.
    pub(crate) fn write_remote(&mut self, handle: MemoryHandle, va: u64, data: &[u8]) {
        if let Some(region) = self.regions.get_mut(&handle)
            && let Some(offset) = region.offset(va)
        {
            let room = &mut region.bytes[offset..];
            let count = room.len().min(data.len());
            room[..count].copy_from_slice(&data[..count]);
        }
    }

    /// What a peer that [`Memory::authorize`] let in reads. Bytes outside the region, which only a defect lets it ask for,
    /// are zero.
    pub(crate) fn read_remote(&self, handle: MemoryHandle, va: u64, len: u32) -> Payload {
        let Some(region) = self.regions.get(&handle) else { return Payload::None };
        let there = region.offset(va).map_or(&[][..], |offset| &region.bytes[offset..]);
        if there.len() >= len as usize {
            return Payload::Memory { mr: handle, offset: va - region.va, len };
        }
        let mut data = vec![0; len as usize];
        data[..there.len()].copy_from_slice(there);
        Payload::Bytes(data)
    }

    /// Invalidates a key on a peer's behalf.
    pub(crate) fn invalidate(&mut self, rkey: RKey) -> Result<(), AccessError> {
        let region = self.regions.values_mut().find(|region| region.rkey == rkey && region.key_valid);
        region.ok_or(AccessError)?.key_valid = false;
        Ok(())
    }
}

impl Region {
    fn end(&self) -> u64 {
        self.va + self.bytes.len() as u64
    }

    fn covers(&self, va: u64) -> bool {
        va >= self.va && va < self.end()
    }

    fn covers_range(&self, va: u64, len: u64, defects: Defects) -> bool {
        let end = if defects.has(Defect::RangeWraps) { Some(va.wrapping_add(len)) } else { va.checked_add(len) };
        let limit = if defects.has(Defect::RangeOffByOne) { self.end() + 1 } else { self.end() };
        // Whatever a defect lets through stays as short as the largest region.
        len <= MAX_REGION && va >= self.va && end.is_some_and(|end| end <= limit)
    }

    fn offset(&self, va: u64) -> Option<usize> {
        let offset = va.checked_sub(self.va)?;
        usize::try_from(offset).ok().filter(|offset| *offset <= self.bytes.len())
    }
}

fn within(size: usize, offset: u64, len: u64) -> Option<core::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    (end <= size).then_some(start..end)
}
