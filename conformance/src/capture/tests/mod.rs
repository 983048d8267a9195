mod batches;
mod hostile;
mod other_files;
mod packed;
mod pcap;
mod pcapng_files;
mod writer;

use std::io::{self, Read};

use pcap_parser::pcapng::OptionCode;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use proptest::prelude::*;

use super::pcapng::{MAX_COMMENT, Writer};
use super::*;

/// What a file comes to: the frames and, where there is one, the error.
type Content = (Vec<CapturedFrame>, Option<CaptureError>);

/// Reads until the end, frame by frame; and in batches, which must give the same.
fn read(bytes: &[u8]) -> Content {
    let content = one_by_one(bytes);
    assert_eq!(in_batches(bytes), content);
    assert_eq!(in_batches(Pieces(bytes, 5)), content);
    assert_eq!(read_ahead(io::Cursor::new(bytes.to_vec())), content);
    content
}

fn one_by_one(input: impl Read) -> Content {
    let mut reader = Reader::new(input);
    let mut frames = Vec::new();
    while let Some(next) = reader.next() {
        match next {
            Ok(frame) => frames.push(frame),
            Err(error) => {
                assert!(reader.next().is_none(), "nothing comes after an error");
                return (frames, Some(error));
            }
        }
    }
    (frames, None)
}

fn in_batches(input: impl Read) -> Content {
    let mut batches = Batches::new(input);
    batch_by_batch(|batch| batches.fill(batch))
}

fn read_ahead(input: impl Read + Send + 'static) -> Content {
    let mut ahead = Ahead::new(input);
    batch_by_batch(|batch| ahead.fill(batch))
}

fn batch_by_batch(mut fill: impl FnMut(&mut Batch) -> Option<Result<(), CaptureError>>) -> Content {
    let mut batch = Batch::default();
    let mut frames = Vec::new();
    while let Some(filled) = fill(&mut batch) {
        assert_eq!(batch.is_empty(), filled.is_err(), "a batch holds a frame, or there is an error");
        if let Err(error) = filled {
            assert!(fill(&mut batch).is_none() && batch.is_empty(), "nothing comes after an error");
            return (frames, Some(error));
        }
        frames.extend(batch.iter().map(|frame| frame.to_captured()));
    }
    (frames, None)
}

/// Gives a few bytes at a time, as a pipe does.
struct Pieces<'f>(&'f [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

fn good(bytes: &[u8]) -> Vec<CapturedFrame> {
    let (frames, error) = read(bytes);
    assert_eq!(error, None);
    frames
}

/// Frames of every length modulo four; and the offsets at which their blocks begin, with that of the end.
fn written() -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for n in 0..6u8 {
        let direction = if n.is_multiple_of(2) { Direction::Outbound } else { Direction::Inbound };
        let comment = (n != 3).then(|| format!("line {n}: é…"));
        writer.frame(u64::from(n) << 33 | 7, direction, &vec![n; 60 + usize::from(n)], comment.as_deref()).unwrap();
    }
    let file = writer.finish().unwrap();
    let length = |at: usize| u32::from_le_bytes([4, 5, 6, 7].map(|n| file[at + n])) as usize;
    let mut starts = vec![length(0) + length(length(0))];
    while starts[starts.len() - 1] < file.len() {
        starts.push(starts[starts.len() - 1] + length(starts[starts.len() - 1]));
    }
    (file, starts)
}

/// Puts files together byte by byte, in either byte order.
struct Bytes {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn new(big_endian: bool) -> Self {
        Self { big_endian, bytes: Vec::new() }
    }

    fn u16(&mut self, values: &[u16]) -> &mut Self {
        for value in values {
            self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        }
        self
    }

    fn u32(&mut self, values: &[u32]) -> &mut Self {
        for value in values {
            self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        }
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    fn pcap_header(&mut self, magic: u32, network: u32) -> &mut Self {
        self.u32(&[magic]).u16(&[2, 4]).u32(&[0, 0, 65535, network])
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Bytes)) -> &mut Self {
        let mut inner = Bytes::new(self.big_endian);
        body(&mut inner);
        inner.bytes.resize(inner.bytes.len().next_multiple_of(4), 0);
        let length = inner.bytes.len() as u32 + 12;
        self.u32(&[kind, length]).raw(&inner.bytes).u32(&[length])
    }

    fn section(&mut self) -> &mut Self {
        self.block(0x0a0d_0d0a, |b| {
            b.u32(&[0x1a2b_3c4d]).u16(&[1, 0]).u32(&[u32::MAX, u32::MAX]);
        })
    }

    fn interface(&mut self, linktype: u16, snaplen: u32, options: impl FnOnce(&mut Bytes)) -> &mut Self {
        self.block(1, |b| {
            b.u16(&[linktype, 0]).u32(&[snaplen]);
            options(b);
        })
    }

    fn packet(&mut self, interface: u32, timestamp: u64, original: u32, data: &[u8]) -> &mut Self {
        self.block(6, |b| {
            b.u32(&[interface, (timestamp >> 32) as u32, timestamp as u32, data.len() as u32, original]).raw(data);
        })
    }
}

/// `starts`: where each frame begins, and the end.
fn cut_anywhere(file: &[u8], starts: &[usize]) {
    let all = good(file);
    for end in 0..file.len() {
        let (frames, error) = read(&file[..end]);
        let whole = starts.iter().skip(1).filter(|&&start| start <= end).count();
        assert_eq!(frames, all[..whole], "cut at {end}");
        if starts.contains(&end) {
            assert_eq!(error, None, "cut at {end}");
        } else if let Some(error) = error {
            assert!(error.offset <= end as u64, "cut at {end}: {error}");
            if end > starts[0] {
                assert_eq!(error.offset, starts[whole] as u64, "cut at {end}: {error}");
            }
        }
    }
}
