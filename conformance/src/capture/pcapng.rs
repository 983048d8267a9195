//! Writes pcapng: one section, an interface with nanoseconds for each link type, one block per frame.
//!
//! The same frames give the same bytes: no date, no host name, no version is written.
//! The format is draft-ietf-opsawg-pcapng; the numbers in brackets are its sections.

use std::io::{self, Write};

use super::{CapturedFrame, LINKTYPE_ETHERNET, MAX_BLOCK};

/// Which way a frame went, seen from the tester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device to the tester.
    Inbound,
    /// From the tester to the device.
    Outbound,
}

/// Longest comment in bytes; a longer one is cut and ends with `…`.
pub const MAX_COMMENT: usize = 1024;

/// Room in a block for everything that is not the frame.
const OVERHEAD: usize = 64 + MAX_COMMENT;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// A pcapng file in the making.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    /// Link types of the interfaces so far.
    interfaces: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a file of the suite's own: section header and the tester's Ethernet interface are written at once.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Writer::bare(out)?;
        writer.interface(LINKTYPE_ETHERNET, Some("tester"))?;
        Ok(writer)
    }

    /// Begins a file without an interface, for [`Writer::copy`].
    pub fn bare(mut out: W) -> io::Result<Self> {
        let mut section = Block::new(SECTION_HEADER);
        section.u32(0x1a2b_3c4d); // byte order, 4.1
        section.u16(1); // version 1.0
        section.u16(0);
        section.bytes(&(-1i64).to_le_bytes()); // length of the section: not known
        section.option(SHB_USERAPPL, b"rocespec");
        section.end_of_options();
        out.write_all(&section.finish())?;
        Ok(Self { out, interfaces: Vec::new() })
    }

    fn interface(&mut self, linktype: u32, name: Option<&str>) -> io::Result<()> {
        let mut interface = Block::new(INTERFACE_DESCRIPTION);
        interface.u16(linktype as u16);
        interface.u16(0);
        interface.u32(0); // no limit on the length of a frame
        if let Some(name) = name {
            interface.option(IF_NAME, name.as_bytes());
        }
        interface.option(IF_TSRESOL, &[9]); // 10^-9 s
        interface.end_of_options();
        self.interfaces.push(linktype);
        self.out.write_all(&interface.finish())
    }

    /// Adds a frame of another capture as it is there: time, link type, lengths and comment.
    ///
    /// Fails with [`io::ErrorKind::InvalidInput`] when the frame is longer than [`MAX_BLOCK`] allows.
    pub fn copy(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        let interface = match self.interfaces.iter().position(|known| *known == captured.linktype) {
            Some(interface) => interface,
            None => {
                self.interface(captured.linktype, None)?;
                self.interfaces.len() - 1
            }
        };
        let comment = captured.comment.as_deref();
        self.packet(interface, captured.time_ns, &captured.data, captured.original_len, None, comment)
    }

    /// Adds a frame, from the Ethernet header to the last byte before the FCS.
    ///
    /// `time_ns` counts from the start of the case, so a viewer that shows dates shows 1 January 1970. `comment` is for
    /// the reader: the step of the script that the frame belongs to.
    ///
    /// Fails with [`io::ErrorKind::InvalidInput`] when the frame is longer than [`MAX_BLOCK`] allows.
    pub fn frame(&mut self, time_ns: u64, direction: Direction, frame: &[u8], comment: Option<&str>) -> io::Result<()> {
        let original_len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.packet(0, time_ns, frame, original_len, Some(direction), comment)
    }

    fn packet(
        &mut self,
        interface: usize,
        time_ns: u64,
        frame: &[u8],
        original_len: u32,
        direction: Option<Direction>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let length = match u32::try_from(frame.len()) {
            Ok(length) if frame.len() <= MAX_BLOCK - OVERHEAD => length,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a frame is too long for a capture file")),
        };
        let mut block = Block::new(ENHANCED_PACKET);
        block.u32(interface as u32);
        block.u32((time_ns >> 32) as u32);
        block.u32(time_ns as u32);
        block.u32(length); // captured
        block.u32(original_len);
        block.bytes(frame);
        // 4.3.1: bits 0 and 1 are the direction.
        if let Some(direction) = direction {
            let flags: u32 = match direction {
                Direction::Inbound => 0b01,
                Direction::Outbound => 0b10,
            };
            block.option(EPB_FLAGS, &flags.to_le_bytes());
        }
        if let Some(comment) = comment.filter(|comment| !comment.is_empty()) {
            block.option(OPT_COMMENT, shortened(comment).as_bytes());
        }
        block.end_of_options();
        self.out.write_all(&block.finish())
    }

    /// Ends the file and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// At most [`MAX_COMMENT`] bytes of `comment`, cut between characters.
fn shortened(comment: &str) -> String {
    const MORE: &str = "…";
    if comment.len() <= MAX_COMMENT {
        return comment.to_owned();
    }
    let mut end = MAX_COMMENT - MORE.len();
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MORE}", &comment[..end])
}

/// A block: type, length, body, length again. Everything is little-endian and padded to four bytes.
struct Block {
    bytes: Vec<u8>,
}

impl Block {
    fn new(kind: u32) -> Self {
        let mut block = Self { bytes: Vec::with_capacity(128) };
        block.u32(kind);
        block.u32(0); // its length, known at the end
        block
    }

    fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Bytes, padded.
    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// An option; every value that is written here is far below the 64 KiB that one can hold.
    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes(value);
    }

    fn end_of_options(&mut self) {
        self.option(OPT_END, &[]);
    }

    fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32 + 4;
        self.u32(length);
        self.bytes[4..8].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}
