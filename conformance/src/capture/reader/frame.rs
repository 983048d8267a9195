//! A frame of a capture file: on its own, or in the batch that it was read with.

use super::pcapng::Options;

/// A frame as it lies in a capture file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Its number in the file, 1 = first, as Wireshark counts.
    pub number: u64,
    /// Nanoseconds since the epoch of the capture: 1970 for most, the start of the case for files of this suite.
    /// A time outside the range is moved to its end. A pcapng Simple Packet Block has no time: 0.
    pub time_ns: u64,
    /// Index of the interface within its section; 0 in a pcap file.
    pub interface: u32,
    /// What the frame begins with: [`crate::capture::LINKTYPE_ETHERNET`], or another number of the tcpdump link types.
    pub linktype: u32,
    /// Its length on the wire in bytes. More than `data.len()` when the capture kept only the beginning.
    pub original_len: u32,
    /// The bytes that were captured.
    pub data: Vec<u8>,
    /// What someone wrote about it; several comments stand on a line each.
    pub comment: Option<String>,
}

/// A frame where it lies, mostly in a [`Batch`](super::Batch). The fields are those of [`CapturedFrame`].
#[derive(Debug, Clone, Copy)]
pub struct FrameRef<'b> {
    /// Its number in the file, 1 = first.
    pub number: u64,
    /// Nanoseconds since the epoch of the capture.
    pub time_ns: u64,
    /// Index of the interface within its section.
    pub interface: u32,
    /// What the frame begins with.
    pub linktype: u32,
    /// Its length on the wire in bytes.
    pub original_len: u32,
    /// The bytes that were captured.
    pub data: &'b [u8],
    pub(super) comment: Comment<'b>,
}

/// Where the comment of a frame is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Comment<'b> {
    /// Still in the file.
    Options(Options<'b>),
    Read(Option<&'b str>),
}

impl CapturedFrame {
    /// The frame as those take it that do not keep it.
    pub fn borrowed(&self) -> FrameRef<'_> {
        FrameRef {
            number: self.number,
            time_ns: self.time_ns,
            interface: self.interface,
            linktype: self.linktype,
            original_len: self.original_len,
            data: &self.data,
            comment: Comment::Read(self.comment.as_deref()),
        }
    }
}

impl FrameRef<'_> {
    /// What someone wrote about it; several comments stand on a line each.
    pub fn comment(&self) -> Option<String> {
        match self.comment {
            Comment::Options(options) => options.comment(),
            Comment::Read(comment) => comment.map(str::to_owned),
        }
    }

    /// The frame on its own.
    pub fn to_captured(&self) -> CapturedFrame {
        CapturedFrame {
            number: self.number,
            time_ns: self.time_ns,
            interface: self.interface,
            linktype: self.linktype,
            original_len: self.original_len,
            data: self.data.to_vec(),
            comment: self.comment(),
        }
    }
}
