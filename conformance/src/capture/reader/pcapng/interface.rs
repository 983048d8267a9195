//! Interface descriptions, and times in their units.

use super::{FRONT, Options, Order};

const TSRESOL: u16 = 9;
const TSOFFSET: u16 = 14;
/// Microseconds, where nothing is said.
const USUAL_RESOLUTION: u8 = 6;
const NS_PER_S: u64 = 1_000_000_000;

/// What is known of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interface {
    pub(super) linktype: u32,
    /// Longest frame kept, 0 for no limit.
    snaplen: u32,
    /// `if_tsresol`: 10^-n s, or 2^-n s when the highest bit is set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset_s: i64,
    /// Nanoseconds in a unit, where they are all that is to be known of a time.
    unit_ns: Option<u64>,
}

impl Interface {
    /// Reads a block: link type, snap length, options (4.2). `None` when it is too short.
    pub(super) fn read(block: &[u8], order: Order) -> Option<Interface> {
        let options = Options::new(block.get(FRONT + 8..)?, order);
        let offset = options.value(TSOFFSET).and_then(|bytes| bytes.try_into().ok());
        let mut interface = Interface {
            linktype: u32::from(order.u16(block, FRONT)),
            snaplen: order.u32(block, FRONT + 4),
            resolution: options.value(TSRESOL).and_then(|bytes| bytes.first().copied()).unwrap_or(USUAL_RESOLUTION),
            offset_s: offset.map_or(0, |bytes| order.i64(bytes)),
            unit_ns: None,
        };
        if interface.resolution <= 9 && interface.offset_s == 0 {
            interface.unit_ns = Some(10u64.pow(9 - u32::from(interface.resolution)));
        }
        Some(interface)
    }

    /// The most bytes of a frame that are kept.
    pub(super) fn longest_frame(&self) -> u32 {
        if self.snaplen == 0 { u32::MAX } else { self.snaplen }
    }

    /// A timestamp in this interface's units as nanoseconds, within the range of 64 bits.
    #[inline]
    pub(super) fn nanoseconds(&self, timestamp: u64) -> u64 {
        match self.unit_ns {
            Some(unit) => timestamp.saturating_mul(unit),
            None => self.converted(timestamp),
        }
    }

    fn converted(&self, timestamp: u64) -> u64 {
        let timestamp = i128::from(timestamp);
        let exponent = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            (timestamp * i128::from(NS_PER_S)) >> exponent
        } else if exponent <= 9 {
            timestamp * 10i128.pow(9 - exponent)
        } else {
            // A unit so small that its power does not fit makes every timestamp less than a nanosecond.
            10i128.checked_pow(exponent - 9).map_or(0, |units| timestamp / units)
        };
        let ns = ns + i128::from(self.offset_s) * i128::from(NS_PER_S);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}
