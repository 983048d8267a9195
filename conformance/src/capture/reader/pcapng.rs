//! pcapng: sections of blocks; the frames lie in packet blocks, all else is passed over.
//!
//! The blocks are cut out here, so that every error knows its offset and no length is believed unseen; what is in them is
//! pcap-parser's work.

use std::io::Read;

use pcap_parser::pcapng::{
    OptionCode, PcapNGOption, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, parse_sectionheaderblock,
    parse_simplepacketblock_be, parse_simplepacketblock_le,
};
use pcap_parser::traits::PcapNGPacketBlock;

use super::source::Source;
use super::{CaptureError, CapturedFrame};
use crate::capture::MAX_BLOCK;

/// The first bytes of a section header, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Gone from the format since 2009.
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Type, length, length again.
const SHORTEST_BLOCK: usize = 12;
/// Interfaces of one section beyond which the file is taken for damaged.
const MAX_INTERFACES: usize = 1 << 16;
/// A cause that fits most damages.
const DAMAGED: &str = "the file is damaged here; everything before it is good";

/// Where we are in the file.
#[derive(Debug, Default)]
pub(super) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
    block: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    linktype: u32,
    /// Longest frame kept, 0 for no limit.
    snaplen: u32,
    /// `if_tsresol`: 10^-n s, or 2^-n s when the highest bit is set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset_s: i64,
}

impl Pcapng {
    /// Reads the first section header, whose first bytes are `magic`.
    pub(super) fn open<R: Read>(source: &mut Source<R>, magic: Vec<u8>) -> Result<Self, CaptureError> {
        let mut pcapng = Self { block: magic, ..Self::default() };
        pcapng.rest_of_block(source, 0)?;
        pcapng.section(0)?;
        Ok(pcapng)
    }

    /// The next frame, not yet numbered.
    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<CapturedFrame>, CaptureError> {
        loop {
            let start = source.offset();
            self.block.clear();
            match source.read(4, &mut self.block)? {
                0 => return Ok(None),
                got if got < 4 => return Err(CaptureError::truncated(start, "the type of a block", 4, got)),
                _ => {}
            }
            match self.rest_of_block(source, start)? {
                SECTION_HEADER => self.section(start)?,
                INTERFACE_DESCRIPTION => self.interface(start)?,
                ENHANCED_PACKET => return self.enhanced_packet(start).map(Some),
                SIMPLE_PACKET => return self.simple_packet(start).map(Some),
                OBSOLETE_PACKET => {
                    return Err(CaptureError::new(
                        start,
                        "a frame lies in a Packet Block, which is obsolete and not read here",
                        "write the file anew: editcap -F pcapng IN OUT",
                    ));
                }
                _ => {}
            }
        }
    }

