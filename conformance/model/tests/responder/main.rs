//! The RC responder, one behaviour per test.

#[path = "../harness/mod.rs"]
mod harness;

mod access;
mod acks;
mod atomic_writes;
mod atomics;
mod duplicates;
mod errors;
mod flush;
mod frames;
mod lengths;
mod messages;
mod policies;
mod psn;
mod reads;
mod rnr;
