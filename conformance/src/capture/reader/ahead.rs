//! Reading on a thread of its own.

use std::io::Read;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::{Batch, Batches, CaptureError};

/// Batches that are full before they are asked for, at most.
const AHEAD: usize = 3;

/// [`Batches`] that a thread reads ahead, so that reading and unpacking take their time beside what is done with the frames.
///
/// The thread ends with the file, or when it has read something for an `Ahead` that is gone.
#[derive(Debug)]
pub struct Ahead {
    full: Receiver<Result<Batch, CaptureError>>,
    /// Batches that were looked at go back, to be filled again.
    used: Sender<Batch>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins to read at once.
    pub fn new(input: impl Read + Send + 'static) -> Ahead {
        let (to_us, full) = sync_channel(AHEAD);
        let (used, from_us) = channel();
        let thread = std::thread::spawn(move || read(input, &to_us, &from_us));
        Ahead { full, used, thread: Some(thread) }
    }

    /// As [`Batches::fill`].
    ///
    /// # Errors
    /// As [`Batches::fill`].
    pub fn fill(&mut self, batch: &mut Batch) -> Option<Result<(), CaptureError>> {
        match self.full.recv() {
            Ok(Ok(full)) => {
                // At the end of the file there is nobody to take it.
                let _ = self.used.send(std::mem::replace(batch, full));
                Some(Ok(()))
            }
            Ok(Err(damage)) => {
                *batch = Batch::default();
                Some(Err(damage))
            }
            Err(_) => {
                *batch = Batch::default();
                // An input that panics must not look like one that ends.
                if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                    resume_unwind(panic);
                }
                None
            }
        }
    }
}

fn read(input: impl Read, full: &SyncSender<Result<Batch, CaptureError>>, used: &Receiver<Batch>) {
    let mut batches = Batches::new(input);
    loop {
        let mut batch = used.try_recv().unwrap_or_default();
        let Some(filled) = batches.fill(&mut batch) else { return };
        if full.send(filled.map(|()| batch)).is_err() {
            return;
        }
    }
}
