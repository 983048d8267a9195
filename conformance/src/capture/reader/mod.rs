//! Reads pcap and pcapng as a stream: many frames at a time without an allocation for each, or frame by frame.

mod ahead;
mod batch;
mod frame;
mod order;
mod pcap;
mod pcapng;

use std::io::Read;

use super::CaptureError;
pub use ahead::Ahead;
pub use batch::Batch;
use batch::Place;
pub use frame::{CapturedFrame, FrameRef};

/// The frames of a capture file, in the order of the file.
///
/// The first bytes tell pcap (micro- and nanoseconds, both byte orders) from pcapng. A damaged or truncated file gives every
/// whole frame before the damage, then one error, then nothing more; a file that is no capture gives an error only.
#[derive(Debug)]
pub struct Reader<R> {
    batches: Batches<R>,
    batch: Batch,
    /// Frames of the batch that were handed over.
    taken: usize,
}

impl<R: Read> Reader<R> {
    /// Nothing is read before the first frame is asked for. `input` is read in large pieces; it needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self { batches: Batches::new(input), batch: Batch::default(), taken: 0 }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<CapturedFrame, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.taken == self.batch.len() {
            self.taken = 0;
            if let Err(error) = self.batches.fill(&mut self.batch)? {
                return Some(Err(error));
            }
        }
        let frame = self.batch.get(self.taken)?;
        self.taken += 1;
        Some(Ok(frame.to_captured()))
    }
}

impl<R: Read> std::iter::FusedIterator for Reader<R> {}

/// The frames of a capture file as [`Reader`] gives them, many at a time and without a copy of each.
///
/// ```
/// use rocespec::capture::{Batch, Batches, CaptureError};
///
/// fn captured_bytes(file: impl std::io::Read) -> Result<usize, CaptureError> {
///     let (mut batches, mut batch, mut bytes) = (Batches::new(file), Batch::default(), 0);
///     while let Some(filled) = batches.fill(&mut batch) {
///         filled?;
///         bytes += batch.iter().map(|frame| frame.data.len()).sum::<usize>();
///     }
///     Ok(bytes)
/// }
/// # assert!(captured_bytes(&b"no capture"[..]).is_err());
/// ```
#[derive(Debug)]
pub struct Batches<R> {
    input: R,
    format: Format,
    /// Bytes that were read and lie behind the last whole frame.
    rest: Vec<u8>,
    /// Where in the file `rest` begins.
    offset: u64,
    frames: u64,
    is_over: bool,
    /// Still to be said.
    damage: Option<CaptureError>,
}

#[derive(Debug)]
enum Format {
    /// Nobody has looked yet.
    Unknown,
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

/// What some bytes begin with.
enum Step {
    /// Something of `len` bytes, and the frame in it.
    Whole {
        len: usize,
        frame: Option<Place>,
    },
    Part(Part),
}

/// The beginning of something that more bytes have to complete.
struct Part {
    /// What it is called in an error.
    thing: &'static str,
    /// Bytes in front of it.
    before: usize,
    /// Its length.
    wanted: usize,
}

impl Step {
    fn part(thing: &'static str, wanted: usize) -> Step {
        Step::Part(Part { thing, before: 0, wanted })
    }
}

impl<R: Read> Batches<R> {
    /// Nothing is read before the first batch is asked for. `input` is read in large pieces; it needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self { input, format: Format::Unknown, rest: Vec::new(), offset: 0, frames: 0, is_over: false, damage: None }
    }

    /// Puts the next frames into `batch`, in place of those that it held: at least one, and at most those that a read of
    /// the input completes, so that what a pipe gave does not wait for what it will give. `None` at the end of the file.
    ///
    /// # Errors
    /// When the file is damaged: once, behind all frames before the damage. The batch is empty then.
    pub fn fill(&mut self, batch: &mut Batch) -> Option<Result<(), CaptureError>> {
        batch.begin(self.frames + 1, &self.rest);
        self.rest.clear();
        if !self.is_over {
            match self.collect(batch) {
                Ok(is_over) => self.is_over = is_over,
                Err(damage) => (self.is_over, self.damage) = (true, Some(damage)),
            }
        }
        if batch.is_empty() {
            return self.damage.take().map(Err);
        }
        self.frames += batch.len() as u64;
        Some(Ok(()))
    }

    /// True when nothing follows.
    fn collect(&mut self, batch: &mut Batch) -> Result<bool, CaptureError> {
        let mut at = 0;
        loop {
            let bytes = &batch.bytes()[at..];
            match self.step(bytes, self.offset + at as u64)? {
                Step::Whole { len, frame } => {
                    if let Some(place) = frame {
                        batch.push(at, place);
                    }
                    at += len;
                }
                Step::Part(_) if !batch.is_empty() => {
                    self.rest.extend_from_slice(bytes);
                    self.offset += at as u64;
                    return Ok(false);
                }
                Step::Part(part) => {
                    // What holds no frames is not kept, however much of it there is.
                    batch.forget(at);
                    self.offset += at as u64;
                    at = 0;
                    let got = batch.read(&mut self.input);
                    let end = self.offset + batch.bytes().len() as u64;
                    if got.map_err(|error| CaptureError::io(end, &error))? == 0 {
                        return self.ends_in(batch.bytes(), &part);
                    }
                }
            }
        }
    }

    /// Looks at the bytes at `start`.
    fn step(&mut self, bytes: &[u8], start: u64) -> Result<Step, CaptureError> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.step(bytes, start),
            Format::Pcapng(pcapng) => pcapng.step(bytes, start),
            Format::Unknown => {
                let Some(magic) = bytes.first_chunk() else { return Ok(Step::part("the file header", 4)) };
                if *magic == pcapng::MAGIC {
                    self.format = Format::Pcapng(pcapng::Pcapng::default());
                    return Ok(Step::Whole { len: 0, frame: None });
                }
                if !pcap::is_magic(*magic) {
                    return Err(unknown(magic));
                }
                let Some(header) = bytes.first_chunk() else {
                    return Ok(Step::part("the file header", pcap::FILE_HEADER));
                };
                self.format = Format::Pcap(pcap::Pcap::open(header));
                Ok(Step::Whole { len: header.len(), frame: None })
            }
        }
    }

    /// The file ends with these bytes.
    fn ends_in(&self, bytes: &[u8], part: &Part) -> Result<bool, CaptureError> {
        if matches!(self.format, Format::Unknown) && bytes.len() < 4 {
            return Err(unknown(bytes));
        }
        if bytes.is_empty() {
            return Ok(true);
        }
        Err(CaptureError::truncated(self.offset, part.thing, part.wanted, bytes.len() - part.before))
    }
}

/// Says what a file is that is no capture, where it can be told.
fn unknown(magic: &[u8]) -> CaptureError {
    let (what, hint) = match *magic {
        [] => ("the file is empty", "was anything captured?"),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] => ("this file is packed twice", "unpack it once first"),
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
