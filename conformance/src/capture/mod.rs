//! Capture files: reading pcap and pcapng, packed or not, looking into what they hold, writing pcapng.
//!
//! ```
//! use rocespec::capture::{Direction, Reader, pcapng::Writer};
//!
//! let mut writer = Writer::new(Vec::new())?;
//! writer.frame(1_500, Direction::Outbound, &[0; 60], Some("line 3: the first request"))?;
//! let file = writer.finish()?;
//!
//! let frame = Reader::new(&file[..]).next().unwrap()?;
//! assert_eq!((frame.number, frame.time_ns), (1, 1_500));
//! assert_eq!(frame.comment.as_deref(), Some("line 3: the first request"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod inside;
pub mod ordinary;
pub mod pcapng;
pub mod reader;
pub mod rewrite;
#[cfg(test)]
mod tests;
mod unpack;

pub use error::CaptureError;
pub use pcapng::Direction;
pub use reader::{Ahead, Batch, Batches, CapturedFrame, FrameRef, Reader};
pub use unpack::unpack;

/// The link type of Ethernet in both formats.
pub const LINKTYPE_ETHERNET: u32 = 1;

/// The longest block or record that is read or written, in bytes. A length beyond it is taken for damage: no frame of any
/// network comes near it.
pub const MAX_BLOCK: usize = 16 << 20;
