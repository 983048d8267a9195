//! A wire that is a byte stream with frames on it, see [`framing`](super::framing).

use std::io::{ErrorKind, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rocespec_model::Time;

use super::framing::{FrameReader, MAX_SENT, framed};
use super::{Medium, Port, PortError, Source};
use crate::dut::Addresses;
use crate::dut::clock::Clock;
use crate::dut::stream::Stream;

/// How long the device may leave its end unread.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Our end of a wire over this stream.
pub(crate) fn open(stream: Stream, tester: &Addresses, clock: Clock) -> std::io::Result<Port> {
    let (input, output) = ends(stream, clock)?;
    Port::open(input, output, tester)
}

/// The two ends of this stream: where frames come from and where they go to.
pub(crate) fn ends(stream: Stream, clock: Clock) -> std::io::Result<(Input, Output)> {
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    let input = Input { stream: stream.try_clone()?, frames: FrameReader::default(), bytes: vec![0; 128 << 10], clock };
    let closer = stream.try_clone()?;
    Ok((input, Output { stream: Mutex::new(stream), closer }))
}

pub(crate) struct Output {
    stream: Mutex<Stream>,
    /// The same stream, for one who does not wait for his turn.
    closer: Stream,
}

impl Medium for Output {
    fn send(&self, frame: &[u8]) -> Result<(), PortError> {
        if frame.len() > MAX_SENT {
            return Err(PortError::Failed(format!("a frame of {} bytes does not fit on the wire", frame.len())));
        }
        let sent = self.stream.lock().unwrap_or_else(PoisonError::into_inner).write_all(&framed(frame));
        sent.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                PortError::Closed(format!("the device left its end of the wire unread for {} s", WRITE_LIMIT.as_secs()))
            }
            _ => PortError::Closed(format!("the wire is gone: {error}")),
        })
    }

    fn close(&self) {
        let _ = self.closer.shutdown();
    }
}

pub(crate) struct Input {
    stream: Stream,
    frames: FrameReader,
    bytes: Vec<u8>,
    clock: Clock,
}

impl Source for Input {
    fn read(&mut self, seen: &mut dyn FnMut(Time, &[u8])) -> Result<(), PortError> {
        match self.stream.read(&mut self.bytes) {
            Ok(0) => return Err(PortError::Closed("the device's end of the wire is closed".to_owned())),
            Ok(count) => self.frames.push(&self.bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(PortError::Closed(format!("the wire is gone: {error}"))),
        }
        let time = self.clock.now();
        loop {
            match self.frames.next_frame() {
                Ok(Some(frame)) => seen(time, frame),
                Ok(None) => return Ok(()),
                Err(error) => return Err(PortError::Garbled(error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dut::port::{Received, neighbour};
    use std::os::unix::net::UnixStream;

    fn wire() -> (Port, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (open(ours.into(), &neighbour::tests::tester(), Clock::new()).unwrap(), theirs)
    }

    fn drained(wire: &Port) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        wire.drain(&mut |stamped| all.push(stamped.frame.to_vec()));
        all
    }

    #[test]
    fn frames_come_in_order_and_with_rising_times() {
        let (wire, mut device) = wire();
        for number in 0..100 {
            device.write_all(&framed(&[number; 64])).unwrap();
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
        assert_eq!(wire.brought(), 100);
    }

    #[test]
    fn a_question_for_our_address_is_answered_while_we_do_something_else() {
        let (wire, mut device) = wire();
        device.write_all(&framed(&neighbour::tests::arp_request())).unwrap();
        let mut header = [0; 4];
        device.read_exact(&mut header).unwrap();
        assert_eq!(u32::from_be_bytes(header), 42);
        assert_eq!(wire.receive(Duration::from_millis(10)).unwrap(), Received::Nothing);
    }

    #[test]
    fn a_waker_ends_a_wait_and_no_frame_is_lost_by_it() {
        let (wire, mut device) = wire();
        let waker = wire.waker();
        waker();
        assert_eq!(wire.receive(Duration::from_secs(60)).unwrap(), Received::Woken);
        device.write_all(&framed(&[1; 64])).unwrap();
        assert_eq!(wire.receive(Duration::from_secs(5)).unwrap(), Received::Frame);
        waker();
        device.write_all(&framed(&[2; 64])).unwrap();
        let mut frames = Vec::new();
        while frames.len() < 2 {
            frames.extend(drained(&wire));
        }
        assert_eq!(frames, [vec![1; 64], vec![2; 64]]);
    }

    #[test]
    fn a_closed_wire_gives_its_last_frames_and_then_an_error() {
        let (wire, mut device) = wire();
        device.write_all(&framed(&[1; 64])).unwrap();
        drop(device);
        assert_eq!(wire.receive(Duration::from_secs(5)).unwrap(), Received::Frame);
        assert_eq!(drained(&wire), [vec![1; 64]]);
        for _ in 0..2 {
            assert!(matches!(wire.receive(Duration::from_secs(5)), Err(PortError::Closed(_))));
        }
    }

    #[test]
    fn lost_framing_is_an_error() {
        let (wire, mut device) = wire();
        device.write_all(&[0x7f; 64]).unwrap();
        let Err(PortError::Garbled(why)) = wire.receive(Duration::from_secs(5)) else { panic!() };
        assert!(why.contains("lost the framing"));
    }

    #[test]
    fn a_flood_that_nobody_reads_is_held_back_and_ends_with_the_wire() {
        for length in [60, MAX_SENT] {
            let (wire, mut device) = wire();
            device.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            let frame = framed(&vec![0; length]);
            let most = 64 << 20;
            let sent: usize = std::iter::repeat_with(|| device.write_all(&frame).map(|()| length))
                .map_while(Result::ok)
                .take(2 * most / 60)
                .sum();
            assert!(sent <= most + (1 << 20), "{sent} bytes were taken");
            drop(wire);
        }
    }
}
