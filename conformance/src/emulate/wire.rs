//! The wire that an emulator stands at.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use super::neighbours::{Learning, Neighbours};
use crate::dut::Addresses;
use crate::dut::clock::Clock;
use crate::dut::port::{Port, stream};

/// Where a wire comes from.
#[derive(Debug)]
pub enum Wire {
    /// A unix socket that testers connect to: frames with their length before them.
    Socket(UnixListener),
}

impl Wire {
    /// A wire that testers connect to, one after another.
    ///
    /// # Errors
    /// When the socket cannot be set up.
    pub fn socket(listener: UnixListener) -> std::io::Result<Wire> {
        listener.set_nonblocking(true)?;
        Ok(Wire::Socket(listener))
    }

    /// The other end of it, if somebody is there. Does not wait.
    pub(super) fn connect(&self, own: &Addresses, neighbours: &Arc<Neighbours>) -> Result<Option<Port>, String> {
        match self {
            Wire::Socket(listener) => {
                let stream = match listener.accept() {
                    Ok((stream, _)) => stream,
                    // Nobody is there, or has gone again. Out of descriptors: perhaps later.
                    Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(format!("the wire: {error}")),
                    Err(_) => return Ok(None),
                };
                let open = || {
                    stream.set_nonblocking(false)?;
                    let (input, output) = stream::ends(stream.into(), Clock::new())?;
                    Port::open(Learning::new(input, neighbours), output, own)
                };
                open().map(Some).map_err(|error| format!("the wire: {error}"))
            }
        }
    }

    /// True where no other end comes after this one.
    pub(super) fn is_for_ever(&self) -> bool {
        match self {
            Wire::Socket(_) => false,
        }
    }
}
