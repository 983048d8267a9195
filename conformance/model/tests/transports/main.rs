//! Transport services other than RC, one behaviour per test.

#[path = "../harness/mod.rs"]
mod harness;

mod domains;
mod multicast;
mod orders;
mod pairs;
mod partitions;
mod sent;
mod srq;
mod transitions;
mod uc;
mod uc_requester;
mod ud;
mod ud_requester;
mod windows;
mod xrc;
mod xrc_requester;
