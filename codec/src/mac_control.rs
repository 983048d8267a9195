//! MAC control frames: PAUSE (IEEE 802.3 annex 31B) and priority-based flow control (IEEE 802.1Qbb, 802.3 annex 31D).

use core::time::Duration;

use arrayvec::ArrayVec;

use crate::eth::{Ethernet, MIN_FRAME, MacAddr};
use crate::wire;

/// Ethertype of MAC control frames.
pub const ETHERTYPE_MAC_CONTROL: u16 = 0x8808;
/// Where MAC control frames go: never forwarded by a bridge.
pub const MAC_CONTROL_DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 1]);

const OPCODE_PAUSE: u16 = 0x0001;
const OPCODE_PFC: u16 = 0x0101;

/// A MAC control frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacControl<'a> {
    /// Ethernet header. A right one has no tags.
    pub eth: Ethernet,
    /// What it asks for.
    pub control: Control<'a>,
    /// Bytes behind it: zeroes up to 60 bytes of frame, when right.
    pub padding: &'a [u8],
}

/// What a MAC control frame asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Control<'a> {
    /// Opcode 0x0001: all traffic.
    Pause(Pause),
    /// Opcode 0x0101: each priority on its own.
    Pfc(Pfc),
    /// Another opcode, or too short for its own: everything behind the ethertype, from the opcode on.
    Other(&'a [u8]),
}

/// Pause all traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pause {
    /// For how long, in quanta of 512 bit times; 0 ends a pause.
    pub quanta: u16,
}

/// Pause some priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Pfc {
    /// Class-enable vector: bit n says that timer n counts. Bits 15:8 are sent as 0.
    pub vector: u16,
    /// For how long each priority pauses, in quanta of 512 bit times, priority 0 first. Where the priority is enabled,
    /// 0 ends its pause; where it is not, the timer says nothing.
    pub timers: [u16; 8],
}

impl Pause {
    /// How long `quanta` are at a link speed in bits per second: 65535 are 335.5 us at 100 Gb/s. Zero for speed 0.
    pub fn duration(quanta: u16, bits_per_second: u64) -> Duration {
        let nanos = u128::from(quanta) * 512 * 1_000_000_000;
        Duration::from_nanos(u64::try_from(nanos.checked_div(bits_per_second.into()).unwrap_or(0)).unwrap_or(u64::MAX))
    }
}

impl Pfc {
    /// Pauses the priorities whose bits are set in `priorities`, all for `quanta`.
    pub fn new(priorities: u8, quanta: u16) -> Pfc {
        let mut pfc = Pfc { vector: priorities.into(), timers: [0; 8] };
        for (priority, timer) in pfc.timers.iter_mut().enumerate() {
            if priorities >> priority & 1 == 1 {
                *timer = quanta;
            }
        }
        pfc
    }

    /// What is said of a priority: `None` when nothing is, `Some(0)` ends its pause. Priorities are 0 to 7.
    pub fn timer(&self, priority: u8) -> Option<u16> {
        let timer = self.timers.get(usize::from(priority))?;
        (self.vector >> priority & 1 == 1).then_some(*timer)
    }
}

impl<'a> Control<'a> {
    /// The opcode; `None` when the frame is too short for one.
    pub fn opcode(&self) -> Option<u16> {
        match self {
            Control::Pause(_) => Some(OPCODE_PAUSE),
            Control::Pfc(_) => Some(OPCODE_PFC),
            Control::Other(bytes) => bytes.get(..2).map(|bytes| wire::u16(bytes, 0)),
        }
    }

    /// Takes it apart, and gives what is behind it.
    fn read(bytes: &'a [u8]) -> (Control<'a>, &'a [u8]) {
        let opcode = bytes.get(..2).map(|bytes| wire::u16(bytes, 0));
        match opcode {
            Some(OPCODE_PAUSE) if bytes.len() >= 4 => {
                (Control::Pause(Pause { quanta: wire::u16(bytes, 2) }), &bytes[4..])
            }
            Some(OPCODE_PFC) if bytes.len() >= 20 => {
                let timers = core::array::from_fn(|priority| wire::u16(bytes, 4 + 2 * priority));
                (Control::Pfc(Pfc { vector: wire::u16(bytes, 2), timers }), &bytes[20..])
            }
            _ => (Control::Other(bytes), &[]),
        }
    }

    fn len(&self) -> usize {
        match self {
            Control::Pause(_) => 4,
            Control::Pfc(_) => 20,
            Control::Other(bytes) => bytes.len(),
        }
    }
}

impl<'a> MacControl<'a> {
    /// A right frame.
    pub fn new(src: MacAddr, control: Control<'a>) -> MacControl<'a> {
        static ZEROS: [u8; MIN_FRAME] = [0; MIN_FRAME];
        let eth =
            Ethernet { dst: MAC_CONTROL_DESTINATION, src, tags: ArrayVec::new(), ethertype: ETHERTYPE_MAC_CONTROL };
        let padding = &ZEROS[..MIN_FRAME.saturating_sub(eth.len() + control.len())];
        MacControl { eth, control, padding }
    }

    /// Bytes of the frame.
    #[expect(clippy::len_without_is_empty, reason = "a frame is never empty")]
    pub fn len(&self) -> usize {
        self.eth.len() + self.control.len() + self.padding.len()
    }

    /// Reads what is behind the Ethernet header. There is nothing that it does not take.
    pub(crate) fn read(eth: Ethernet, frame: &'a [u8]) -> MacControl<'a> {
        let (control, padding) = Control::read(&frame[eth.len()..]);
        MacControl { eth, control, padding }
    }

    pub(crate) fn write(&self, mut put: impl FnMut(&[u8])) {
        self.eth.write(&mut put);
        match self.control {
            Control::Pause(pause) => {
                put(&OPCODE_PAUSE.to_be_bytes());
                put(&pause.quanta.to_be_bytes());
            }
            Control::Pfc(pfc) => {
                put(&OPCODE_PFC.to_be_bytes());
                put(&pfc.vector.to_be_bytes());
                pfc.timers.iter().for_each(|timer| put(&timer.to_be_bytes()));
            }
            Control::Other(bytes) => put(bytes),
        }
        put(self.padding);
    }
}
