//! When a frame of a class may begin.

use rocespec_codec::{Control, MAC_CONTROL_DESTINATION, MacAddr, MacControl, Pfc};

use super::{LinkSpeed, PauseConfig, PauseMode};
use crate::defect::{Defect, Defects};
use crate::time::Time;

/// The pauses that a port's transmitter keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseGate {
    config: PauseConfig,
    speed: LinkSpeed,
    station: MacAddr,
    defects: Defects,
    /// When each class was last told something.
    told: [Time; 8],
    /// When each class may send again.
    until: [Time; 8],
}

/// Quanta for which a port that stops late goes on: more than any bound.
const LATE: u16 = 1000;

/// Why a MAC control frame says nothing to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// Another address: neither the reserved group address nor, for PAUSE, the station's own.
    Address,
    /// MAC control frames have no VLAN tag.
    Tagged,
    /// Neither PAUSE nor priority-based flow control, or too short for its own opcode.
    Opcode,
    /// Not what the port is configured to obey.
    Mode,
}

impl PauseGate {
    /// The gate of a port with this address and speed, open for all classes.
    pub fn new(config: PauseConfig, speed: LinkSpeed, station: MacAddr) -> PauseGate {
        PauseGate { config, speed, station, defects: Defects::NONE, told: [Time::ZERO; 8], until: [Time::ZERO; 8] }
    }

    /// The same with deviations.
    #[must_use]
    pub(crate) fn with_defects(self, defects: Defects) -> PauseGate {
        PauseGate { defects, ..self }
    }

    /// Takes a MAC control frame whose last bit arrived at `now`.
    ///
    /// # Errors
    /// When the frame says nothing to this port. Nothing is changed then.
    pub fn receive(&mut self, now: Time, frame: &MacControl<'_>) -> Result<(), Ignored> {
        // rule: pause.link.tagged
        if !frame.eth.tags.is_empty() && !self.has(Defect::ObeysTaggedPause) {
            return Err(Ignored::Tagged);
        }
        let to_group = frame.eth.dst == MAC_CONTROL_DESTINATION || self.has(Defect::ObeysPauseToOthers);
        let control = match frame.control {
            Control::Other(bytes) if self.has(Defect::ObeysAnyControlOpcode) => as_pfc(bytes),
            control => control,
        };
        match (control, self.config.mode) {
            // rule: pause.link.opcode
            (Control::Other(_), _) => Err(Ignored::Opcode),
            // rule: pause.link.destination
            (Control::Pause(_), _) if !to_group && frame.eth.dst != self.station => Err(Ignored::Address),
            (Control::Pfc(_), _) if !to_group => Err(Ignored::Address),
            (Control::Pause(pause), mode) if mode == PauseMode::Pause || self.obeys_pause_beside_pfc() => {
                for class in 0..8 {
                    self.hold(class, now, pause.quanta);
                }
                Ok(())
            }
            (Control::Pfc(pfc), PauseMode::Pfc { classes }) => {
                let classes = if self.has(Defect::PausesAllClasses) { 0xff } else { classes };
                for class in (0..8).filter(|class| classes >> class & 1 == 1) {
                    if let Some(quanta) = self.timer(&pfc, class) {
                        self.hold(class, now, quanta);
                    }
                }
                Ok(())
            }
            (Control::Pause(_) | Control::Pfc(_), _) => Err(Ignored::Mode),
        }
    }

    /// When a frame of `class`, 0 to 7, may begin: `now`, or when the pause of its class ends. Higher bits of the class
    /// are not looked at.
    pub fn may_begin_at(&self, now: Time, class: u8) -> Time {
        let class = usize::from(class & 7);
        // rule: pause.link.stop-bound, pause.link.class-stop-bound
        if self.has(Defect::StopsLate) && now < self.told[class] + self.speed.time_of_quanta(LATE) {
            return now;
        }
        // rule: pause.link.xoff, pause.link.expiry
        self.until[class].max(now)
    }

    /// What a frame says of a class, if anything.
    ///
    /// rule: pause.link.class
    fn timer(&self, pfc: &Pfc, class: u8) -> Option<u16> {
        if self.has(Defect::PausesAllClasses) {
            return (0..8).filter_map(|class| pfc.timer(class)).max();
        }
        let class = if self.has(Defect::ReversesPauseClasses) { 7 - class } else { class };
        // rule: pause.link.disabled-class
        if self.has(Defect::ObeysDisabledTimers) { Some(pfc.timers[usize::from(class)]) } else { pfc.timer(class) }
    }

    /// A new value takes the place of what was left of the old one; 0 ends the pause.
    ///
    /// rule: pause.link.refresh, pause.link.xon, pause.link.quanta
    fn hold(&mut self, class: u8, now: Time, quanta: u16) {
        let old = self.until[usize::from(class)].max(now);
        let speed = if self.has(Defect::CountsQuantaAtOneGigabit) { LinkSpeed::G1 } else { self.speed };
        let pause = speed.time_of_quanta(quanta);
        self.told[usize::from(class)] = now;
        self.until[usize::from(class)] = match quanta {
            0 if self.has(Defect::IgnoresXon) => old,
            0 => now,
            _ if self.has(Defect::IgnoresXoff) => old,
            // rule: pause.link.expiry
            _ if self.has(Defect::PausesForever) => Time::from_nanos(u64::MAX),
            _ if self.has(Defect::AddsPauses) => old + pause,
            _ if self.has(Defect::KeepsLongerPause) => old.max(now + pause),
            _ => now + pause,
        };
    }

    /// rule: pause.link.pause-while-pfc
    fn obeys_pause_beside_pfc(&self) -> bool {
        matches!(self.config.mode, PauseMode::Pfc { .. }) && self.has(Defect::ObeysPauseBesidePfc)
    }

    fn has(&self, defect: Defect) -> bool {
        self.defects.has(defect)
    }
}

/// Reads what is behind an opcode as if it were that of priority-based flow control.
fn as_pfc(bytes: &[u8]) -> Control<'_> {
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let timers = core::array::from_fn(|class| word(4 + 2 * class).unwrap_or(0));
    word(2).map_or(Control::Other(bytes), |vector| Control::Pfc(Pfc { vector, timers }))
}
