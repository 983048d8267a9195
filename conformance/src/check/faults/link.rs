//! What the two ends of a link say to each other.

use std::time::Duration;

use rocespec_codec::MacAddr;

use super::{Found, fault, priorities, remark};
use crate::check::link::{Announcement, Link, PAUSE, Storm};

/// Frames of LLDP after which an end has heard the other one and taken over what it will.
const SETTLED: u64 = 3;

/// A traffic class that is served by its share of the bandwidth.
const BY_SHARE: u8 = 2;

pub(super) fn judge(found: &mut Found, link: &Link) {
    judge_pauses(found, link);
    let announcements = link.announcements();
    for (from, announcement) in announcements {
        judge_bandwidth(found, *from, announcement);
        judge_application(found, *from, announcement);
    }
    // With more than two nobody knows which of them share a link.
    let mut both = announcements.iter();
    if let (Some(one), Some(other), None) = (both.next(), both.next(), both.next()) {
        judge_versions(found, one, other);
        judge_pfc(found, one, other);
    }
    judge_unannounced(found, link);
}

fn judge_pauses(found: &mut Found, link: &Link) {
    for (from, sender) in link.senders() {
        if let Some(pause) = sender.first_stop(PAUSE)
            && let Some(pfc) = (0..PAUSE).find_map(|class| sender.first_stop(class))
        {
            let frame = pause.max(pfc);
            let seen = format!("{from} sends both PAUSE and PFC");
            let hint =
                "With PFC on, PAUSE has to be off: it stops every priority. Turn off global flow control at this port.";
            found.add(from.to_string(), fault("pause-and-pfc", frame, None, seen, hint));
        }
        if *from == MacAddr([0; 6]) {
            let seen = "pauses come from the address 00:00:00:00:00:00".to_owned();
            let hint = "Some switches do not count such frames, so counters of pauses may stay at 0.";
            found.add(String::new(), remark("pause-zero-source", sender.frame, None, seen, hint));
        }
        for storm in sender.storms(link.speed()) {
            judge_storm(found, *from, &storm);
        }
    }
}

fn judge_storm(found: &mut Found, from: MacAddr, storm: &Storm) {
    let class = if storm.class == PAUSE { "all traffic".to_owned() } else { format!("priority {}", storm.class) };
    let gaps = match (storm.gaps, storm.unbroken_up_to) {
        (0, None) => "without a gap".to_owned(),
        (0, Some(bits)) => format!("without a gap on a link of up to {} Gb/s", bits / 1_000_000_000),
        (gaps, _) => {
            let share = storm.paused_ns.saturating_mul(100) / storm.period_ns.max(1);
            format!("with {gaps} gaps, {}% of the time at least", share.min(100))
        }
    };
    let period = Duration::from_nanos(storm.period_ns);
    let seen = format!("{from} told its peer to stop {class} {} times in {period:?}, {gaps}", storm.stops);
    let hint = "A pause storm: the sender of the pauses does not drain. Without gaps it hangs (a dead host or a \
        failing adapter; a switch with a PFC watchdog cuts it off); with gaps it is slower than what comes (look at \
        its PCIe bandwidth and its receive buffers).";
    let key = format!("{from} {class}");
    found.add(key, fault("pause-storm", storm.frame, None, seen, hint));
}

fn judge_bandwidth(found: &mut Found, from: MacAddr, announcement: &Announcement) {
    let Some((frame, ets)) = announcement.ets else { return };
    let lossless = announcement.pfc.map_or(0, |(_, pfc)| pfc.enabled);
    let roce = announcement.applications.as_ref().and_then(|(_, table)| table.v2).unwrap_or(0);
    let starved = (0..8u8).filter(|priority| (lossless | roce) >> priority & 1 == 1).find(|priority| {
        let class = usize::from(ets.classes[usize::from(*priority)]);
        ets.selection.get(class) == Some(&BY_SHARE) && ets.bandwidth.get(class) == Some(&0)
    });
    if let Some(priority) = starved {
        let seen = format!("{from} gives the traffic class of priority {priority} no bandwidth (ETS, 0 percent)");
        let hint = "Give the traffic class of RoCE its share: with none it waits whenever another class has \
            something to send.";
        let fault = fault("class-without-bandwidth", frame, None, seen, hint);
        found.add(from.to_string(), fault);
    }
}

