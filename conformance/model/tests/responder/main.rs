//! The RC responder, one behaviour per test.

#[path = "../harness/mod.rs"]
mod harness;

mod access;
mod acks;
mod atomics;
mod duplicates;
mod errors;
mod frames;
mod lengths;
mod messages;
mod policies;
mod psn;
mod reads;
mod rnr;
