//! What a link says beside its traffic: pauses, and how its two ends want to treat each priority.
//!
//! Nothing in here grows with the number of frames, and what claims to come from very many addresses is cut off.

mod dcbx;
mod pauses;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rocespec_codec::lldp::Lldp;
use rocespec_codec::{Control, MAC_CONTROL_DESTINATION, MacAddr, MacControl};
use rocespec_model::LinkSpeed;
use rocespec_reports::examination::Pauses;

pub(in crate::check) use dcbx::Announcement;
pub(in crate::check) use pauses::{Sender, Storm};

/// Addresses that are looked at, of either kind of frame.
const MOST_ADDRESSES: usize = 256;

/// Classes of a sender, and PAUSE, which stops them all, as one more.
pub(super) const CLASSES: usize = 9;
pub(super) const PAUSE: usize = 8;

/// What was said on the link.
#[derive(Debug, Clone, Default)]
pub(super) struct Link {
    speed: Option<LinkSpeed>,
    senders: BTreeMap<MacAddr, Sender>,
    announcements: BTreeMap<MacAddr, Announcement>,
}

impl Link {
    /// A link of this speed; `None` where nobody says it.
    pub(super) fn new(speed: Option<LinkSpeed>) -> Link {
        Link { speed, ..Link::default() }
    }

    /// A MAC control frame: its number and its time in nanoseconds since the first frame of the file.
    pub(super) fn control(&mut self, number: u64, time_ns: u64, frame: &MacControl<'_>) {
        let is_to_group = frame.eth.dst == MAC_CONTROL_DESTINATION && frame.eth.tags.is_empty();
        let is_pause = matches!(frame.control, Control::Pause(_));
        if matches!(frame.control, Control::Other(_)) || !is_to_group && !is_pause {
            return;
        }
        let speed = self.speed;
        if let Some(sender) = entry(&mut self.senders, frame.eth.src) {
            sender.note(number, time_ns, &frame.control, speed);
        }
    }

    /// An LLDP frame: its number.
    pub(super) fn lldp(&mut self, number: u64, frame: &Lldp<'_>) {
        if let Some(announcement) = entry(&mut self.announcements, frame.eth.src) {
            announcement.note(number, frame);
        }
    }

    /// What is reported: the pauses of each sender.
    pub(super) fn pauses(&self) -> Vec<Pauses> {
        self.senders.iter().map(|(from, sender)| sender.report(*from, self.speed)).collect()
    }

    pub(super) fn speed(&self) -> Option<LinkSpeed> {
        self.speed
    }

    pub(super) fn senders(&self) -> &BTreeMap<MacAddr, Sender> {
        &self.senders
    }

    pub(super) fn announcements(&self) -> &BTreeMap<MacAddr, Announcement> {
        &self.announcements
    }
}

fn entry<T: Default>(map: &mut BTreeMap<MacAddr, T>, from: MacAddr) -> Option<&mut T> {
    if map.len() >= MOST_ADDRESSES && !map.contains_key(&from) {
        return None;
    }
    Some(map.entry(from).or_default())
}
