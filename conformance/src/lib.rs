//! rocespec: does a RoCE implementation follow the wire protocol, packet by packet, and which rule does it break?
//!
//! The binary of the same name is a thin layer over this library.

pub mod capture;
pub mod check;
pub mod cli;
pub mod diff;
pub(crate) mod duration;
pub mod dut;
pub mod emulate;
pub mod golden;
pub mod ledger;
pub mod link;
pub mod oracle;
pub mod profile;
pub mod purposes;
pub mod reenact;
pub mod run;
pub mod scenario;
pub mod sweep;
