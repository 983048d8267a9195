//! Frames that were read together.

use std::io::{self, ErrorKind, Read};

use super::frame::{Comment, FrameRef};
use super::order::Order;
use super::pcapng::Options;

/// Bytes that are read together. More of them do not make it faster, but fall out of the processor's cache.
const ROOM: usize = 256 << 10;

/// Frames that were read together, in one piece of memory that is used again.
///
/// A batch belongs to nobody: it can go to another thread while a second one is filled. It holds some hundred KiB, and more
/// only where a single frame is longer.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Of `bytes`, those that hold something.
    filled: usize,
    places: Vec<Place>,
    /// Number of the first frame.
    first: u64,
}

/// Where a frame lies in some bytes, and what else is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) time_ns: u64,
    pub(super) interface: u32,
    pub(super) linktype: u32,
    pub(super) original_len: u32,
    /// Begin and length of the frame; below 64 MiB, as all blocks are.
    pub(super) start: u32,
    pub(super) len: u32,
    /// Length of the options; they lie behind the frame and its padding.
    pub(super) options: u32,
    pub(super) order: Order,
}

impl Batch {
    /// How many frames it holds.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True before it is first filled, and when there was nothing to fill it with.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of memory for the frames.
    #[cfg(test)]
    pub(in crate::capture) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// The frame at `index`, 0 = first of the batch.
    #[inline]
    pub fn get(&self, index: usize) -> Option<FrameRef<'_>> {
        let place = self.places.get(index)?;
        let (start, len) = (place.start as usize, place.len as usize);
        let data = &self.bytes[start..start + len];
        let options = start + len.next_multiple_of(4);
        // Without options the padding may be missing.
        let options = if place.options == 0 { &[] } else { &self.bytes[options..options + place.options as usize] };
        Some(FrameRef {
            number: self.first + index as u64,
            time_ns: place.time_ns,
            interface: place.interface,
            linktype: place.linktype,
            original_len: place.original_len,
            data,
            comment: Comment::Options(Options::new(options, place.order)),
        })
    }

    /// The frames in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FrameRef<'_>> + Clone {
        (0..self.len()).map(|index| self.get(index).expect("an index below the length"))
    }

    /// Begins anew with bytes that were read already. `first` is the number of the next frame.
    pub(super) fn begin(&mut self, first: u64, bytes: &[u8]) {
        self.places.clear();
        self.first = first;
        self.filled = 0;
        if self.bytes.len() > ROOM {
            self.bytes.truncate(ROOM);
            self.bytes.shrink_to_fit();
        }
        self.make_room(bytes.len());
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.filled = bytes.len();
    }

    /// What was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Adds a frame that lies in the bytes from `at` on.
    pub(super) fn push(&mut self, at: usize, place: Place) {
        self.places.push(Place { start: place.start + at as u32, ..place });
    }

    /// Drops bytes at the front.
    pub(super) fn forget(&mut self, count: usize) {
        self.bytes.copy_within(count..self.filled, 0);
        self.filled -= count;
    }

    /// Reads once, and says how many bytes came; 0 at the end of the input.
    ///
    /// Room grows with the bytes that are there: a length field cannot lie us out of memory.
    pub(super) fn read(&mut self, input: &mut impl Read) -> io::Result<usize> {
        self.make_room(self.filled.max(ROOM / 2));
        loop {
            match input.read(&mut self.bytes[self.filled..]) {
                Ok(got) => {
                    self.filled += got;
                    return Ok(got);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes room for so many bytes more.
    fn make_room(&mut self, count: usize) {
        let needed = (self.filled + count).max(ROOM);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }
}
