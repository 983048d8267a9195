//! One line of text for one packet: read it, print it, compare it.
//!
//! ```
//! use rocespec_codec::notation::{self, Line, Region, Scope};
//! use rocespec_codec::RKey;
//!
//! let regions = [Region { name: "mr", va: 0x7f00_0000, len: 4096, rkey: RKey::new(0x1234) }];
//! let scope = Scope { regions: &regions, ..Scope::default() };
//! let text = "RDMA_WRITE_FIRST psn=3 va=mr+0x40 rkey=mr len=3000 1024B";
//!
//! let mut buffer = [0; 2048];
//! let Line::Roce(packet) = notation::parse(text, &scope, &mut buffer)? else { panic!("not RoCE") };
//! assert_eq!(packet.ext.reth.va, 0x7f00_0040);
//! assert_eq!(packet.payload.len(), 1024);
//! assert_eq!(notation::print(&packet, &scope).to_string(), text);
//!
//! let mut buffer = [0; 64];
//! let pattern = notation::parse_pattern("RDMA_WRITE_FIRST psn=0..2 va=mr", &scope, &mut buffer)?;
//! let wrong: Vec<String> = pattern.wrong_fields(&packet).map(|wrong| wrong.to_string()).collect();
//! assert_eq!(wrong, ["expected psn=0..2, saw psn=3", "expected va=mr, saw va=mr+0x40"]);
//! # Ok::<(), notation::NotationError>(())
//! ```
//!
//! The grammar stands in `docs/notation.md`. What is not written holds its ordinary value, see
//! [`Ordinary`](crate::field::Ordinary): the same rule decides what is printed, so that a printed packet reads back as
//! it was. Two values are no packets in this sense, and do not come back: headers that the opcode does not call for
//! hold zeroes, and there is a UDP header in RoCE v2 and only there.

mod digits;
mod error;
mod fields;
mod head;
mod number;
mod other;
mod parse;
mod pattern;
mod pause;
mod print;
mod scope;
mod suggest;
mod text;
mod value;
mod words;

pub use error::{NotationError, NotationErrorKind, Snippet};
pub use fields::{Said, fields};
pub use head::Head;
pub use parse::{Line, parse};
pub use pattern::{Mismatch, Pattern, parse_pattern};
pub use print::{Printed, PrintedFrame, print, print_frame};
pub use scope::{Region, Scope};
pub use text::Text;
