//! What a job has of the device: a [`Dut`] whose every act goes through the board.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use rocespec_control::{Command, Device, Reply};
use rocespec_model::Time;

use super::{Answer, Ask};
use crate::dut::{Addresses, Dut, DutError, Stamped, Waker};
use crate::profile::Profile;

/// One job's place at the board.
pub(crate) struct Seat {
    job: usize,
    asks: Sender<(usize, Ask)>,
    waker: Waker,
    facts: Arc<Facts>,
}

/// What is the same for all seats.
struct Facts {
    profile: Profile,
    device: Device,
    tester: Addresses,
    /// One moment on two clocks: ours, and the one that stamps the frames.
    moment: (Instant, Time),
}

/// So many seats.
pub(super) fn make(dut: &dyn Dut, waker: &Waker, asks: &Sender<(usize, Ask)>, seats: usize) -> Vec<Seat> {
    let facts = Arc::new(Facts {
        profile: dut.profile().clone(),
        device: dut.device().clone(),
        tester: dut.tester().clone(),
        moment: (Instant::now(), dut.now()),
    });
    let seat = |job| Seat { job, asks: asks.clone(), waker: Arc::clone(waker), facts: Arc::clone(&facts) };
    (0..seats).map(seat).collect()
}

impl Seat {
    /// Ends a case. False: something happened meanwhile that may have been meant for this case, or came from it to
    /// another; its result says nothing.
    pub(crate) fn finish(&mut self) -> bool {
        self.ask(Ask::Finish).unwrap_or(false)
    }

    fn ask<T>(&self, ask: impl FnOnce(Answer<T>) -> Ask) -> Result<T, DutError> {
        let (answer, answered) = channel();
        let gone = || DutError::Unreachable("the device is no longer served".to_owned());
        self.asks.send((self.job, ask(answer))).map_err(|_| gone())?;
        (self.waker)();
        answered.recv().map_err(|_| gone())?
    }
}

impl Dut for Seat {
    fn profile(&self) -> &Profile {
        &self.facts.profile
    }

    fn device(&self) -> &Device {
        &self.facts.device
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        self.ask(|answer| Ask::Control(command.clone(), answer))
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.ask(|answer| Ask::Transmit(frame.to_vec(), answer))
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        let (reached, frames) = self.ask(|answer| Ask::Advance(until, answer))?;
        for (time, frame) in &frames {
            seen(Stamped { time: *time, frame });
        }
        Ok(reached)
    }

    fn now(&self) -> Time {
        let (instant, time) = self.facts.moment;
        time + instant.elapsed()
    }

    fn tester(&self) -> &Addresses {
        &self.facts.tester
    }

    /// A device that others work with is not restarted from here.
    fn restart(&mut self) -> Result<(), DutError> {
        Err(DutError::Unreachable("other cases share this device".to_owned()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.asks.send((self.job, Ask::Leave));
        (self.waker)();
    }
}
