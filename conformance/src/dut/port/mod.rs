//! Our end of a wire in real time.
//!
//! A thread of its own reads it, whatever the rest of the program is waiting for: it has each frame stamped when it comes,
//! and answers the device's questions for our addresses. What kind of wire it is, two small traits say: a [`Source`] that
//! the thread reads and a [`Medium`] that is sent to. [`stream`] has them for a byte stream.

pub(super) mod echo;
mod framing;
pub(super) mod neighbour;
mod queue;
pub(crate) mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rocespec_model::Time;

use self::neighbour::Kind;
use self::queue::Queue;
use super::{Addresses, Stamped, Waker};

pub(crate) use queue::Received;

/// Why a wire is of no more use, or a frame cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PortError {
    /// The device's end is gone: the device died.
    #[error("{0}")]
    Closed(String),
    /// What comes cannot be cut into frames any more.
    #[error("{0}")]
    Garbled(String),
    /// Something on our side; the device has no part in it. The text says what to do.
    #[error("{0}")]
    Failed(String),
}

/// Where frames come from.
pub(crate) trait Source: Send {
    /// Waits for frames and gives each with the time of its arrival on the run's clock; times never fall. Comes back at
    /// least every 100 ms, with or without frames, or else when [`Medium::close`] is called.
    ///
    /// # Errors
    /// When nothing comes any more. It is not called again.
    fn read(&mut self, seen: &mut dyn FnMut(Time, &[u8])) -> Result<(), PortError>;
}

/// Where frames go to.
pub(crate) trait Medium: Send + Sync {
    /// Sends a frame that is not empty, from the destination MAC address to the last byte before the frame check sequence.
    /// Called by two threads.
    ///
    /// # Errors
    /// When it cannot be sent. [`PortError::Closed`] when the device's end is gone.
    fn send(&self, frame: &[u8]) -> Result<(), PortError>;

    /// Ends a [`Source::read`] that waits, where that does not end by itself.
    fn close(&self) {}

    /// How many frames are known to have been lost on our side since the wire came up.
    fn lost(&self) -> u64 {
        0
    }
}

/// Our end of a wire. Dropping it closes it.
pub(crate) struct Port {
    medium: Arc<dyn Medium>,
    queue: Arc<Queue>,
    brought: Arc<AtomicU64>,
    reader: Option<JoinHandle<()>>,
}

impl Port {
    /// Begins to read. Questions for the tester's addresses are answered from now on.
    pub(crate) fn open(
        source: impl Source + 'static,
        medium: impl Medium + 'static,
        tester: &Addresses,
    ) -> std::io::Result<Port> {
        let medium: Arc<dyn Medium> = Arc::new(medium);
        let queue = Arc::new(Queue::default());
        let brought = Arc::new(AtomicU64::new(0));
        let reader = Reader {
            medium: Arc::clone(&medium),
            queue: Arc::clone(&queue),
            brought: Arc::clone(&brought),
            tester: tester.clone(),
        };
        let reader = thread::Builder::new().name("wire".to_owned()).spawn(move || reader.run(source))?;
        Ok(Port { medium, queue, brought, reader: Some(reader) })
    }

    /// Sends a frame. An empty one is none.
    pub(crate) fn send(&self, frame: &[u8]) -> Result<(), PortError> {
        if frame.is_empty() { Ok(()) } else { self.medium.send(frame) }
    }

    /// Waits for a frame, at most `limit`. What came before the wire's end comes before the error.
    pub(crate) fn receive(&self, limit: Duration) -> Result<Received, PortError> {
        self.queue.wait(limit)
    }

    /// Gives out what has come by now, in order.
    pub(crate) fn drain(&self, seen: &mut dyn FnMut(Stamped<'_>)) {
        for (time, frame) in self.queue.take() {
            seen(Stamped { time, frame: &frame });
        }
    }

    /// Ends [`Port::receive`].
    pub(crate) fn waker(&self) -> Waker {
        let queue = Arc::clone(&self.queue);
        Arc::new(move || queue.wake())
    }

    /// Frames of traffic that have come over it so far.
    pub(crate) fn brought(&self) -> u64 {
        self.brought.load(Ordering::Acquire)
    }

    /// Frames that are known to have been lost on our side.
    pub(crate) fn lost(&self) -> u64 {
        self.medium.lost()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.queue.close();
        self.medium.close();
        if let Some(reader) = self.reader.take() {
            // A panic of its has been printed; there is nothing to add.
            let _ = reader.join();
        }
    }
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port").field("brought", &self.brought()).finish_non_exhaustive()
    }
}

struct Reader {
    medium: Arc<dyn Medium>,
    queue: Arc<Queue>,
    brought: Arc<AtomicU64>,
    tester: Addresses,
}

impl Reader {
    /// Reads until the wire or its other side is gone.
    fn run(self, mut source: impl Source) {
        while self.queue.is_open() {
            let mut failed = None;
            let read = source.read(&mut |time, frame| match neighbour::look(frame, &self.tester) {
                Kind::Traffic => {
                    self.brought.fetch_add(1, Ordering::Release);
                    self.queue.put(time, frame);
                }
                Kind::Housekeeping => {}
                Kind::Question(answer) => failed = self.medium.send(&answer).err(),
            });
            if let Some(error) = read.err().or(failed) {
                return self.queue.end(error);
            }
        }
    }
}
