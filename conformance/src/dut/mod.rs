//! Devices under test: what the runner needs of one, and the kinds that there are.

mod bell;
pub(crate) mod clock;
mod console;
mod control_client;
mod emulator;
pub mod foreign;
pub mod nic;
pub(crate) mod port;
mod prepared;
mod process;
mod remote;
mod stream;
pub(crate) mod switchboard;
mod two;
pub mod vm;

use std::net::Ipv6Addr;
use std::sync::Arc;

use rocespec_control::{Command, Device, Failure, Gid, Reply};
use rocespec_model::Time;

use crate::profile::Profile;

pub use emulator::{Emulator, NoSuchBehaviour};
pub use prepared::{Prepared, PreparedQp, PreparedRegion};
pub use remote::Remote;
pub use two::{Failed, Two};

/// The tester's addresses where nobody says otherwise: those that it has towards the emulator.
const TESTER: Addresses = {
    let [_, tester] = Emulator::places();
    tester
};

/// Ends a wait for the device.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A device under test: a wire to it and a voice to its own software.
pub trait Dut: Send {
    /// Capabilities, tolerances, known deviations.
    fn profile(&self) -> &Profile;

    /// What the device says of itself. Known from the start; renewed by [`Dut::restart`].
    fn device(&self) -> &Device;

    /// Makes the port ready for a case that needs these capabilities. Most devices are set up before the tester comes; one
    /// that can be asked for what excludes each other, as PAUSE and priority-based flow control do, chooses here.
    fn prepare(&mut self, _needs: &[String]) {}

    /// Has the device's own software do something, and waits for its answer.
    ///
    /// # Errors
    /// [`DutError::Refused`] when the software says no; the device goes on.
    fn control(&mut self, command: &Command) -> Result<Reply, DutError>;

    /// Sends a frame to the device, now.
    ///
    /// # Errors
    /// When the wire is gone.
    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError>;

    /// Lets time pass until `until`, or until the device has sent something: then it gives each frame to `seen` and
    /// comes back early, and also when its [`Dut::waker`] says so. Gives the time reached: what came until then was given.
    ///
    /// # Errors
    /// When the device died or the wire is gone.
    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError>;

    /// The time now, on the clock that stamps the frames.
    fn now(&self) -> Time;

    /// True when time passes for it in [`Dut::advance`] alone, and as fast as that can be computed. All others share one
    /// clock, that of the program.
    fn is_virtual(&self) -> bool {
        false
    }

    /// When it will next do something by itself, where that is known: in virtual time.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The tester's own addresses on this wire.
    fn tester(&self) -> &Addresses;

    /// Brings the device back after a crash, as new.
    ///
    /// # Errors
    /// When it does not come back.
    fn restart(&mut self) -> Result<(), DutError>;

    /// How many frames of the device are known to be missing from what [`Dut::advance`] gave, since the device came up.
    /// Asked when a case went wrong, before the device is blamed for it; it may cost a question to the device.
    ///
    /// # Errors
    /// When the device died or the wire is gone.
    fn lost_frames(&mut self) -> Result<u64, DutError> {
        Ok(0)
    }

    /// Another device of this kind, as new, where one can be had for nothing. Then every case begins on a new device, and
    /// what came before it, or goes on beside it, changes nothing.
    fn twin(&self) -> Option<Box<dyn Dut>> {
        None
    }

    /// The queue pairs that were made before the run, where the device's software can be told nothing. A case takes one of
    /// them before it orders anything.
    fn prepared(&mut self) -> Option<&mut Prepared> {
        None
    }

    /// What ends a wait in [`Dut::advance`] from another thread, where the device has that: several cases can share one
    /// device only then. A call while nobody waits ends the next wait. It is of no more use after a restart.
    fn waker(&self) -> Option<Waker> {
        None
    }
}

/// A frame from the device with the time of its arrival.
#[derive(Debug, Clone, Copy)]
pub struct Stamped<'a> {
    /// When.
    pub time: Time,
    /// From the destination MAC address to the last byte before the frame check sequence.
    pub frame: &'a [u8],
}

/// Addresses of one end of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// MAC address.
    pub mac: rocespec_codec::MacAddr,
    /// IPv4 address.
    pub v4: std::net::Ipv4Addr,
    /// IPv6 address.
    pub v6: std::net::Ipv6Addr,
}

/// The entry of a device's GID table that is most likely reached from this address without a router: of those that fit, the
/// first of those that share most of it. An entry that is not in use may be told as well, all zero; it never fits.
pub(crate) fn nearest_gid(device: &Device, from: Ipv6Addr, fits: impl Fn(&Gid) -> bool) -> Option<&Gid> {
    let shared = |gid: &&Gid| (gid.gid.to_bits() ^ from.to_bits()).leading_zeros();
    let candidates = device.gids.iter().filter(|gid| !gid.gid.is_unspecified() && fits(gid));
    candidates.min_by_key(|gid| std::cmp::Reverse(shared(gid)))
}

/// What goes wrong with a device.
#[derive(Debug, thiserror::Error)]
pub enum DutError {
    /// Its software refused an order.
    #[error("the device refused: {0}")]
    Refused(#[from] Failure),
    /// It died. The text says how that was seen, on several lines where the console has something to say.
    #[error("the device died: {0}")]
    Crash(String),
    /// It cannot be reached, or something needed to start it is missing. The text says what to do.
    #[error("{0}")]
    Unreachable(String),
}
