//! The emulator as a device that others test against: in real time, at the end of a real wire, with the control protocol.
//!
//! The model knows no clock: a [`Stand`] moves its virtual time along with the monotonic clock, hands it the frames that
//! come, and sends its own. Who tests is hardly to be told from who tests a device made of metal: the emulator asks the
//! wire for its peer's MAC address, answers such questions itself, and forgets everything when its tester leaves.

mod neighbours;
mod quota;
mod software;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rocespec_control::serve::{Door, Orders, Patience, Went};

use crate::dut::port::{Port, PortError};
use crate::dut::{Addresses, Emulator, Waker};
use neighbours::Neighbours;
use software::Station;

pub use wire::Wire;

/// How often somebody who stops us is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How often a tester is looked for while none has the wire.
const NOBODY_THERE: Duration = Duration::from_millis(5);

/// An emulator at its place.
pub struct Stand {
    station: Station,
    wire: Wire,
    /// What is at the other end of the wire, where there is somebody.
    port: Option<Port>,
    neighbours: Arc<Neighbours>,
    orders: Orders,
    /// Ends a wait for frames when an order comes.
    waker: Arc<Mutex<Option<Waker>>>,
    tell: fn(&str),
}

impl Stand {
    /// Puts an emulator with these addresses at the end of a wire, with a door for testers. `tell` gets a line about each
    /// that is sent away or breaks off.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(
        emulator: Emulator,
        own: Addresses,
        wire: Wire,
        door: Door,
        token: Option<String>,
        tell: fn(&str),
    ) -> std::io::Result<Stand> {
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let wakes = Arc::clone(&waker);
        let wake = move || {
            if let Some(wake) = &*wakes.lock().unwrap_or_else(PoisonError::into_inner) {
                wake();
            }
        };
        let orders = door.open(token, Patience::default(), wake, tell)?;
        let (station, neighbours) = (Station::new(emulator, own), Arc::default());
        Ok(Stand { station, wire, port: None, neighbours, orders, waker, tell })
    }

    /// Serves testers, one after another, until `stop` says so or a tester says `shutdown`.
    ///
    /// # Errors
    /// When the wire itself is of no more use, with the reason.
    pub fn serve(mut self, stop: &dyn Fn() -> bool) -> Result<(), String> {
        while !stop() {
            if self.port.is_none() {
                self.port = self.wire.connect(&self.station.own, &self.neighbours)?;
                let waker = self.port.as_ref().map(Port::waker);
                *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = waker;
            }
            let mut device = self.station.with(self.port.as_ref(), &self.neighbours);
            if self.orders.serve_waiting(&mut device) == Went::Shutdown {
                return Ok(());
            }
            match &self.port {
                None => thread::sleep(NOBODY_THERE),
                Some(port) => {
                    if let Err(why) = self.station.go_on(port) {
                        if self.wire.is_for_ever() {
                            return Err(why.to_string());
                        }
                        // A tester that closes its end of the wire is done. What it made goes when its control stream does.
                        if !matches!(why, PortError::Closed(_)) {
                            (self.tell)(&why.to_string());
                        }
                        self.port = None;
                    }
                }
            }
        }
        Ok(())
    }
}
