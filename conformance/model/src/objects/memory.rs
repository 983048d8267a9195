//! Memory: regions and windows.

use alloc::vec::Vec;

use crate::endpoint::Endpoint;
use crate::verbs::{Access, MemoryHandle, MemoryRegion, MemoryWindow, PdHandle, VerbError, WindowHandle, WindowKind};

impl Endpoint {
    /// Registers zeroed memory. Remote write and remote atomic rights bring local write with them.
    ///
    /// # Errors
    /// When `length` is 0 or above [`crate::MAX_REGION`], or 2^24 - 1 regions and windows were made already.
    pub fn register_memory(&mut self, length: u64, access: Access) -> Result<MemoryRegion, VerbError> {
        self.register_memory_in(PdHandle::DEFAULT, length, access)
    }

    /// As [`Endpoint::register_memory`], in a protection domain: only queue pairs of the same one can use it.
    ///
    /// # Errors
    /// As there, and when there is no such domain.
    pub fn register_memory_in(&mut self, pd: PdHandle, length: u64, access: Access) -> Result<MemoryRegion, VerbError> {
        self.check_pd(pd)?;
        let region = self.memory.register(pd, length, access)?;
        self.pds.hold(pd.0);
        Ok(region)
    }

    /// Takes memory back; its keys stop to work.
    ///
    /// # Errors
    /// When there is no such region, or a memory window is bound to it.
    pub fn deregister_memory(&mut self, mr: MemoryHandle) -> Result<(), VerbError> {
        let pd = self.memory.pd(mr).ok_or(VerbError::NoSuchObject)?;
        self.memory.deregister(mr, self.config.defects)?;
        self.pds.release(pd.0);
        Ok(())
    }

    /// Puts bytes into a region.
    ///
    /// # Errors
    /// When there is no such region, or the bytes do not fit it.
    pub fn write_memory(&mut self, mr: MemoryHandle, offset: u64, data: &[u8]) -> Result<(), VerbError> {
        self.memory.bytes_mut(mr, offset, data.len() as u64)?.copy_from_slice(data);
        Ok(())
    }

    /// Takes bytes out of a region.
    ///
    /// # Errors
    /// When there is no such region, or it does not reach so far.
    pub fn read_memory(&self, mr: MemoryHandle, offset: u64, length: u64) -> Result<Vec<u8>, VerbError> {
        Ok(self.memory.bytes(mr, offset, length)?.to_vec())
    }

    /// Makes a memory window that is bound to nothing. A request of a queue pair binds it.
    ///
    /// # Errors
    /// When there is no such protection domain, or 2^24 - 1 regions and windows were made already.
    pub fn allocate_window(&mut self, pd: PdHandle, kind: WindowKind) -> Result<MemoryWindow, VerbError> {
        self.check_pd(pd)?;
        let window = self.memory.allocate_window(pd, kind)?;
        self.pds.hold(pd.0);
        self.memory.query_window(window)
    }

    /// A window with the key that it has now.
    ///
    /// # Errors
    /// When there is no such window.
    pub fn query_window(&self, window: WindowHandle) -> Result<MemoryWindow, VerbError> {
        self.memory.query_window(window)
    }

    /// Takes a window away, bound or not; its key stops to work.
    ///
    /// # Errors
    /// When there is no such window.
    pub fn deallocate_window(&mut self, window: WindowHandle) -> Result<(), VerbError> {
        let pd = self.memory.query_window(window)?.pd;
        self.memory.deallocate_window(window)?;
        self.pds.release(pd.0);
        Ok(())
    }
}
