//! How a case differs from its golden trace, as lines of text.

use crate::outcome::{Difference, Golden};
use crate::text::{counted, one_line};

/// Differences shown unless everything is asked for.
const SHOWN: usize = 5;

/// The differences: the packet as the golden has it and as it was seen, and below what differs and who decides. Unless
/// everything is asked for, packets in a row that come at another time and are the same stand for one.
pub(crate) fn lines(golden: &Golden, whole: bool) -> Vec<String> {
    let limit = if whole { usize::MAX } else { SHOWN };
    let is_later = |at: usize| {
        let differences = &golden.differences;
        !whole && at > 0 && is_time_only(&differences[at]) && is_time_only(&differences[at - 1])
    };
    let (mut out, mut shown, mut at) = (Vec::new(), 0, 0);
    while at < golden.differences.len() && shown < limit {
        let difference = &golden.differences[at];
        let place = |d: &Difference| (d.line, d.frame, d.golden_packet.clone(), d.seen_packet.clone());
        if at == 0 || place(&golden.differences[at - 1]) != place(difference) {
            out.extend(packet(difference));
        }
        out.push(format!("    {}", what(difference)));
        (shown, at) = (shown + 1, at + 1);
        let first_later = at;
        while at < golden.differences.len() && is_later(at) {
            at += 1;
        }
        if at > first_later {
            out.push(format!("  and {} after it that differ in time only", counted(at - first_later, "packet")));
        }
    }
    let more = golden.differences.len() - at;
    if more > 0 {
        out.push(format!("and {more} more"));
    }
    out
}

/// The same packet on both sides, at another time.
fn is_time_only(difference: &Difference) -> bool {
    difference.subject == "time" && difference.golden_packet == difference.seen_packet
}

/// Where it is, and the packet on both sides.
fn packet(difference: &Difference) -> Vec<String> {
    let mut place = Vec::new();
    place.extend(difference.line.map(|line| format!("script line {line}")));
    place.extend(difference.frame.map(|frame| format!("frame {frame}")));
    let mut lines = Vec::new();
    if !place.is_empty() {
        lines.push(place.join(", "));
    }
    let both = [("-", &difference.golden_packet), ("+", &difference.seen_packet)];
    let same = [("=", &difference.seen_packet)];
    let sides: &[_] = if is_time_only(difference) { &same } else { &both };
    lines.extend(
        sides
            .iter()
            .filter(|(_, packet)| !packet.is_empty())
            .map(|(sign, packet)| format!("  {sign} {}", one_line(packet))),
    );
    lines
}

/// What differs, and who decides.
fn what(difference: &Difference) -> String {
    let Difference { subject, golden, seen, .. } = difference;
    let values = match difference.is_whole_packet() {
        true => subject.clone(),
        false => format!("{}: golden {}, seen {}", one_line(subject), one_line(golden), one_line(seen)),
    };
    let why = if difference.why.is_empty() { String::new() } else { format!(": {}", one_line(&difference.why)) };
    match &difference.rule {
        Some(rule) => format!("{values}, governed by {}{why}", one_line(rule)),
        None => format!("{values}, free{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(subject: &str, golden: &str, seen: &str, rule: Option<&str>) -> Difference {
        Difference {
            line: Some(7),
            frame: Some(4),
            subject: subject.to_owned(),
            golden: golden.to_owned(),
            seen: seen.to_owned(),
            golden_packet: "ACK psn=1 msn=1".to_owned(),
            seen_packet: "ACK psn=1 msn=2 credits=3".to_owned(),
            rule: rule.map(str::to_owned),
            why: if rule.is_some() { String::new() } else { "its own choice".to_owned() },
        }
    }

    #[test]
    fn differences_of_one_packet_stand_below_it() {
        let differences =
            vec![difference("msn", "1", "2", Some("rc.responder.msn")), difference("credits", "ordinary", "3", None)];
        let golden = Golden { name: "x".to_owned(), differences };
        let expected = [
            "script line 7, frame 4",
            "  - ACK psn=1 msn=1",
            "  + ACK psn=1 msn=2 credits=3",
            "    msn: golden 1, seen 2, governed by rc.responder.msn",
            "    credits: golden ordinary, seen 3, free: its own choice",
        ];
        assert_eq!(lines(&golden, true), expected);
    }

    #[test]
    fn of_many_the_first_are_shown() {
        let golden = Golden { name: "x".to_owned(), differences: vec![difference("packet", "a", "b", None); 50] };
        let shown = lines(&golden, false);
        assert_eq!((shown.len(), shown.last().map(String::as_str)), (3 + SHOWN + 1, Some("and 45 more")));
        assert_eq!(lines(&golden, true).len(), 3 + 50);
    }

    #[test]
    fn packets_in_a_row_that_come_at_another_time_stand_for_one() {
        let late = |frame| Difference {
            frame: Some(frame),
            seen_packet: "ACK psn=1 msn=1".to_owned(),
            ..difference("time", "+271ns", "+455ns", None)
        };
        let mut differences: Vec<Difference> = (1..=50).map(late).collect();
        differences.push(difference("msn", "1", "2", Some("rc.responder.msn")));
        let golden = Golden { name: "x".to_owned(), differences };
        let expected = [
            "script line 7, frame 1",
            "  = ACK psn=1 msn=1",
            "    time: golden +271ns, seen +455ns, free: its own choice",
            "  and 49 packets after it that differ in time only",
            "script line 7, frame 4",
        ];
        assert_eq!(lines(&golden, false)[..5], expected);
        assert_eq!(lines(&golden, true).len(), 3 * 50 + 4);
    }
}
