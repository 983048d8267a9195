//! The transmitter of the port: what may begin when.

use alloc::collections::VecDeque;

use rocespec_codec::MacControl;

use crate::config::Config;
use crate::congestion::NotificationPoint;
use crate::packet::Packet;
use crate::pause::{Ignored, PauseGate};
use crate::schedule::Turn;
use crate::time::Time;
use crate::verbs::QpHandle;

/// The gate of a port that is made of this, open.
pub(crate) fn gate(config: &Config) -> PauseGate {
    PauseGate::new(config.pause, config.speed(), config.mac).with_defects(config.defects)
}

/// Most CNPs that may wait; later ones are lost.
const MAX_NOTICES: usize = 1024;

/// The transmitter of the port.
#[derive(Debug)]
pub(crate) struct Port {
    gate: PauseGate,
    /// When the frame that has begun is through.
    busy_until: Time,
    pub(crate) notification: NotificationPoint,
    notices: VecDeque<Notice>,
}

/// A CNP that waits for its time.
#[derive(Debug)]
struct Notice {
    turn: Turn,
    class: u8,
    qp: QpHandle,
    packet: Packet,
}

impl Port {
    pub(crate) fn new(config: &Config) -> Port {
        Port {
            gate: gate(config),
            busy_until: Time::ZERO,
            notification: NotificationPoint::default(),
            notices: VecDeque::new(),
        }
    }

    /// Obeys another flow control from now on; what an earlier one held back may go.
    pub(crate) fn set_gate(&mut self, gate: PauseGate) {
        self.gate = gate;
    }

    /// Takes a MAC control frame.
    pub(crate) fn control(&mut self, now: Time, frame: &MacControl<'_>) -> Result<(), Ignored> {
        self.gate.receive(now, frame)
    }

    /// When a frame of a class that is due may begin. What has begun is finished: the gate is asked for no frame twice.
    pub(crate) fn may_begin_at(&self, due: Time, class: u8) -> Time {
        self.gate.may_begin_at(due.max(self.busy_until), class)
    }

    /// True when a class is paused.
    pub(crate) fn is_paused(&self, now: Time) -> bool {
        (0..8).any(|class| self.gate.may_begin_at(now, class) > now)
    }

    /// A frame of so many bytes begins.
    pub(crate) fn begin(&mut self, now: Time, bytes: usize, config: &Config) {
        if let Some(speed) = config.link_speed {
            self.busy_until = now + speed.time_of_frame(bytes);
        }
    }

    /// Lets a CNP wait for its turn.
    pub(crate) fn push_notice(&mut self, turn: Turn, qp: QpHandle, packet: Packet, config: &Config) {
        let class = packet.route.as_ref().map_or(0, |route| {
            let is_tagged = route.learned.as_ref().is_some_and(|link| !link.tags.is_empty());
            config.pause.class_by.class_of(route.traffic_class, is_tagged.then_some(route.service_level))
        });
        if self.notices.len() < MAX_NOTICES {
            self.notices.push_back(Notice { turn, class, qp, packet });
        }
    }

    /// Class and turn of the next CNP: the one that may begin first, the oldest of several.
    pub(crate) fn first_notice(&self) -> Option<(u8, Turn)> {
        self.notices.get(self.next_notice()).map(|notice| (notice.class, notice.turn))
    }

    pub(crate) fn pop_notice(&mut self) -> Option<(QpHandle, Packet)> {
        self.notices.remove(self.next_notice()).map(|notice| (notice.qp, notice.packet))
    }

    fn next_notice(&self) -> usize {
        let begins = |notice: &Notice| self.may_begin_at(notice.turn.due, notice.class);
        (0..self.notices.len()).min_by_key(|index| begins(&self.notices[*index])).unwrap_or(0)
    }
}
