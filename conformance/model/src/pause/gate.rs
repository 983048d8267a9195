//! When a frame of a class may begin.

use rocespec_codec::{Control, MAC_CONTROL_DESTINATION, MacAddr, MacControl};

use super::{LinkSpeed, PauseConfig, PauseMode};
use crate::time::Time;

/// The pauses that a port's transmitter keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseGate {
    config: PauseConfig,
    speed: LinkSpeed,
    station: MacAddr,
    /// When each class may send again.
    until: [Time; 8],
}

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
        PauseGate { config, speed, station, until: [Time::ZERO; 8] }
    }

    /// Takes a MAC control frame whose last bit arrived at `now`.
    ///
    /// # Errors
    /// When the frame says nothing to this port. Nothing is changed then.
    pub fn receive(&mut self, now: Time, frame: &MacControl<'_>) -> Result<(), Ignored> {
        // rule: pause.link.tagged
        if !frame.eth.tags.is_empty() {
            return Err(Ignored::Tagged);
        }
        let to_group = frame.eth.dst == MAC_CONTROL_DESTINATION;
        match (frame.control, self.config.mode) {
            // rule: pause.link.opcode
            (Control::Other(_), _) => Err(Ignored::Opcode),
            // rule: pause.link.destination
            (Control::Pause(_), _) if !to_group && frame.eth.dst != self.station => Err(Ignored::Address),
            (Control::Pfc(_), _) if !to_group => Err(Ignored::Address),
            (Control::Pause(pause), PauseMode::Pause) => {
                for class in 0..8 {
                    self.hold(class, now, pause.quanta);
                }
                Ok(())
            }
            (Control::Pfc(pfc), PauseMode::Pfc { classes }) => {
                for class in (0..8).filter(|class| classes >> class & 1 == 1) {
                    // rule: pause.link.disabled-class
                    if let Some(quanta) = pfc.timer(class) {
                        self.hold(class, now, quanta);
                    }
                }
                Ok(())
            }
            // rule: pause.link.pause-while-pfc
            (Control::Pause(_) | Control::Pfc(_), _) => Err(Ignored::Mode),
        }
    }

    /// When a frame of `class`, 0 to 7, may begin: `now`, or when the pause of its class ends. Higher bits of the class
    /// are not looked at.
    pub fn may_begin_at(&self, now: Time, class: u8) -> Time {
        // rule: pause.link.xoff, pause.link.expiry
        self.until[usize::from(class & 7)].max(now)
    }

    /// A new value takes the place of what was left of the old one; 0 ends the pause.
    ///
    /// rule: pause.link.refresh, pause.link.xon, pause.link.quanta
    fn hold(&mut self, class: u8, now: Time, quanta: u16) {
        self.until[usize::from(class)] = now + self.speed.time_of_quanta(quanta);
    }
}