    fn u32_at(&self, at: usize) -> u32 {
        let bytes = [0, 1, 2, 3].map(|n| self.block[at + n]);
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// Completes the block at `start`, whose type is already in the buffer. Gives the type.
    fn rest_of_block<R: Read>(&mut self, source: &mut Source<R>, start: u64) -> Result<u32, CaptureError> {
        // A section header says its byte order behind its length.
        let is_section = self.block == MAGIC;
        let head = if is_section { 12 } else { 8 };
        source.read(head - 4, &mut self.block)?;
        if self.block.len() < head {
            return Err(CaptureError::truncated(start, "the head of a block", head, self.block.len()));
        }
        if is_section {
            self.big_endian = match self.block[8..12] {
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                _ => return Err(CaptureError::new(start, "a section header without a byte order", DAMAGED)),
            };
        }
        let length = self.u32_at(4) as usize;
        if length < SHORTEST_BLOCK.max(head) || !length.is_multiple_of(4) || length > MAX_BLOCK {
            return Err(CaptureError::new(
                start,
                format!("a block says that it has {length} bytes, which no block has"),
                "the file is damaged here, or at the block before",
            ));
        }
        source.read(length - head, &mut self.block)?;
        if self.block.len() < length {
            return Err(CaptureError::truncated(start, "a block", length, self.block.len()));
        }
        let again = self.u32_at(length - 4) as usize;
        if again != length {
            return Err(CaptureError::new(
                start,
                format!("a block has {length} bytes by its head and {again} by its end"),
                DAMAGED,
            ));
        }
        Ok(self.u32_at(0))
    }

    fn section(&mut self, start: u64) -> Result<(), CaptureError> {
        let Ok((_, section)) = parse_sectionheaderblock(&self.block) else {
            return Err(CaptureError::new(start, "a section header is too short", DAMAGED));
        };
        if section.major_version != 1 {
            return Err(CaptureError::new(
                start,
                format!("pcapng version {}.{} is not known", section.major_version, section.minor_version),
                "only version 1 is in use; the file may be damaged",
            ));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, start: u64) -> Result<(), CaptureError> {
        let parse =
            if self.big_endian { parse_interfacedescriptionblock_be } else { parse_interfacedescriptionblock_le };
        let Ok((_, block)) = parse(&self.block) else {
            return Err(CaptureError::new(start, "an interface description is too short", DAMAGED));
        };
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(CaptureError::new(start, format!("more than {MAX_INTERFACES} interfaces"), DAMAGED));
        }
        let big_endian = self.big_endian;
        let offset = option(&block.options, OptionCode::IfTsoffset).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        self.interfaces.push(Interface {
            linktype: u32::from(block.linktype.0 as u16),
            snaplen: block.snaplen,
            resolution: option(&block.options, OptionCode::IfTsresol).and_then(|b| b.first().copied()).unwrap_or(6),
            offset_s: offset.map_or(0, |b| if big_endian { i64::from_be_bytes(b) } else { i64::from_le_bytes(b) }),
        });
        Ok(())
    }

    fn interface_of(&self, id: u32, start: u64) -> Result<Interface, CaptureError> {
        self.interfaces.get(id as usize).copied().ok_or_else(|| {
            CaptureError::new(
                start,
                format!("a frame names interface {id}; this section describes {} so far", self.interfaces.len()),
                DAMAGED,
            )
        })
    }

    fn enhanced_packet(&self, start: u64) -> Result<CapturedFrame, CaptureError> {
        let parse = if self.big_endian { parse_enhancedpacketblock_be } else { parse_enhancedpacketblock_le };
        let Ok((_, block)) = parse(&self.block) else {
            return Err(CaptureError::new(
                start,
                "a packet block is shorter than the frame that it says it holds",
                DAMAGED,
            ));
        };
        let interface = self.interface_of(block.if_id, start)?;
        Ok(CapturedFrame {
            number: 0,
            time_ns: interface.nanoseconds(u64::from(block.ts_high) << 32 | u64::from(block.ts_low)),
            interface: block.if_id,
            linktype: interface.linktype,
            original_len: block.origlen,
            data: block.packet_data().to_vec(),
            comment: comment(&block.options),
        })
    }

    fn simple_packet(&self, start: u64) -> Result<CapturedFrame, CaptureError> {
        let parse = if self.big_endian { parse_simplepacketblock_be } else { parse_simplepacketblock_le };
        let Ok((_, block)) = parse(&self.block) else {
            return Err(CaptureError::new(start, "a simple packet block is too short", DAMAGED));
        };
        let interface = self.interface_of(0, start)?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let length = block.origlen.min(limit) as usize;
        let Some(data) = block.data.get(..length) else {
            return Err(CaptureError::new(
                start,
                format!("a simple packet block has no room for the {length} bytes that it says it holds"),
                DAMAGED,
            ));
        };
        Ok(CapturedFrame {
            number: 0,
            time_ns: 0,
            interface: 0,
            linktype: interface.linktype,
            original_len: block.origlen,
            data: data.to_vec(),
            comment: None,
        })
    }
}

impl Interface {
    /// A timestamp in this interface's units as nanoseconds, within the range of 64 bits.
    fn nanoseconds(self, timestamp: u64) -> u64 {
        let timestamp = i128::from(timestamp);
        let exponent = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            (timestamp * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            timestamp * 10i128.pow(9 - exponent)
        } else {
            // A unit so small that its power does not fit makes every timestamp less than a nanosecond.
            10i128.checked_pow(exponent - 9).map_or(0, |units| timestamp / units)
        };
        let ns = ns + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

/// The options up to the end mark.
fn options<'a>(options: &'a [PcapNGOption<'a>]) -> impl Iterator<Item = (OptionCode, &'a [u8])> {
    options
        .iter()
        .take_while(|option| option.code != OptionCode::EndOfOpt)
        .filter_map(|option| Some((option.code, option.as_bytes().ok()?)))
}

fn option<'a>(all: &'a [PcapNGOption<'a>], code: OptionCode) -> Option<&'a [u8]> {
    options(all).find(|option| option.0 == code).map(|option| option.1)
}

fn comment(all: &[PcapNGOption<'_>]) -> Option<String> {
    let comments: Vec<_> = options(all)
        .filter(|option| option.0 == OptionCode::Comment)
        .map(|option| String::from_utf8_lossy(option.1).trim_end_matches('\0').to_owned())
        .collect();
    if comments.is_empty() { None } else { Some(comments.join("\n")) }
}