fn judge_application(found: &mut Found, from: MacAddr, announcement: &Announcement) {
    let (Some((_, pfc)), Some((frame, table))) = (announcement.pfc, &announcement.applications) else { return };
    let Some(roce) = table.v2.filter(|roce| *roce & pfc.enabled == 0 && pfc.enabled != 0) else { return };
    let (wanted, lossless) = (priorities(roce), priorities(pfc.enabled));
    let seen = format!("{from} gives RoCE v2 {wanted}, but PFC for {lossless} only");
    let hint = "Let the application priority of UDP port 4791 be a lossless one.";
    found.add(from.to_string(), fault("application-not-lossless", *frame, None, seen, hint));
}

type Said<'a> = (&'a MacAddr, &'a Announcement);

fn judge_versions(found: &mut Found, one: Said<'_>, other: Said<'_>) {
    // A device that tries both may have begun with the other one.
    if one.1.frames < SETTLED || other.1.frames < SETTLED {
        return;
    }
    let only_ieee = |said: &Announcement| said.ieee.filter(|_| said.cee.is_none());
    let only_cee = |said: &Announcement| said.cee.filter(|_| said.ieee.is_none());
    for (a, b) in [(one, other), (other, one)] {
        if let (Some(ieee), Some(cee)) = (only_ieee(a.1), only_cee(b.1)) {
            let seen =
                format!("{} speaks DCBX of IEEE 802.1Qaz (frame {ieee}), {} the older CEE (frame {cee})", a.0, b.0);
            let hint = "The two do not understand each other, so each keeps its own settings. Set one version at both.";
            found.add(String::new(), fault("dcbx-versions", ieee.max(cee), None, seen, hint));
        }
    }
}

fn judge_pfc(found: &mut Found, one: Said<'_>, other: Said<'_>) {
    if one.1.frames < SETTLED || other.1.frames < SETTLED {
        return;
    }
    let enabled = |said: Said<'_>| said.1.pfc.map_or(0, |(_, pfc)| pfc.enabled);
    let (first, second) = (enabled(one), enabled(other));
    // The later word: until then all may be well.
    let Some(frame) = [one, other].iter().filter_map(|said| said.1.pfc).map(|(frame, _)| frame).max() else { return };
    if first == second {
        return;
    }
    if first != 0 && second != 0 {
        let willing = [one, other].iter().filter(|said| said.1.pfc.is_some_and(|(_, pfc)| pfc.willing)).count();
        let how = if willing == 0 { "neither takes over what the other says" } else { "nothing was taken over" };
        let seen =
            format!("{} has PFC for {}, {} for {}; {how}", one.0, priorities(first), other.0, priorities(second));
        let hint = "Both ends of a link have to have PFC for the same priorities: a pause for another one is ignored.";
        found.add(String::new(), fault("pfc-differs", frame, None, seen, hint));
        return;
    }
    let (with, without) = if first != 0 { (one, other) } else { (other, one) };
    let seen = format!("{} announces PFC for {}, {} for none", with.0, priorities(first | second), without.0);
    let hint =
        "Turn PFC on at both ends. If it was set by hand at the other one, and it just does not say so, all is well.";
    // One that says nothing of PFC may have it all the same.
    let make = if without.1.pfc.is_some() { fault } else { remark };
    found.add(String::new(), make("pfc-one-side", frame, None, seen, hint));
}

/// A priority that is paused, though nobody announces that it is lossless.
fn judge_unannounced(found: &mut Found, link: &Link) {
    let announced =
        link.announcements().values().filter_map(|said| said.pfc).fold(0, |all, (_, pfc)| all | pfc.enabled);
    if announced == 0 {
        return;
    }
    for (from, sender) in link.senders() {
        let mut others = (0..PAUSE).filter(|class| announced >> class & 1 == 0);
        let first = others.find_map(|class| Some((class, sender.first_stop(class)?)));
        let Some((class, frame)) = first else { continue };
        let lossless = priorities(announced);
        let seen = format!("{from} sends PFC for priority {class}, but DCBX has PFC for {lossless} only");
        let hint =
            "Whoever gets these pauses ignores them, and loses packets. Set PFC for the same priorities at both ends.";
        found.add(from.to_string(), fault("pfc-not-announced", frame, None, seen, hint));
    }
}
