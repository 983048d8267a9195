//! Two accounts of one exchange held against each other: that of a device and that of the reference model.
//!
//! [`Packet::of`] writes a packet with symbolic numbers, so that queue pair numbers, start PSNs, keys and addresses fall
//! away. [`align`] finds which packet of one side belongs to which of the other. [`compare`] lists what differs, field by
//! field, each difference with the rule that governs it or the freedom that allows it. [`Explanations`] says which
//! differences of a device are known, and why.

mod align;
mod compare;
mod explain;
mod freedom;
mod governs;
mod packet;
mod trace;

pub use align::{Pair, align};
pub use compare::{Difference, NOTHING, Subject, compare, packets};
pub use explain::{Explained, Explanation, Explanations, ExplanationsError, Kind};
pub use governs::Governed;
pub use packet::{Packet, Value};
pub use trace::{Exchange, Fact, Trace};
