//! Codes that stand for something by a table.

use core::time::Duration;

/// Path MTU: payload bytes of a full packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the sizes")]
pub enum Mtu {
    B256 = 1,
    B512 = 2,
    B1024 = 3,
    B2048 = 4,
    B4096 = 5,
}

impl Mtu {
    /// All, smallest first.
    pub const ALL: [Mtu; 5] = [Mtu::B256, Mtu::B512, Mtu::B1024, Mtu::B2048, Mtu::B4096];

    /// Size in bytes.
    pub const fn bytes(self) -> usize {
        128 << self as usize
    }

    /// From its code in messages of the connection manager, 1 to 5.
    pub fn from_code(code: u8) -> Option<Mtu> {
        Mtu::ALL.into_iter().find(|mtu| *mtu as u8 == code)
    }

    /// From a size in bytes.
    pub fn from_bytes(bytes: usize) -> Option<Mtu> {
        Mtu::ALL.into_iter().find(|mtu| mtu.bytes() == bytes)
    }
}

/// Timer code of an RNR NAK, 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RnrTimer(u8);

/// In units of 10 us. Code 0 is the longest.
const RNR_TIMER: [u32; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
    6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

impl RnrTimer {
    /// Takes the low 5 bits.
    pub const fn new(code: u8) -> Self {
        RnrTimer(code & 0x1f)
    }

    /// The code.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Least time that the requester has to wait.
    pub const fn duration(self) -> Duration {
        Duration::from_micros(RNR_TIMER[self.0 as usize] as u64 * 10)
    }

    /// The code whose wait is exactly this long.
    pub fn from_duration(duration: Duration) -> Option<RnrTimer> {
        (0..32).map(RnrTimer).find(|code| code.duration() == duration)
    }
}

/// Credit code of an ACK, 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Credits(u8);

const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
    8192, 12288, 16384, 24576, 32768,
];

impl Credits {
    /// The responder gives no end-to-end credits: the requester does not limit itself.
    pub const NONE: Credits = Credits(31);

    /// Takes the low 5 bits.
    pub const fn new(code: u8) -> Self {
        Credits(code & 0x1f)
    }

    /// The code.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// How many receive requests the code stands for; `None` for [`Credits::NONE`].
    pub const fn count(self) -> Option<u16> {
        if self.0 == 31 { None } else { Some(CREDITS[self.0 as usize]) }
    }

    /// The largest code that promises no more than `count`.
    pub fn from_count(count: usize) -> Credits {
        let above = CREDITS.partition_point(|&credits| usize::from(credits) <= count);
        Credits(above as u8 - 1)
    }
}

/// Code of a NAK, 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum NakCode {
    PsnSequenceError,
    InvalidRequest,
    RemoteAccessError,
    RemoteOperationalError,
    InvalidRdRequest,
    /// 5 to 31.
    Reserved(u8),
}

impl NakCode {
    /// From the low 5 bits.
    pub const fn new(code: u8) -> Self {
        match code & 0x1f {
            0 => NakCode::PsnSequenceError,
            1 => NakCode::InvalidRequest,
            2 => NakCode::RemoteAccessError,
            3 => NakCode::RemoteOperationalError,
            4 => NakCode::InvalidRdRequest,
            other => NakCode::Reserved(other),
        }
    }

    /// The code.
    pub const fn get(self) -> u8 {
        match self {
            NakCode::PsnSequenceError => 0,
            NakCode::InvalidRequest => 1,
            NakCode::RemoteAccessError => 2,
            NakCode::RemoteOperationalError => 3,
            NakCode::InvalidRdRequest => 4,
            NakCode::Reserved(code) => code & 0x1f,
        }
    }

    /// Name in the notation; `None` for reserved codes.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            NakCode::PsnSequenceError => "psn_sequence_error",
            NakCode::InvalidRequest => "invalid_request",
            NakCode::RemoteAccessError => "remote_access_error",
            NakCode::RemoteOperationalError => "remote_operational_error",
            NakCode::InvalidRdRequest => "invalid_rd_request",
            NakCode::Reserved(_) => return None,
        })
    }

    /// By its name in the notation.
    pub fn from_name(name: &str) -> Option<NakCode> {
        (0..5).map(NakCode::new).find(|code| code.name() == Some(name))
    }
}

/// Syndrome of an AETH: bit 7 reserved, bits 6:5 class, bits 4:0 value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Syndrome(pub u8);

/// What a syndrome says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyndromeClass {
    /// Acknowledged, with credits.
    Ack(Credits),
    /// Receiver not ready, with the time to wait.
    RnrNak(RnrTimer),
    /// Not acknowledged, with the reason.
    Nak(NakCode),
    /// Class 10, or bit 7 set.
    Reserved(u8),
}

impl Syndrome {
    /// Takes it apart.
    pub const fn class(self) -> SyndromeClass {
        match self.0 >> 5 {
            0 => SyndromeClass::Ack(Credits::new(self.0)),
            1 => SyndromeClass::RnrNak(RnrTimer::new(self.0)),
            3 => SyndromeClass::Nak(NakCode::new(self.0)),
            _ => SyndromeClass::Reserved(self.0),
        }
    }

    /// Of an ACK.
    pub const fn ack(credits: Credits) -> Self {
        Syndrome(credits.get())
    }

    /// Of an RNR NAK.
    pub const fn rnr_nak(timer: RnrTimer) -> Self {
        Syndrome(0x20 | timer.get())
    }

    /// Of a NAK.
    pub const fn nak(code: NakCode) -> Self {
        Syndrome(0x60 | code.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_never_promise_more_than_there_are() {
        for count in 0..40_000 {
            let code = Credits::from_count(count);
            assert!(usize::from(code.count().unwrap()) <= count);
            if let Some(more) = Credits::new(code.get() + 1).count() {
                assert!(usize::from(more) > count);
            }
        }
    }

    #[test]
    fn timer_zero_is_the_longest() {
        assert_eq!(RnrTimer::new(0).duration(), Duration::from_micros(655_360));
        assert_eq!(RnrTimer::new(25).duration(), Duration::from_micros(61_440));
        assert!((1..32).all(|code| RnrTimer::new(code).duration() < RnrTimer::new(0).duration()));
    }
}
