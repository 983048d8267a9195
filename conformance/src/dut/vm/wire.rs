//! Our end of the wire. A thread of its own reads it, stamps each frame when it comes and answers the guest's questions for
//! our addresses, whatever the rest of the program is waiting for.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rocespec_model::Time;

use super::neighbour::{self, Kind};
use crate::dut::stream::{FrameReader, framed};
use crate::dut::{Addresses, Stamped, Waker};

/// Frames that wait for us. Beyond, the guest waits: nothing is lost.
const QUEUE: usize = 16_384;
/// How long the guest may leave its end unread.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Arrival {
    Frame(Time, Vec<u8>),
    /// Nothing comes any more, and why.
    Ended(String),
    /// Somebody wants the wait to end.
    Woken,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// [`Wire::drain`] has something.
    Frame,
    /// The time is over.
    Nothing,
    /// [`Wire::waker`] was called.
    Woken,
}

/// What the reader knows of its own work.
#[derive(Debug, Default)]
struct Tally {
    brought: AtomicU64,
    garbled: AtomicBool,
}

#[derive(Debug)]
pub(super) struct Wire {
    out: Arc<Mutex<UnixStream>>,
    arrivals: Receiver<Arrival>,
    /// The other end of `arrivals`.
    wake: SyncSender<Arrival>,
    /// The first frame that `receive` saw.
    first: Option<(Time, Vec<u8>)>,
    /// Why nothing comes any more.
    ended: Option<String>,
    reader: Option<JoinHandle<()>>,
    tally: Arc<Tally>,
}

impl Wire {
    /// Times count from `origin`.
    pub(super) fn new(stream: UnixStream, tester: &Addresses, origin: Instant) -> std::io::Result<Wire> {
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        let input = stream.try_clone()?;
        let out = Arc::new(Mutex::new(stream));
        let (arrived, arrivals) = sync_channel(QUEUE);
        let wake = arrived.clone();
        let tally = Arc::new(Tally::default());
        let (of_reader, out_of_reader) = (Arc::clone(&tally), Arc::clone(&out));
        let reader = Reader { input, out: out_of_reader, tester: tester.clone(), origin, arrived, tally: of_reader };
        let reader = thread::Builder::new().name("wire".to_owned()).spawn(move || reader.run())?;
        Ok(Wire { out, arrivals, wake, first: None, ended: None, reader: Some(reader), tally })
    }

    /// Frames of traffic that have come over it so far.
    pub(super) fn brought(&self) -> u64 {
        self.tally.brought.load(Ordering::Acquire)
    }

    /// What came over it could not be cut into frames any more.
    pub(super) fn is_garbled(&self) -> bool {
        self.tally.garbled.load(Ordering::Acquire)
    }

    /// An empty frame is none.
    pub(super) fn send(&self, frame: &[u8]) -> std::io::Result<()> {
        if frame.is_empty() { Ok(()) } else { send(&self.out, frame) }
    }

    /// Ends [`Wire::receive`].
    pub(super) fn waker(&self) -> Waker {
        let wake = self.wake.clone();
        // A queue that is full lets nobody wait.
        Arc::new(move || drop(wake.try_send(Arrival::Woken)))
    }

    /// Waits for a frame, at most `limit`.
    pub(super) fn receive(&mut self, limit: Duration) -> Result<Received, String> {
        let mut woken = false;
        if self.first.is_none() && self.ended.is_none() {
            match self.arrivals.recv_timeout(limit) {
                Ok(arrival) => woken = self.take(arrival),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.ended = Some("the wire is closed".to_owned()),
            }
        }
        match &self.ended {
            _ if self.first.is_some() => Ok(Received::Frame),
            Some(why) => Err(why.clone()),
            None if woken => Ok(Received::Woken),
            None => Ok(Received::Nothing),
        }
    }

