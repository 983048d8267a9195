//! The older format: a file header, then records of a header and a frame.

use super::batch::Place;
use super::order::Order;
use super::{CaptureError, Part, Step};
use crate::capture::MAX_BLOCK;

/// Length of the file header in bytes.
pub(super) const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Of the variant that some kernels once wrote: it says the interface and protocol of each frame, too.
const MODIFIED_RECORD_HEADER: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// Is this how a pcap file begins?
pub(super) fn is_magic(bytes: [u8; 4]) -> bool {
    [MICROSECONDS, NANOSECONDS, MODIFIED].contains(&u32::from_le_bytes(bytes))
        || [MICROSECONDS, NANOSECONDS].contains(&u32::from_be_bytes(bytes))
}

/// What the file header says.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Length of the header of a record.
    record_header: usize,
    /// Nanoseconds in a unit of a timestamp's fraction.
    unit_ns: u64,
    linktype: u32,
}

impl Pcap {
    /// Reads the file header, which begins with a magic number.
    pub(super) fn open(header: &[u8; FILE_HEADER]) -> Self {
        let is_little = [MICROSECONDS, NANOSECONDS, MODIFIED].contains(&Order::Little.u32(header, 0));
        let order = if is_little { Order::Little } else { Order::Big };
        let magic = order.u32(header, 0);
        Self {
            order,
            record_header: if magic == MODIFIED { MODIFIED_RECORD_HEADER } else { RECORD_HEADER },
            unit_ns: if magic == NANOSECONDS { 1 } else { 1_000 },
            // The upper half says how long a captured FCS is.
            linktype: order.u32(header, 20) & 0xffff,
        }
    }

    /// The record at the beginning of `bytes`, which lie at `start` of the file.
    #[inline]
    pub(super) fn step(&self, bytes: &[u8], start: u64) -> Result<Step, CaptureError> {
        let before = self.record_header;
        let Some((header, behind)) = bytes.split_at_checked(before) else {
            return Ok(Step::part("the header of a record", before));
        };
        let len = self.order.u32(header, 8);
        if len as usize > MAX_BLOCK {
            return Err(CaptureError::new(
                start,
                format!("a record says that its frame has {len} bytes, which no frame has"),
                "the file is damaged here, or at the record before",
            ));
        }
        if behind.len() < len as usize {
            return Ok(Step::Part(Part { thing: "a frame", before, wanted: len as usize }));
        }
        let (seconds, fraction) = (self.order.u32(header, 0), self.order.u32(header, 4));
        let frame = Place {
            // At most 2^32 * 10^9 + 2^32 * 10^3: far from the end of 64 bits.
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit_ns,
            interface: 0,
            linktype: self.linktype,
            original_len: self.order.u32(header, 12),
            start: before as u32,
            len,
            options: 0,
            order: self.order,
        };
        Ok(Step::Whole { len: before + len as usize, frame: Some(frame) })
    }
}
