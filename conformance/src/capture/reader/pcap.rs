//! The older format: a file header, then records of a header and a frame.

use std::io::Read;

use pcap_parser::pcap::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header};

use super::source::Source;
use super::{CaptureError, CapturedFrame};
use crate::capture::MAX_BLOCK;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Of the variant that some kernels once wrote: it says the interface and protocol of each frame, too.
const MODIFIED_RECORD_HEADER: usize = 24;

/// Is this how a pcap file begins?
pub(super) fn is_magic(bytes: &[u8]) -> bool {
    let Ok(bytes) = <[u8; 4]>::try_from(bytes) else { return false };
    let magics = [0xa1b2_c3d4, 0xa1b2_3c4d];
    magics.contains(&u32::from_le_bytes(bytes))
        || magics.contains(&u32::from_be_bytes(bytes))
        || u32::from_le_bytes(bytes) == 0xa1b2_cd34
}

/// What the file header says.
#[derive(Debug)]
pub(super) struct Pcap {
    big_endian: bool,
    modified: bool,
    /// Nanoseconds in a unit of a timestamp's fraction.
    unit_ns: u64,
    linktype: u32,
    record: Vec<u8>,
}

impl Pcap {
    /// Reads the rest of the file header, whose first bytes are `magic`.
    pub(super) fn open<R: Read>(source: &mut Source<R>, magic: Vec<u8>) -> Result<Self, CaptureError> {
        let mut bytes = magic;
        source.read(FILE_HEADER - bytes.len(), &mut bytes)?;
        let Ok((_, header)) = parse_pcap_header(&bytes) else {
            return Err(CaptureError::truncated(0, "the file header", FILE_HEADER, bytes.len()));
        };
        Ok(Self {
            big_endian: header.is_bigendian(),
            modified: header.is_modified_format(),
            unit_ns: if header.is_nanosecond_precision() { 1 } else { 1_000 },
            // The upper half says how long a captured FCS is.
            linktype: u32::from(header.network.0 as u16),
            record: bytes,
        })
    }

    /// The next frame, not yet numbered.
    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<CapturedFrame>, CaptureError> {
        let start = source.offset();
        let header_len = if self.modified { MODIFIED_RECORD_HEADER } else { RECORD_HEADER };
        self.record.clear();
        match source.read(header_len, &mut self.record)? {
            0 => return Ok(None),
            got if got < header_len => {
                return Err(CaptureError::truncated(start, "the header of a record", header_len, got));
            }
            _ => {}
        }
        let length = [8, 9, 10, 11].map(|at| self.record[at]);
        let length = if self.big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
        if length > MAX_BLOCK {
            return Err(CaptureError::new(
                start,
                format!("a record says that its frame has {length} bytes, which no frame has"),
                "the file is damaged here, or at the record before",
            ));
        }
        let got = source.read(length, &mut self.record)?;
        let parse = match (self.modified, self.big_endian) {
            (true, _) => parse_pcap_frame_modified,
            (_, true) => parse_pcap_frame_be,
            (_, false) => parse_pcap_frame,
        };
        let Ok((_, record)) = parse(&self.record) else {
            return Err(CaptureError::truncated(start, "a frame", length, got));
        };
        Ok(Some(CapturedFrame {
            number: 0,
            // At most 2^32 * 10^9 + 2^32 * 10^3: far from the end of 64 bits.
            time_ns: u64::from(record.ts_sec) * 1_000_000_000 + u64::from(record.ts_usec) * self.unit_ns,
            interface: 0,
            linktype: self.linktype,
            original_len: record.origlen,
            data: record.data.to_vec(),
            comment: None,
        }))
    }
}
