//! Rings whenever a device in real time has something: for one who waits for several devices at once.
//!
//! There is one for the program. Who waits for a device that did not ring looks in vain, and waits again.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

static RUNG: Mutex<u64> = Mutex::new(0);
static BELL: Condvar = Condvar::new();

/// How often it has rung. To be asked before one looks whether there is something.
pub(super) fn count() -> u64 {
    *RUNG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device has something: a frame, its end.
pub(super) fn ring() {
    let mut rung = RUNG.lock().unwrap_or_else(PoisonError::into_inner);
    *rung += 1;
    BELL.notify_all();
}

/// Waits until it has rung more often than so many times, at most `limit`.
pub(super) fn wait(count: u64, limit: Duration) {
    let rung = RUNG.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = BELL.wait_timeout_while(rung, limit, |rung| *rung == count);
}
