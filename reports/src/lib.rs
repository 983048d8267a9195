//! What a run of rocespec found, as plain data, and the forms in which people and programs read it.
//!
//! [`outcome`] holds the data; nothing in this crate ever sees a device.

pub mod outcome;
