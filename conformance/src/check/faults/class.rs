//! Traffic outside of the class that is meant for it.

use rocespec_reports::examination::End;

use super::{Found, fault, priorities, remark};
use crate::check::counts::{Class, Counts, Side};
use crate::check::link::Link;

/// Packets that make a habit, and stops that show a class to be lossless.
const HABIT: u64 = 10;
const STOPS: u64 = 3;

/// What the link says about its priorities.
#[derive(Debug)]
pub(super) struct Said {
    /// Priorities that are lossless, by word or by deed.
    lossless: u8,
    /// The first frame that says so.
    frame: u64,
    by_dcbx: bool,
    /// Priorities that RoCE v2 should use.
    roce: u8,
    /// Priority of each DSCP that DCBX names.
    dscp: [Option<u8>; 64],
}

impl Said {
    pub(super) fn by(link: &Link) -> Said {
        let mut said = Said { lossless: 0, frame: u64::MAX, by_dcbx: false, roce: 0, dscp: [None; 64] };
        for announcement in link.announcements().values() {
            if let Some((frame, pfc)) = announcement.pfc.filter(|(_, pfc)| pfc.enabled != 0) {
                said.lossless |= pfc.enabled;
                said.frame = said.frame.min(frame);
                said.by_dcbx = true;
            }
            if let Some((_, applications)) = &announcement.applications {
                said.roce |= applications.v2.unwrap_or(0);
                for (known, named) in said.dscp.iter_mut().zip(applications.dscp) {
                    *known = known.or(named);
                }
            }
        }
        for sender in link.senders().values() {
            for class in (0..8).filter(|class| sender.stops(*class) >= STOPS) {
                said.lossless |= 1 << class;
                if !said.by_dcbx {
                    said.frame = said.frame.min(sender.first_stop(class).unwrap_or(u64::MAX));
                }
            }
        }
        said
    }

    /// Priorities that a packet may be in: by its tag, and by its DSCP, which a switch looks at when it is told to.
    fn of(&self, class: &Class) -> u8 {
        let by_dscp = self.dscp[usize::from(class.dscp & 63)].unwrap_or(class.dscp >> 3) & 7;
        1 << by_dscp | class.pcp.map_or(0, |pcp| 1 << (pcp & 7))
    }
}

pub(super) fn connection(found: &mut Found, said: &Said, number: u32, ends: &[End; 2], counts: &Counts) {
    for (end, side) in ends.iter().zip(&counts.sides) {
        let is_outside = said.lossless != 0 && judge_lossless(found, said, number, end, side);
        if !is_outside && said.roce != 0 {
            judge_application(found, said, number, end, side);
        }
    }
}

fn judge_lossless(found: &mut Found, said: &Said, number: u32, end: &End, side: &Side) -> bool {
    let outside = side.classes.iter().filter(|entry| said.of(&entry.key) & said.lossless == 0);
    let Some(entry) = outside.max_by_key(|entry| entry.count).filter(|entry| entry.count >= HABIT) else {
        return false;
    };
    let (address, class) = (&end.address, name(&entry.key));
    let (lossless, frame) = (priorities(said.lossless), said.frame);
    let source = if said.by_dcbx { "DCBX" } else { "PFC" };
    let seen = format!(
        "{} packets of {address} carry {class}, which is {}; {source} shows {lossless} as lossless (frame {frame})",
        entry.count,
        priorities(said.of(&entry.key)),
    );
    let hint = "Set the traffic class of the sender (or its priority in the VLAN tag) to the lossless one. A DSCP \
        belongs to the priority of its upper three bits unless the devices map it otherwise; where they do, compare \
        their tables.";
    let key = format!("{address} {class}");
    // The priority of a DSCP that nobody has named is only usual.
    let is_known = entry.key.pcp.is_some() || said.dscp[usize::from(entry.key.dscp & 63)].is_some();
    let make = if is_known { fault } else { remark };
    found.add(key, make("class-not-lossless", entry.frame, Some(number), seen, hint));
    true
}

fn judge_application(found: &mut Found, said: &Said, number: u32, end: &End, side: &Side) {
    // Only those of RoCE v2 have UDP ports.
    let is_v2 = !side.sent.source_ports.is_empty();
    // Devices may go by the DSCP in spite of the tag.
    let is_wrong = |class: &Class| class.pcp.is_some() && said.of(class) & said.roce == 0;
    let outside = side.classes.iter().filter(|entry| is_v2 && is_wrong(&entry.key));
    let Some(entry) = outside.max_by_key(|entry| entry.count).filter(|entry| entry.count >= HABIT) else { return };
    let (address, class) = (&end.address, name(&entry.key));
    let wanted = priorities(said.roce);
    let seen = format!("{} packets of {address} carry {class}; DCBX gives RoCE v2 {wanted}", entry.count);
    let hint = "Let the sender take the application priority of DCBX, or set its VLAN priority by hand to the same.";
    let key = format!("{address} {class}");
    found.add(key, fault("application-priority", entry.frame, Some(number), seen, hint));
}

fn name(class: &Class) -> String {
    match class.pcp {
        Some(pcp) => format!("DSCP {} and VLAN priority {pcp}", class.dscp),
        None => format!("DSCP {}", class.dscp),
    }
}
