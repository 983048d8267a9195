//! Marks of congestion, and the notifications that answer them.

use super::path::Sender;
use super::{Found, fault, remark};
use crate::check::counts::Side;

/// Marks that have to be answered at least once, over this time: notifications are paced by some microseconds.
const MARKS: u64 = 100;
const MARKS_NS: u64 = 1_000_000;

/// Packets of a receiver that show that what it sends is captured.
const HEARD: u64 = 10;

/// Notifications that have a reason.
const NOTIFICATIONS: u64 = 10;

/// Packets that are all marked, over this time: no queue is full without a break for so long.
const ALL_MARKED: u64 = 100;
const ALL_MARKED_NS: u64 = 100_000_000;

/// An address that others send to, in all its connections: notifications may be paced for all of them together.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Marked packets with payload that came, the first one, and the times of the first and the last.
    marks: u64,
    mark: Option<(u64, u32)>,
    mark_times_ns: Option<[u64; 2]>,
    /// Marks of any kind.
    any_marks: u64,
    /// Packets that came, and those of them that may be marked.
    came: u64,
    capable: u64,
    /// What it sent.
    sent: u64,
    cnps: u64,
    cnp: Option<(u64, u32)>,
    /// Losses: some devices send a notification with the NAK.
    losses: u64,
}

impl Receiver {
    /// A connection of it: what it sent, and what came.
    pub(super) fn add(&mut self, number: u32, side: &Side, other: &Side) {
        self.marks += other.ce_data;
        self.any_marks += other.sent.ce_marks;
        if other.ce_data > 0 {
            let [first, last] = other.ce_times_ns;
            let times = self.mark_times_ns.get_or_insert([first, last]);
            *times = [times[0].min(first), times[1].max(last)];
            self.mark = earlier(self.mark, other.ce_frame, number);
        }
        self.came += other.sent.packets;
        self.capable += other.sent.ecn_capable;
        self.sent += side.sent.packets;
        self.cnps += side.sent.cnps;
        self.cnp = earlier(self.cnp, side.cnp_frame, number);
        self.losses += side.naks() + other.sent.gaps;
    }

    pub(super) fn judge(&self, found: &mut Found, address: &str) {
        let [first, last] = self.mark_times_ns.unwrap_or_default();
        if let Some((frame, number)) = self.mark
            && self.marks >= MARKS
            && last.saturating_sub(first) >= MARKS_NS
            && self.cnps == 0
            && self.sent >= HEARD
        {
            let seen = format!("{} packets with CE went to {address}, which sent no CNP", self.marks);
            let hint = "Turn on the notification point for this priority at the receiver; without it the senders do \
                not slow down. If the receiver does send CNPs, its way back for them is not captured.";
            let fault = fault("ce-without-cnp", frame, Some(number), seen, hint);
            found.add(address.to_owned(), fault);
        }
        let Some((frame, number)) = self.cnp else { return };
        if self.cnps < NOTIFICATIONS || self.cnps <= 2 * self.losses || self.any_marks > 0 || self.came < MARKS {
            return;
        }
        let (cnps, came) = (self.cnps, self.came);
        let found_one = if self.capable == 0 {
            let seen = format!(
                "{address} sent {cnps} CNPs, but of {came} packets to it none is ECN-capable, so none can be marked"
            );
            let hint = "Turn on ECN at the sender (ECT in the IP header). If a device on the way rewrites the bits, \
                find the one that does.";
            fault("cnp-without-ce", frame, Some(number), seen, hint)
        } else {
            let seen = format!("{address} sent {cnps} CNPs, but none of {came} packets to it has CE here");
            let hint = "Ordinary when the capture point lies before the switch that marks: capture at the receiver \
                to see the marks. Captured there, the receiver notifies without cause.";
            remark("cnp-without-ce", frame, Some(number), seen, hint)
        };
        found.add(address.to_owned(), found_one);
    }
}

fn earlier(known: Option<(u64, u32)>, frame: Option<u64>, number: u32) -> Option<(u64, u32)> {
    let new = frame.map(|frame| (frame, number));
    match (known, new) {
        (Some(known), Some(new)) => Some(known.min(new)),
        _ => known.or(new),
    }
}

/// Who sends every packet marked, with a hop limit that no router has touched.
pub(super) fn judge_sender(found: &mut Found, address: &str, sender: &Sender) {
    let is_fresh = sender.hop_limits.is_some_and(|[least, most]| least == most && matches!(least, 64 | 128 | 255));
    let is_long = sender.times_ns[1].saturating_sub(sender.times_ns[0]) >= ALL_MARKED_NS;
    if sender.packets < ALL_MARKED || sender.marked != sender.packets || !is_fresh || !is_long {
        return;
    }
    let Some((frame, number)) = sender.first else { return };
    let seen =
        format!("all {} packets of {address} have CE, and no router lies before the capture point", sender.packets);
    let hint = "The sender's traffic class has both ECN bits set (DSCP << 2 was given with 3 added, for example): CE \
        is for switches to set. Its peers send CNPs all the time and slow it down.";
    found.add(address.to_owned(), fault("ce-by-sender", frame, Some(number), seen, hint));
}