    /// Gives out what has come by now, in order.
    pub(super) fn drain(&mut self, seen: &mut dyn FnMut(Stamped<'_>)) {
        // Only as many as can wait: a guest that never pauses must not keep us here.
        for _ in 0..QUEUE {
            if self.first.is_none() {
                let Ok(arrival) = self.arrivals.try_recv() else { return };
                self.take(arrival);
            }
            if let Some((time, frame)) = self.first.take() {
                seen(Stamped { time, frame: &frame });
            }
        }
    }

    /// True when it says no more than that the wait is to end.
    fn take(&mut self, arrival: Arrival) -> bool {
        match arrival {
            Arrival::Frame(time, frame) => self.first = Some((time, frame)),
            Arrival::Ended(why) => self.ended = Some(why),
            Arrival::Woken => return true,
        }
        false
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Ends the reader's wait for bytes. Its wait for room in the queue ends with the queue.
        let _ = self.out.lock().unwrap_or_else(PoisonError::into_inner).shutdown(Shutdown::Both);
        let (_, nothing) = sync_channel(1);
        drop(std::mem::replace(&mut self.arrivals, nothing));
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn send(out: &Mutex<UnixStream>, frame: &[u8]) -> std::io::Result<()> {
    let bytes = framed(frame);
    out.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes)
}

struct Reader {
    input: UnixStream,
    out: Arc<Mutex<UnixStream>>,
    tester: Addresses,
    origin: Instant,
    arrived: SyncSender<Arrival>,
    tally: Arc<Tally>,
}

impl Reader {
    fn run(mut self) {
        let ending = self.read();
        let _ = self.arrived.send(Arrival::Ended(ending));
    }

    /// Reads until the wire or its other side is gone, and says why.
    fn read(&mut self) -> String {
        let mut frames = FrameReader::default();
        let mut bytes = vec![0; 128 << 10];
        loop {
            match self.input.read(&mut bytes) {
                Ok(0) => return "the guest's end of the wire is closed".to_owned(),
                Ok(count) => frames.push(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return format!("the wire: {error}"),
            }
            let time = Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX));
            loop {
                let frame = match frames.next_frame() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(error) => {
                        self.tally.garbled.store(true, Ordering::Release);
                        return error.to_string();
                    }
                };
                match neighbour::look(frame, &self.tester) {
                    Kind::Traffic => {
                        self.tally.brought.fetch_add(1, Ordering::Release);
                        if self.arrived.send(Arrival::Frame(time, frame.to_vec())).is_err() {
                            return "nobody listens any more".to_owned();
                        }
                    }
                    Kind::Housekeeping => {}
                    Kind::Question(answer) => {
                        if let Err(error) = send(&self.out, &answer) {
                            return format!("the wire: {error}");
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire() -> (Wire, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Wire::new(ours, &neighbour::tests::tester(), Instant::now()).unwrap(), theirs)
    }

    fn drained(wire: &mut Wire) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        wire.drain(&mut |stamped| all.push(stamped.frame.to_vec()));
        all
    }

    #[test]
    fn frames_come_in_order_and_with_rising_times() {
        let (mut wire, mut guest) = wire();
        for number in 0..100 {
            guest.write_all(&framed(&[number; 64])).unwrap();
        }
        let mut frames = Vec::new();
        let mut last = Time::ZERO;
        while frames.len() < 100 {
            assert_eq!(wire.receive(Duration::from_secs(5)).unwrap(), Received::Frame);
            wire.drain(&mut |stamped| {
                assert!(stamped.time >= last);
                last = stamped.time;
                frames.push(stamped.frame[0]);
            });
        }
        assert_eq!(frames, (0..100).collect::<Vec<u8>>());
        assert_eq!((wire.brought(), wire.is_garbled()), (100, false));
    }

    #[test]
    fn a_question_for_our_address_is_answered_while_we_do_something_else() {
        let (mut wire, mut guest) = wire();
        guest.write_all(&framed(&neighbour::tests::arp_request())).unwrap();
        let mut header = [0; 4];
        guest.read_exact(&mut header).unwrap();
        assert_eq!(u32::from_be_bytes(header), 42);
        assert_eq!(wire.receive(Duration::from_millis(10)).unwrap(), Received::Nothing);
    }

    #[test]
    fn a_waker_ends_a_wait_and_no_frame_is_lost_by_it() {
        let (mut wire, mut guest) = wire();
        let waker = wire.waker();
        waker();
        assert_eq!(wire.receive(Duration::from_secs(60)).unwrap(), Received::Woken);
        guest.write_all(&framed(&[1; 64])).unwrap();
        assert_eq!(wire.receive(Duration::from_secs(5)).unwrap(), Received::Frame);
        waker();
        guest.write_all(&framed(&[2; 64])).unwrap();
        let mut frames = Vec::new();
        while frames.len() < 2 {
            frames.extend(drained(&mut wire));
        }
        assert_eq!(frames, [vec![1; 64], vec![2; 64]]);
    }

    #[test]
    fn a_closed_wire_gives_its_last_frames_and_then_an_error() {
        let (mut wire, mut guest) = wire();
        guest.write_all(&framed(&[1; 64])).unwrap();
        drop(guest);
        assert_eq!(wire.receive(Duration::from_secs(5)).unwrap(), Received::Frame);
        assert_eq!(drained(&mut wire), [vec![1; 64]]);
        for _ in 0..2 {
            assert!(wire.receive(Duration::from_secs(5)).unwrap_err().contains("closed"));
        }
    }

    #[test]
    fn lost_framing_is_an_error() {
        let (mut wire, mut guest) = wire();
        guest.write_all(&[0x7f; 64]).unwrap();
        assert!(wire.receive(Duration::from_secs(5)).unwrap_err().contains("lost the framing"));
        assert!(wire.is_garbled());
    }

    #[test]
    fn a_flood_that_nobody_reads_is_held_back_and_ends_with_the_wire() {
        let (wire, mut guest) = wire();
        guest.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let frame = framed(&[0; 60]);
        let sent = (0..QUEUE * 4).take_while(|_| guest.write_all(&frame).is_ok()).count();
        assert!(sent < QUEUE * 4);
        drop(wire);
    }
}
