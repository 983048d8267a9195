//! Two accounts of one exchange held against each other: that of a device and that of the reference model, or what a device
//! does now and what it did when its golden trace was recorded.
//!
//! [`Packet::of`] writes a packet with symbolic numbers, so that queue pair numbers, start PSNs, keys and addresses fall
//! away. [`align`] finds which packet of one side belongs to which of the other. [`compare`] lists what differs, field by
//! field, each difference with the rule that governs it or the freedom that allows it. [`Explanations`] says which
//! differences of a device are known, and why.
//!
//! [`Form`] takes the trace of a case to a [`Recording`], [`Goldens`] holds those of a profile, [`differences`] lists what
//! a case does otherwise, and [`Blessing`] records anew.

mod against;
mod align;
mod bless;
mod compare;
mod explain;
mod file;
mod form;
mod freedom;
mod governs;
mod packet;
mod recording;
mod store;
mod trace;

pub use against::{Tolerance, differences};
pub use align::{Pair, align};
pub use bless::{Blessed, Blessing};
pub use compare::{Difference, NOTHING, Subject, compare, packets};
pub(crate) use compare::{ORDINARY, fields, told};
pub use explain::{Explained, Explanation, Explanations, ExplanationsError, Kind};
pub use file::{FileError, Variants, read, write};
pub use form::Form;
pub(crate) use freedom::of_lonely_ack;
pub use governs::Governed;
pub(crate) use governs::{field as governing, is_response, moment};
pub(crate) use packet::free;
pub use packet::{Packet, Value};
pub use recording::{Line, Recording};
pub use store::{Goldens, GoldensError};
pub use trace::{Exchange, Fact, Trace};
