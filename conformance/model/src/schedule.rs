//! Which queue pair sends next, and which has a timer to look at.

use alloc::collections::BTreeSet;

use crate::time::Time;
use crate::verbs::QpHandle;

/// Traffic classes of a port.
pub(crate) const CLASSES: usize = 8;

/// When a queue pair may send, and its place among those that may at the same time: who asked first goes first, so that
/// queue pairs take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) due: Time,
    /// Counts over all queue pairs.
    pub(crate) order: u64,
}

/// Where a queue pair stands in the schedule, kept by the queue pair itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    turn: Option<(u8, Turn)>,
    alarm: Option<Time>,
}

/// All queue pairs that want to send or wait for a time; those that do neither cost nothing.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    turns: [BTreeSet<(Turn, QpHandle)>; CLASSES],
    alarms: BTreeSet<(Time, QpHandle)>,
}

impl Schedule {
    /// Notes what a queue pair waits for from `now` on. A timer that is put off keeps its place, since it is likely to be
    /// put off again: it is looked at once too early then.
    pub(crate) fn settle(
        &mut self,
        handle: QpHandle,
        place: &mut Place,
        now: Time,
        class: u8,
        turn: Option<Turn>,
        alarm: Option<Time>,
    ) {
        let turn = turn.map(|turn| (class % CLASSES as u8, turn));
        if place.turn != turn {
            if let Some((class, turn)) = place.turn {
                self.turns[usize::from(class)].remove(&(turn, handle));
            }
            if let Some((class, turn)) = turn {
                self.turns[usize::from(class)].insert((turn, handle));
            }
            place.turn = turn;
        }
        let is_put_off = place.alarm.is_some_and(|noted| noted > now && alarm.is_some_and(|alarm| alarm >= noted));
        if place.alarm != alarm && !is_put_off {
            if let Some(alarm) = place.alarm {
                self.alarms.remove(&(alarm, handle));
            }
            if let Some(alarm) = alarm {
                self.alarms.insert((alarm, handle));
            }
            place.alarm = alarm;
        }
    }

    /// The next one to send of each class.
    pub(crate) fn first_turns(&self) -> impl Iterator<Item = (u8, Turn, QpHandle)> {
        self.turns.iter().zip(0..).filter_map(|(turns, class)| turns.first().map(|(turn, qp)| (class, *turn, *qp)))
    }

    /// The next timer to look at.
    pub(crate) fn first_alarm(&self) -> Option<(Time, QpHandle)> {
        self.alarms.first().copied()
    }
}
