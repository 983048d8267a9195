//! Registered memory: keys, ranges, rights, bytes.
//!
//! A key is the number of its object and a byte that changes, as the verbs' keys are: the number finds the object, the
//! byte tells keys that were from those that are.

mod region;
mod window;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rocespec_codec::RKey;

use crate::defect::{Defect, Defects};
use crate::packet::Payload;
use crate::verbs::{Access, MAX_REGION, MemoryHandle, MemoryRegion, PdHandle, QpHandle, VerbError, WindowHandle};
use region::Region;
use window::Window;

pub(crate) use window::Binding;

/// Address of the first region. Page-aligned; behind each region an unmapped page follows.
const FIRST_VA: u64 = 0x7f00_0000_0000;
const PAGE: u64 = 4096;

/// Object numbers stay below: keys have 24 bits for them.
const MAX_OBJECTS: usize = 1 << 24;

/// All regions and windows of an endpoint. Handles, keys and addresses follow from the order of registration and are not
/// reused.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    slots: Vec<Option<Box<Object>>>,
    next_va: u64,
}

#[derive(Debug)]
enum Object {
    Region(Region),
    Window(Window),
}

/// A peer has no right to the memory it named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessError;

/// On whose behalf memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pd: PdHandle,
    pub(crate) qp: QpHandle,
}

/// What a key opens.
#[derive(Debug, Clone, Copy)]
struct Grant {
    region: MemoryHandle,
    start: u64,
    end: u64,
    access: Access,
    pd: PdHandle,
}

impl Memory {
    pub(crate) fn register(&mut self, pd: PdHandle, len: u64, access: Access) -> Result<MemoryRegion, VerbError> {
        if len == 0 || len > MAX_REGION {
            return Err(VerbError::OutOfRange("length"));
        }
        let mut access = access;
        if access.contains(Access::REMOTE_WRITE) || access.contains(Access::REMOTE_ATOMIC) {
            access |= Access::LOCAL_WRITE;
        }
        let va = self.next_va.max(FIRST_VA);
        let next_va = va + len.next_multiple_of(PAGE) + PAGE;
        let number = self.insert(|key| Object::Region(Region::new(pd, va, len, key, access)))?;
        self.next_va = next_va;
        let rkey = first_key(number);
        Ok(MemoryRegion { handle: MemoryHandle(number), va, len, lkey: rkey.get(), rkey })
    }

    /// Takes a region away, unless a window is bound to it.
    pub(crate) fn deregister(&mut self, handle: MemoryHandle, defects: Defects) -> Result<(), VerbError> {
        let region = self.own_region_mut(handle).ok_or(VerbError::NoSuchObject)?;
        // rule: memory.responder.bound-region
        if region.windows > 0 && !defects.has(Defect::DeregistersBoundRegion) {
            return Err(VerbError::InUse);
        }
        // rule: memory.responder.deregister
        if defects.has(Defect::KeyOutlivesRegion) {
            region.is_gone = true;
        } else {
            self.slots[slot(handle.0)] = None;
        }
        Ok(())
    }

    pub(crate) fn exists(&self, handle: MemoryHandle) -> bool {
        self.own_region(handle).is_some()
    }

    /// The protection domain of a region that the software has.
    pub(crate) fn pd(&self, handle: MemoryHandle) -> Option<PdHandle> {
        self.own_region(handle).map(|region| region.pd)
    }

    /// The software's own view of a region.
    pub(crate) fn bytes(&self, handle: MemoryHandle, offset: u64, len: u64) -> Result<&[u8], VerbError> {
        let region = self.region(handle).ok_or(VerbError::NoSuchObject)?;
        let range = region.within(offset, len).ok_or(VerbError::OutOfRange("offset"))?;
        Ok(&region.bytes[range])
    }

    /// As [`Memory::bytes`], to write.
    pub(crate) fn bytes_mut(&mut self, handle: MemoryHandle, offset: u64, len: u64) -> Result<&mut [u8], VerbError> {
        let region = self.own_region_mut(handle).ok_or(VerbError::NoSuchObject)?;
        let range = region.within(offset, len).ok_or(VerbError::OutOfRange("offset"))?;
        Ok(&mut region.bytes[range])
    }

    /// True when the software's own request may use this range so.
    pub(crate) fn allows_local(
        &self,
        pd: PdHandle,
        handle: MemoryHandle,
        offset: u64,
        len: u64,
        right: Access,
        defects: Defects,
    ) -> bool {
        self.own_region(handle).is_some_and(|region| {
            // rule: memory.requester.pd
            (region.pd == pd || defects.has(Defect::IgnoresPdOfBuffers))
                && region.access.contains(right)
                && region.within(offset, len).is_some()
        })
    }

    /// Places received data. Gives `None` where the buffer is not the device's to write.
    pub(crate) fn place(
        &mut self,
        pd: PdHandle,
        handle: MemoryHandle,
        offset: u64,
        data: &[u8],
        defects: Defects,
    ) -> Option<()> {
        self.allows_local(pd, handle, offset, data.len() as u64, Access::LOCAL_WRITE, defects).then_some(())?;
        self.bytes_mut(handle, offset, data.len() as u64).ok()?.copy_from_slice(data);
        Some(())
    }

    /// Which region a peer may use so, with key, range and rights checked.
    pub(crate) fn authorize(
        &self,
        owner: Owner,
        rkey: RKey,
        va: u64,
        len: u64,
        right: Access,
        defects: Defects,
    ) -> Result<MemoryHandle, AccessError> {
        let grant = self.grant(owner, rkey, va, right, defects)?;
        // rule: rc.responder.range, memory.responder.window-range
        if grant.covers(va, len, defects) { Ok(grant.region) } else { Err(AccessError) }
    }

