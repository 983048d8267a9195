//! How long bits take on a link.

use core::time::Duration;

/// Speed of a link in bits per second; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpeed(u64);

/// Bits of a pause quantum.
const QUANTUM: u64 = 512;
/// Shortest frame in bytes, with its frame check sequence.
const MIN_FRAME: u64 = 64;
/// Frame check sequence in bytes.
const FCS: u64 = 4;
/// Preamble and start delimiter in front of a frame, gap behind it, in bytes.
const AROUND: u64 = 8 + 12;

impl LinkSpeed {
    /// 1 Gb/s.
    pub const G1: LinkSpeed = LinkSpeed::gigabits(1);
    /// 10 Gb/s.
    pub const G10: LinkSpeed = LinkSpeed::gigabits(10);
    /// 25 Gb/s.
    pub const G25: LinkSpeed = LinkSpeed::gigabits(25);
    /// 40 Gb/s.
    pub const G40: LinkSpeed = LinkSpeed::gigabits(40);
    /// 50 Gb/s.
    pub const G50: LinkSpeed = LinkSpeed::gigabits(50);
    /// 100 Gb/s.
    pub const G100: LinkSpeed = LinkSpeed::gigabits(100);
    /// 200 Gb/s.
    pub const G200: LinkSpeed = LinkSpeed::gigabits(200);
    /// 400 Gb/s.
    pub const G400: LinkSpeed = LinkSpeed::gigabits(400);

    const fn gigabits(count: u64) -> LinkSpeed {
        LinkSpeed(count * 1_000_000_000)
    }

    /// So many bits per second; `None` for 0.
    pub const fn from_bits_per_second(bits: u64) -> Option<LinkSpeed> {
        if bits == 0 { None } else { Some(LinkSpeed(bits)) }
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Bytes that a frame takes on the wire beside its own: check sequence, preamble, start delimiter and gap.
    pub const OVERHEAD: u64 = FCS + AROUND;

    /// How long so many bits take, rounded up to whole nanoseconds.
    pub const fn time_of_bits(self, bits: u64) -> Duration {
        let nanos = (bits as u128 * 1_000_000_000).div_ceil(self.0 as u128);
        Duration::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// How long a pause of so many quanta of 512 bit times lasts, rounded up to whole nanoseconds: 65535 are 335.54 us
    /// at 100 Gb/s.
    pub const fn time_of_quanta(self, quanta: u16) -> Duration {
        self.time_of_bits(quanta as u64 * QUANTUM)
    }

    /// From the first bit of a frame's preamble to the first that the next frame can have. `len` is that of the frame
    /// without its frame check sequence; short ones are padded.
    pub const fn time_of_frame(self, len: usize) -> Duration {
        let len = (len as u64).saturating_add(FCS);
        let len = if len < MIN_FRAME { MIN_FRAME } else { len };
        self.time_of_bits(len.saturating_add(AROUND).saturating_mul(8))
    }
}
