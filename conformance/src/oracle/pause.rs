//! Pauses: a class that is told to stop begins no frame until it may again.

use std::time::Duration;

use rocespec_codec::{Control, MAC_CONTROL_DESTINATION, MacControl, Roce};
use rocespec_model::pause::stop_bound;
use rocespec_model::{LinkSpeed, PauseConfig, PauseMode, Time};

use super::{Breach, must};

/// The longest frame that a port may have begun when it is told to stop.
const LONGEST: usize = 9_216;

/// What is known of a port.
#[derive(Debug, Clone, Copy)]
pub struct PortConfig {
    /// Speed of its link.
    pub speed: LinkSpeed,
    /// What it obeys.
    pub pause: PauseConfig,
    /// As that of [`super::OracleConfig`].
    pub skew: Duration,
}

/// A port that is told to pause, and what it sends nevertheless.
#[derive(Debug, Clone)]
pub struct Port {
    config: PortConfig,
    /// How long it takes to stop; `None` where nobody says for this speed.
    bound: Option<Duration>,
    /// For each class: told to stop since when, and until when.
    stopped: [Option<(Time, Time)>; 8],
}

impl Port {
    /// A port that was told nothing.
    pub fn new(config: PortConfig) -> Port {
        let bound = stop_bound(config.speed).duration(config.speed);
        Port { config, bound: bound.map(|bound| bound + config.speed.time_of_frame(LONGEST)), stopped: [None; 8] }
    }

    /// A MAC control frame has come to it.
    pub fn received(&mut self, now: Time, frame: &MacControl<'_>) {
        if !frame.eth.tags.is_empty() {
            return;
        }
        let to_group = frame.eth.dst == MAC_CONTROL_DESTINATION;
        match (frame.control, self.config.pause.mode) {
            (Control::Pfc(pfc), PauseMode::Pfc { classes }) if to_group => {
                for (class, quanta) in pfc.timers.into_iter().enumerate() {
                    if (pfc.vector & u16::from(classes)) >> class & 1 == 1 {
                        self.tell(now, class, quanta);
                    }
                }
            }
            (Control::Pause(pause), PauseMode::Pause) if to_group => {
                (0..8).for_each(|class| self.tell(now, class, pause.quanta));
            }
            // To an address that may be its own: nobody knows what it does now.
            (Control::Pause(_), PauseMode::Pause) => self.stopped = [None; 8],
            _ => {}
        }
    }

    fn tell(&mut self, now: Time, class: usize, quanta: u16) {
        let since = self.stopped[class].filter(|(_, until)| *until > now).map_or(now, |(since, _)| since);
        let until = now + self.config.speed.time_of_quanta(quanta);
        self.stopped[class] = (quanta > 0).then_some((since, until));
    }

    /// It has sent a packet.
    ///
    /// rule: pause.link.xoff
    pub fn sent(&self, now: Time, packet: &Roce<'_>) -> Option<Breach> {
        let class = self.config.pause.class_by.class(&packet.eth, &packet.net) & 7;
        let (since, until) = self.stopped[usize::from(class)]?;
        let skew = self.config.skew;
        let is_stopped = now > since + self.bound? + skew && now + skew < until;
        is_stopped.then(|| {
            let expected = format!("nothing of class {class} for another {:?}", until - now);
            let seen = format!("a packet of it {:?} after it was told to stop", now - since);
            must("pause.link.xoff", expected, seen, "who sends on overruns a receiver that has no room left")
        })
    }
}

#[cfg(test)]
mod tests {
    use rocespec_codec::notation::{self, Line, Scope};
    use rocespec_codec::{ETHERTYPE_MAC_CONTROL, Ethernet, MacAddr, Pause, Pfc};
    use rocespec_model::ClassBy;

    use super::*;

    fn port(mode: PauseMode) -> Port {
        let pause = PauseConfig { mode, class_by: ClassBy::Dscp };
        Port::new(PortConfig { speed: LinkSpeed::G100, pause, skew: Duration::ZERO })
    }

    fn tell(port: &mut Port, at: u64, control: Control<'_>) {
        let (dst, src) = (MAC_CONTROL_DESTINATION, MacAddr([2; 6]));
        let eth = Ethernet { dst, src, tags: Default::default(), ethertype: ETHERTYPE_MAC_CONTROL };
        port.received(Time::ZERO + Duration::from_micros(at), &MacControl { eth, control, padding: &[] });
    }

    fn pfc(class: usize, quanta: u16) -> Control<'static> {
        let mut timers = [0; 8];
        timers[class] = quanta;
        Control::Pfc(Pfc { vector: 1 << class, timers })
    }

    /// Is a packet of this class wrong now?
    fn is_wrong(port: &Port, at: u64, class: u8) -> bool {
        let mut room = [0; 64];
        let text = format!("SEND_ONLY psn=0 8B ip.dscp={}", class << 3);
        let Ok(Line::Roce(packet)) = notation::parse(&text, &Scope::default(), &mut room) else { panic!("{text}") };
        port.sent(Time::ZERO + Duration::from_micros(at), &packet).is_some()
    }

    #[test]
    fn a_class_that_was_told_to_stop_stays_silent() {
        let mut port = port(PauseMode::Pfc { classes: 0b1000 });
        tell(&mut port, 0, pfc(3, 0xffff));
        assert!(!is_wrong(&port, 2, 3), "within the time that a port may take");
        assert!(is_wrong(&port, 5, 3));
        assert!(is_wrong(&port, 335, 3));
        assert!(!is_wrong(&port, 336, 3), "it ends by itself");
        assert!(!is_wrong(&port, 5, 4), "another class");
        tell(&mut port, 100, pfc(3, 0));
        assert!(!is_wrong(&port, 101, 3), "told to go on");
    }

    #[test]
    fn a_new_time_takes_the_place_of_the_old_one() {
        let mut port = port(PauseMode::Pfc { classes: 0xff });
        tell(&mut port, 0, pfc(3, 0xffff));
        tell(&mut port, 300, pfc(3, 0xffff));
        assert!(is_wrong(&port, 301, 3), "it had stopped already");
        assert!(is_wrong(&port, 600, 3));
        tell(&mut port, 610, pfc(3, 100));
        assert!(!is_wrong(&port, 612, 3));
    }

    #[test]
    fn what_the_port_does_not_obey_stops_nothing() {
        let pause = Control::Pause(Pause { quanta: 0xffff });
        let mut of_classes = port(PauseMode::Pfc { classes: 0b1000 });
        tell(&mut of_classes, 0, pause);
        tell(&mut of_classes, 0, pfc(4, 0xffff));
        assert!(!is_wrong(&of_classes, 5, 0) && !is_wrong(&of_classes, 5, 4));
        let mut of_all = port(PauseMode::Pause);
        tell(&mut of_all, 0, pfc(3, 0xffff));
        assert!(!is_wrong(&of_all, 5, 3));
        tell(&mut of_all, 0, pause);
        assert!(is_wrong(&of_all, 5, 3));
    }
}