    /// As [`Memory::authorize`]; without a length for key and rights alone.
    pub(crate) fn authorize_part(
        &self,
        owner: Owner,
        rkey: RKey,
        va: u64,
        len: Option<u64>,
        right: Access,
        defects: Defects,
    ) -> Result<MemoryHandle, AccessError> {
        match len {
            Some(len) => self.authorize(owner, rkey, va, len, right, defects),
            None => self.grant(owner, rkey, va, right, defects).map(|grant| grant.region),
        }
    }

    /// What a key opens for a peer of `owner`.
    fn grant(&self, owner: Owner, rkey: RKey, va: u64, right: Access, defects: Defects) -> Result<Grant, AccessError> {
        let grant = match self.numbered(rkey.get() >> 8) {
            // rule: rc.responder.rkey
            Some(Object::Region(region)) if region.opens(rkey) => Some(region.grant(MemoryHandle(rkey.get() >> 8))),
            Some(Object::Window(window)) => window.grant(owner, rkey, self, defects),
            _ => None,
        };
        let guessed = || if defects.has(Defect::IgnoresRkey) { self.guess(owner, va) } else { None };
        let grant = grant.or_else(guessed).ok_or(AccessError)?;
        // rule: memory.responder.pd
        let is_foreign = grant.pd != owner.pd && !defects.has(Defect::IgnoresPdOfKeys);
        // rule: rc.responder.rights, memory.responder.window-rights
        let lacks_right = !grant.access.contains(right) && !defects.has(Defect::IgnoresRights);
        if is_foreign || lacks_right { Err(AccessError) } else { Ok(grant) }
    }

    /// The region at an address, whatever its key.
    fn guess(&self, owner: Owner, va: u64) -> Option<Grant> {
        let mut grants = (1..).zip(&self.slots).filter_map(|(number, slot)| match slot.as_deref() {
            Some(Object::Region(region)) => Some(region.grant(MemoryHandle(number))),
            _ => None,
        });
        grants.find(|grant| (grant.start..grant.end).contains(&va)).map(|grant| Grant { pd: owner.pd, ..grant })
    }

    /// Writes for a peer that [`Memory::authorize`] let in. Bytes outside the region, which only a defect lets through,
    /// are lost.
    pub(crate) fn write_remote(&mut self, handle: MemoryHandle, va: u64, data: &[u8]) {
        if let Some(Object::Region(region)) = self.numbered_mut(handle.0)
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
        let Some(region) = self.region(handle) else { return Payload::None };
        let there = region.offset(va).map_or(&[][..], |offset| &region.bytes[offset..]);
        if there.len() >= len as usize {
            return Payload::Memory { mr: handle, offset: va - region.va, len };
        }
        let mut data = vec![0; len as usize];
        data[..there.len()].copy_from_slice(there);
        Payload::Bytes(data)
    }

    /// Invalidates a key: that of a window of type 2, or where `plain_regions` says so that of a region.
    ///
    /// rule: memory.responder.window-invalidate
    pub(crate) fn invalidate(
        &mut self,
        owner: Owner,
        rkey: RKey,
        plain_regions: bool,
        defects: Defects,
    ) -> Result<(), AccessError> {
        let number = rkey.get() >> 8;
        match self.numbered_mut(number) {
            Some(Object::Region(region)) if plain_regions && region.opens(rkey) && region.pd == owner.pd => {
                region.key_valid = false;
                Ok(())
            }
            Some(Object::Window(window)) if window.can_invalidate(owner, rkey) => {
                if !defects.has(Defect::WindowSurvivesInvalidate) {
                    self.unbind(WindowHandle(number));
                }
                Ok(())
            }
            _ => Err(AccessError),
        }
    }

    fn insert(&mut self, make: impl FnOnce(RKey) -> Object) -> Result<u32, VerbError> {
        let number = self.slots.len() + 1;
        if number >= MAX_OBJECTS {
            return Err(VerbError::OutOfRange("memory objects"));
        }
        self.slots.push(Some(Box::new(make(first_key(number as u32)))));
        Ok(number as u32)
    }

    fn numbered(&self, number: u32) -> Option<&Object> {
        self.slots.get(slot(number))?.as_deref()
    }

    fn numbered_mut(&mut self, number: u32) -> Option<&mut Object> {
        self.slots.get_mut(slot(number))?.as_deref_mut()
    }

    fn region(&self, handle: MemoryHandle) -> Option<&Region> {
        match self.numbered(handle.0) {
            Some(Object::Region(region)) => Some(region),
            _ => None,
        }
    }

    /// A region that the software still has.
    fn own_region(&self, handle: MemoryHandle) -> Option<&Region> {
        self.region(handle).filter(|region| !region.is_gone)
    }

    fn own_region_mut(&mut self, handle: MemoryHandle) -> Option<&mut Region> {
        match self.numbered_mut(handle.0) {
            Some(Object::Region(region)) if !region.is_gone => Some(region),
            _ => None,
        }
    }
}

impl Grant {
    fn covers(&self, va: u64, len: u64, defects: Defects) -> bool {
        let end = if defects.has(Defect::RangeWraps) { Some(va.wrapping_add(len)) } else { va.checked_add(len) };
        let limit = if defects.has(Defect::RangeOffByOne) { self.end + 1 } else { self.end };
        // Whatever a defect lets through stays as short as the largest region.
        len <= MAX_REGION && va >= self.start && end.is_some_and(|end| end <= limit)
    }
}

/// Handles count from 1. That of nothing, 0, is in no slot.
fn slot(number: u32) -> usize {
    (number as usize).wrapping_sub(1)
}

fn first_key(number: u32) -> RKey {
    RKey::new(number << 8 | number.wrapping_mul(0x35) & 0xff)
}
