//! The RC requester, one behaviour per test.

#[path = "../harness/mod.rs"]
mod harness;

mod acks;
mod atomics;
mod credits;
mod errors;
mod limits;
mod naks;
mod reads;
mod rnr;
mod segmentation;
mod states;
mod timeouts;
