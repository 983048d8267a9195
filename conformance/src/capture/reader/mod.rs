//! Reads pcap and pcapng as a stream, with memory for one block.

mod pcap;
mod pcapng;
mod source;

use std::io::Read;

use super::CaptureError;
use source::Source;

/// A frame as it lies in a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Its number in the file, 1 = first, as Wireshark counts.
    pub number: u64,
    /// Nanoseconds since the epoch of the capture: 1970 for most, the start of the case for files of this suite.
    /// A time outside the range is moved to its end. A pcapng Simple Packet Block has no time: 0.
    pub time_ns: u64,
    /// Index of the interface within its section; 0 in a pcap file.
    pub interface: u32,
    /// What the frame begins with: [`super::LINKTYPE_ETHERNET`], or another number of the tcpdump link types.
    pub linktype: u32,
    /// Its length on the wire in bytes. More than `data.len()` when the capture kept only the beginning.
    pub original_len: u32,
    /// The bytes that were captured.
    pub data: Vec<u8>,
    /// What someone wrote about it; several comments stand on a line each.
    pub comment: Option<String>,
}

/// The frames of a capture file, in the order of the file.
///
/// The first bytes tell pcap (micro- and nanoseconds, both byte orders) from pcapng. A damaged or truncated file gives every
/// whole frame before the damage, then one error, then nothing more; a file that is no capture gives an error only.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    state: State,
    frames: u64,
}

#[derive(Debug)]
enum State {
    Unopened,
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
    Done,
}

impl<R: Read> Reader<R> {
    /// Nothing is read before the first frame is asked for. `input` is read through a buffer; it needs none of its own.
    pub fn new(input: R) -> Self {
        Self { source: Source::new(input), state: State::Unopened, frames: 0 }
    }

    fn advance(&mut self) -> Result<Option<CapturedFrame>, CaptureError> {
        if let State::Unopened = self.state {
            self.state = open(&mut self.source)?;
        }
        match &mut self.state {
            State::Pcap(pcap) => pcap.next(&mut self.source),
            State::Pcapng(pcapng) => pcapng.next(&mut self.source),
            State::Unopened | State::Done => Ok(None),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<CapturedFrame, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.advance().transpose();
        match &mut next {
            Some(Ok(frame)) => {
                self.frames += 1;
                frame.number = self.frames;
            }
            Some(Err(_)) | None => self.state = State::Done,
        }
        next
    }
}

impl<R: Read> std::iter::FusedIterator for Reader<R> {}

fn open<R: Read>(source: &mut Source<R>) -> Result<State, CaptureError> {
    let mut magic = Vec::with_capacity(32);
    source.read(4, &mut magic)?;
    if magic == pcapng::MAGIC {
        Ok(State::Pcapng(pcapng::Pcapng::open(source, magic)?))
    } else if pcap::is_magic(&magic) {
        Ok(State::Pcap(pcap::Pcap::open(source, magic)?))
    } else {
        Err(unknown(&magic))
    }
}

/// Says what a file is that is no capture, where it can be told.
fn unknown(magic: &[u8]) -> CaptureError {
    let (what, hint) = match *magic {
        [] => ("the file is empty", "was anything captured?"),
        [0x1f, 0x8b, ..] => ("this file is compressed with gzip", "unpack it first: gunzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => ("this file is compressed with zstd", "unpack it first: unzstd"),
        [0x04, 0x22, 0x4d, 0x18] => ("this file is compressed with lz4", "unpack it first: unlz4"),
        [b's', b'n', b'o', b'o'] => ("this is a snoop capture", "turn it into pcapng first: editcap -F pcapng IN OUT"),
        [b'G', b'M', b'B', b'U'] => {
            ("this is a Network Monitor capture", "turn it into pcapng first: editcap -F pcapng IN OUT")
        }
        _ => (
            "this is neither pcap nor pcapng",
            "other formats can often be turned into pcapng: editcap -F pcapng IN OUT",
        ),
    };
    CaptureError::new(0, what, hint)
}
