//! pcapng: sections of blocks; the frames lie in packet blocks, all else is passed over.
//!
//! The format is draft-ietf-opsawg-pcapng; the numbers in brackets are its sections.

mod interface;
mod options;

use super::batch::Place;
use super::order::Order;
use super::{CaptureError, Step};
use crate::capture::MAX_BLOCK;
use interface::Interface;
pub(super) use options::Options;

/// The first bytes of a section header, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Gone from the format since 2009.
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Type and length in front, the length again behind.
const FRONT: usize = 8;
const BEHIND: usize = 4;
/// Interfaces of one section beyond which the file is taken for damaged.
const MAX_INTERFACES: usize = 1 << 16;
/// A cause that fits most damages.
const DAMAGED: &str = "the file is damaged here; everything before it is good";

/// The section that we are in.
#[derive(Debug, Default)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

impl Pcapng {
    /// The block at the beginning of `bytes`, which lie at `start` of the file.
    #[inline]
    pub(super) fn step(&mut self, bytes: &[u8], start: u64) -> Result<Step, CaptureError> {
        let Some(kind) = bytes.first_chunk::<4>() else { return Ok(Step::part("the type of a block", 4)) };
        // A section header says its byte order behind its length.
        let is_section = *kind == MAGIC;
        let head = if is_section { FRONT + 4 } else { FRONT };
        if bytes.len() < head {
            return Ok(Step::part("the head of a block", head));
        }
        if is_section {
            self.order = match bytes[FRONT..head] {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                _ => return Err(CaptureError::new(start, "a section header without a byte order", DAMAGED)),
            };
        }
        let length = self.order.u32(bytes, 4) as usize;
        if length < head.max(FRONT + BEHIND) || !length.is_multiple_of(4) || length > MAX_BLOCK {
            return Err(CaptureError::new(
                start,
                format!("a block says that it has {length} bytes, which no block has"),
                "the file is damaged here, or at the block before",
            ));
        }
        let Some(block) = bytes.get(..length) else { return Ok(Step::part("a block", length)) };
        let again = self.order.u32(block, length - BEHIND) as usize;
        if again != length {
            return Err(CaptureError::new(
                start,
                format!("a block has {length} bytes by its head and {again} by its end"),
                DAMAGED,
            ));
        }
        let frame = self.block(self.order.u32(block, 0), &block[..length - BEHIND], start)?;
        Ok(Step::Whole { len: length, frame })
    }

    /// Takes in a block without the length behind it, and gives the frame in it.
    #[inline]
    fn block(&mut self, kind: u32, block: &[u8], start: u64) -> Result<Option<Place>, CaptureError> {
        match kind {
            ENHANCED_PACKET => return self.enhanced_packet(block, start).map(Some),
            SIMPLE_PACKET => return self.simple_packet(block, start).map(Some),
            SECTION_HEADER => self.section(block, start)?,
            INTERFACE_DESCRIPTION => self.interface(block, start)?,
            OBSOLETE_PACKET => {
                return Err(CaptureError::new(
                    start,
                    "a frame lies in a Packet Block, which is obsolete and not read here",
                    "write the file anew: editcap -F pcapng IN OUT",
                ));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Byte order, version, length of the section, options (4.1).
    fn section(&mut self, block: &[u8], start: u64) -> Result<(), CaptureError> {
        const OPTIONS: usize = 24;
        if block.len() < OPTIONS {
            return Err(CaptureError::new(start, "a section header is too short", DAMAGED));
        }
        let (major, minor) = (self.order.u16(block, 12), self.order.u16(block, 14));
        if major != 1 {
            return Err(CaptureError::new(
                start,
                format!("pcapng version {major}.{minor} is not known"),
                "only version 1 is in use; the file may be damaged",
            ));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, block: &[u8], start: u64) -> Result<(), CaptureError> {
        let Some(interface) = Interface::read(block, self.order) else {
            return Err(CaptureError::new(start, "an interface description is too short", DAMAGED));
        };
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(CaptureError::new(start, format!("more than {MAX_INTERFACES} interfaces"), DAMAGED));
        }
        self.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    fn interface_of(&self, id: u32, start: u64) -> Result<&Interface, CaptureError> {
        self.interfaces.get(id as usize).ok_or_else(|| {
            CaptureError::new(
                start,
                format!("a frame names interface {id}; this section describes {} so far", self.interfaces.len()),
                DAMAGED,
            )
        })
    }

    /// Interface, time in two halves, captured and original length, frame, padding, options (4.3).
    #[inline]
    fn enhanced_packet(&self, block: &[u8], start: u64) -> Result<Place, CaptureError> {
        const FRAME: usize = FRONT + 20;
        let short =
            || CaptureError::new(start, "a packet block is shorter than the frame that it says it holds", DAMAGED);
        let (header, behind) = block.split_at_checked(FRAME).ok_or_else(short)?;
        let word = |at| self.order.u32(header, FRONT + at);
        let len = word(12);
        let padded = len.checked_next_multiple_of(4).ok_or_else(short)?;
        let options = (behind.len() as u32).checked_sub(padded).ok_or_else(short)?;
        let interface = self.interface_of(word(0), start)?;
        Ok(Place {
            time_ns: interface.nanoseconds(u64::from(word(4)) << 32 | u64::from(word(8))),
            interface: word(0),
            linktype: interface.linktype,
            original_len: word(16),
            start: FRAME as u32,
            len,
            options,
            order: self.order,
        })
    }

    /// Original length, and as much of the frame as the snap length of the interface allows (4.4).
    fn simple_packet(&self, block: &[u8], start: u64) -> Result<Place, CaptureError> {
        const FRAME: usize = FRONT + 4;
        let Some(behind) = block.get(FRAME..) else {
            return Err(CaptureError::new(start, "a simple packet block is too short", DAMAGED));
        };
        let interface = self.interface_of(0, start)?;
        let original_len = self.order.u32(block, FRONT);
        let len = original_len.min(interface.longest_frame());
        if len as usize > behind.len() {
            return Err(CaptureError::new(
                start,
                format!("a simple packet block has no room for the {len} bytes that it says it holds"),
                DAMAGED,
            ));
        }
        Ok(Place {
            time_ns: 0,
            interface: 0,
            linktype: interface.linktype,
            original_len,
            start: FRAME as u32,
            len,
            options: 0,
            order: self.order,
        })
    }
}
