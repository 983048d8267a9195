//! Two recordings of one exchange held against each other: captures, or golden traces.
//!
//! [`Side::capture`] and [`Side::trace`] read one recording and sort its packets by connection and sender, with numbers
//! that mean the same on every host. [`compare`] finds which connection of one side belongs to which of the other, aligns
//! the packets of each sender, and says what differs, field by field, and whether a rule governs it. `docs/diff.md` is the
//! manual.
//!
//! What the two senders of a connection do at the same time has no order, and neither have what one of them asks and what it
//! answers: requests, responses and congestion notifications of each sender are compared for themselves.

mod align;
mod capture;
mod compare;
mod flows;
mod judge;
mod mads;
mod matching;
mod memory;
mod result;
mod side;
mod throughout;
mod trace;

pub use compare::{Options, compare};
pub use result::{Comparison, Connection, Counts, Decided, Differing, End, FieldDifference, Place, Throughout, Whole};
pub use side::{Form, MOST_PACKETS, Side, SideError, Who};
