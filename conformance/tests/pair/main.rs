//! Two endpoints over a faulty link: whatever it does, what must hold holds.
#![allow(unreachable_pub, missing_docs, reason = "test programs have no outside")]

mod basics;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod properties;
mod scenario;
