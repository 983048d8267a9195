//! Short runs for the deviations that need more than requests to a responder.
#![allow(unreachable_pub, reason = "test programs have no outside")]

pub mod congestion;
pub mod pause;
pub mod transports;
