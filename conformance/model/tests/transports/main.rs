//! Transport services other than RC, one behaviour per test.

#[path = "../harness/mod.rs"]
mod harness;

mod multicast;
mod sent;
mod transitions;
mod uc;
mod uc_requester;
mod ud;
mod ud_requester;
