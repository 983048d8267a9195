//! Frames on their way from the thread that reads a wire to the one that judges them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocespec_model::Time;

use super::PortError;
use crate::dut::bell;

/// Frames that wait for us. Beyond, the reader waits, and by that the device or the operating system.
const MOST_FRAMES: usize = 16_384;
/// Bytes in them.
const MOST_BYTES: usize = 64 << 20;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// There are frames to [drain](super::Port::drain).
    Frame,
    /// The time is over.
    Nothing,
    /// The [waker](super::Port::waker) was called.
    Woken,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something to look at has come.
    came: Condvar,
    /// There is room again.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<(Time, Vec<u8>)>,
    bytes: usize,
    woken: bool,
    /// Why nothing comes any more.
    ended: Option<PortError>,
    /// Nobody takes anything any more.
    closed: bool,
}

impl State {
    fn is_full(&self) -> bool {
        !self.closed && (self.frames.len() >= MOST_FRAMES || self.bytes >= MOST_BYTES)
    }
}

impl Queue {
    /// Puts a frame in, and waits for room first.
    pub(super) fn put(&self, time: Time, frame: &[u8]) {
        let state = self.room.wait_while(self.state(), |state| state.is_full());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            state.bytes += frame.len();
            state.frames.push_back((time, frame.to_vec()));
            drop(state);
            self.tell();
        }
    }

    /// Nothing comes any more.
    pub(super) fn end(&self, why: PortError) {
        self.state().ended = Some(why);
        self.tell();
    }

    /// Ends a wait, or the next one.
    pub(super) fn wake(&self) {
        self.state().woken = true;
        self.tell();
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.room.notify_all();
    }

    pub(super) fn is_open(&self) -> bool {
        !self.state().closed
    }

    /// Waits for a frame, at most `limit`.
    pub(super) fn wait(&self, limit: Duration) -> Result<Received, PortError> {
        let nothing = |state: &mut State| state.frames.is_empty() && !state.woken && state.ended.is_none();
        let (mut state, _) =
            self.came.wait_timeout_while(self.state(), limit, nothing).unwrap_or_else(PoisonError::into_inner);
        if !state.frames.is_empty() {
            return Ok(Received::Frame);
        }
        let woken = std::mem::take(&mut state.woken);
        match &state.ended {
            Some(why) => Err(why.clone()),
            None if woken => Ok(Received::Woken),
            None => Ok(Received::Nothing),
        }
    }

    /// What has come by now, in order.
    pub(super) fn take(&self) -> VecDeque<(Time, Vec<u8>)> {
        let mut state = self.state();
        state.bytes = 0;
        self.room.notify_all();
        std::mem::take(&mut state.frames)
    }

    /// Wakes who waits for this wire, and who waits for several.
    fn tell(&self) {
        self.came.notify_all();
        bell::ring();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
