//! Devices that misbehave on their side of the two sockets.
