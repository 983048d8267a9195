//! Reading a capture into its examination, on as many threads as there are.
//!
//! The frames are judged one after the other, in the order of the file. What needs no other frame goes ahead on other
//! threads: reading, and the ICRC that belongs to each packet. So the result is the same with any number of threads.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::scope;

use super::Check;
use super::packet::{Look, look};
use crate::capture::inside::Opener;
use crate::capture::{Batch, Batches, CaptureError};

/// Batches that wait for a thread, at most.
const AHEAD: usize = 2;
/// Threads that look at packets, at most: more of them would wait for the one that judges.
const LOOKING: usize = 4;

/// Frames that were read together, and the ICRC that belongs to each; `None` where that is not known.
#[derive(Default)]
struct Looked {
    batch: Batch,
    icrcs: Vec<Option<u32>>,
}

type Filled = Result<Looked, CaptureError>;

impl Check {
    /// All frames of a capture file, in the order of the file, on at most so many threads that are busy at once.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read. Everything before that was examined.
    pub fn read(&mut self, input: impl Read + Send, threads: usize) -> Result<(), CaptureError> {
        if threads > 1 { self.read_ahead(input, threads) } else { self.read_alone(input) }
    }

    fn read_alone(&mut self, input: impl Read) -> Result<(), CaptureError> {
        let (mut batches, mut batch) = (Batches::new(input), Batch::default());
        while let Some(filled) = batches.fill(&mut batch) {
            filled?;
            batch.iter().for_each(|frame| self.frame(&frame));
        }
        Ok(())
    }

    fn read_ahead(&mut self, input: impl Read + Send, threads: usize) -> Result<(), CaptureError> {
        // One reads and one judges. Where there are no more, the one that reads looks at the packets, too: what it has read
        // is still in its processor's cache.
        let lookers = (threads - 2).min(LOOKING);
        scope(|scope| {
            let (used, from_us) = channel();
            let (mut to_lookers, mut from_lookers) = (Vec::new(), Vec::new());
            for _ in 0..lookers {
                let (to_looker, full) = sync_channel(AHEAD);
                let (looked, from_looker) = sync_channel(AHEAD);
                let opener = self.opener.clone();
                scope.spawn(move || look_ahead(opener, &full, &looked));
                to_lookers.push(to_looker);
                from_lookers.push(from_looker);
            }
            if lookers == 0 {
                let (to_us, looked) = sync_channel(AHEAD);
                let mut opener = self.opener.clone();
                scope.spawn(move || read(input, &[to_us], &from_us, |looked| looked.look(&mut opener)));
                from_lookers.push(looked);
            } else {
                scope.spawn(move || read(input, &to_lookers, &from_us, |_| {}));
            }
            // Batches were handed out in turn, and come back so.
            for looked in from_lookers.iter().cycle().map_while(|looked| looked.recv().ok()) {
                let looked: Looked = looked?;
                for (frame, right_icrc) in looked.batch.iter().zip(&looked.icrcs) {
                    self.frame_with(&frame, *right_icrc);
                }
                // At the end of the file there is nobody to take it.
                let _ = used.send(looked);
            }
            Ok(())
        })
    }
}

impl Looked {
    /// Finds the ICRCs.
    fn look(&mut self, opener: &mut Opener) {
        self.icrcs.clear();
        self.icrcs.extend(self.batch.iter().map(|frame| {
            let inside = opener.look(frame.linktype, frame.original_len, frame.data);
            match look(&frame, &inside, None) {
                Look::Roce { right_icrc, .. } => right_icrc,
                _ => None,
            }
        }));
    }
}

/// Reads until the file ends, or nobody takes what was read.
fn read(
    input: impl Read,
    to_lookers: &[SyncSender<Filled>],
    used: &Receiver<Looked>,
    mut before: impl FnMut(&mut Looked),
) {
    let mut batches = Batches::new(input);
    for to_looker in to_lookers.iter().cycle() {
        let mut looked = used.try_recv().unwrap_or_default();
        let Some(filled) = batches.fill(&mut looked.batch) else { return };
        before(&mut looked);
        if to_looker.send(filled.map(|()| looked)).is_err() {
            return;
        }
    }
}

fn look_ahead(mut opener: Opener, full: &Receiver<Filled>, looked: &SyncSender<Filled>) {
    for mut filled in full {
        if let Ok(filled) = &mut filled {
            filled.look(&mut opener);
        }
        if looked.send(filled).is_err() {
            return;
        }
    }
}
