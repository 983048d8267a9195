//! Comparisons for people.

use std::fmt::Write as _;

use super::summary::Summary;
use crate::golden::{Difference, Explained, Governed, Kind, Subject};
use crate::run::compare::{Compared, Outcome};

/// True when the case is to be shown: those that ask for attention, and with `all` every one that differs.
pub(super) fn is_shown(case: &Compared, all: bool) -> bool {
    match case.result {
        Outcome::Unexplained | Outcome::NotPlayed(_) => true,
        Outcome::Explained => all,
        Outcome::Same | Outcome::Unsupported(_) => false,
    }
}

/// A case with its differences.
pub(super) fn case(case: &Compared) -> String {
    let mut text = match &case.result {
        Outcome::NotPlayed(why) => format!("NOT PLAYED   {}  {why}\n", case.case),
        Outcome::Unexplained => format!("UNEXPLAINED  {}\n", case.case),
        _ => format!("explained    {}\n", case.case),
    };
    let mut place = None;
    let mut following = 0;
    for explained in &case.differences {
        if explained.kind == Kind::Follows {
            following += 1;
            continue;
        }
        let here = Some((explained.difference.line, &explained.difference.sent));
        if place != here {
            place = here;
            text += &after(&explained.difference);
        }
        text += &difference(explained);
    }
    match following {
        0 => {}
        1 => text += "    and one more difference that follows from it\n",
        more => {
            let _ = writeln!(text, "    and {more} more differences that follow from it");
        }
    }
    if !case.differences.is_empty() {
        let _ = writeln!(text, "    again: {}", case.repeat);
    }
    text
}

/// Where a difference shows.
fn after(difference: &Difference) -> String {
    let at = if difference.line == 0 { "    at the end".to_owned() } else { format!("    line {}", difference.line) };
    let mut text = at;
    for (number, sent) in difference.sent.iter().enumerate() {
        let lead = if number == 0 { "  " } else { "\n            " };
        text += lead;
        text += if sent.starts_with("dut ") { "" } else { "> " };
        text += sent;
    }
    if !difference.remark.is_empty() {
        let _ = write!(text, "  # {}", difference.remark);
    }
    text + "\n"
}

fn difference(explained: &Explained) -> String {
    let Difference { subject, expected, seen, governed, .. } = &explained.difference;
    let what = match subject {
        Subject::Field { name, expected, seen } => format!("{name}: {expected}, device {seen}"),
        Subject::Packet => "another packet".to_owned(),
        Subject::Fact(subject) => subject.clone(),
        Subject::Refusal => "the device refused an order".to_owned(),
        Subject::Death => "the device died".to_owned(),
    };
    let mut text = format!("      {what}\n        model   {expected}\n        device  {seen}\n");
    let rule = explained.rule.as_deref().unwrap_or_default();
    let _ = match (explained.kind, governed) {
        (Kind::Freedom, _) if rule.is_empty() => writeln!(text, "        freedom: {}", explained.why),
        (Kind::Freedom, _) => writeln!(text, "        freedom ({rule}): {}", explained.why),
        (Kind::Deviation, _) => writeln!(text, "        deviation ({rule}): {}", explained.why),
        (_, Governed::Rule(rule)) => writeln!(text, "        UNEXPLAINED, governed by {rule}"),
        _ => writeln!(text, "        UNEXPLAINED"),
    };
    text
}

/// The tables at the end. `full`: everything was played, so that what showed nowhere is stale.
pub(super) fn summary(summary: &Summary<'_>, full: bool) -> String {
    let mut text = String::new();
    for (kind, title) in [(Kind::Deviation, "deviations of the device"), (Kind::Freedom, "freedoms of the standard")] {
        let rows: Vec<_> =
            summary.explanations.iter().filter(|used| used.explanation.kind == kind && used.count > 0).collect();
        let own: Vec<_> = summary.freedoms.iter().filter(|_| kind == Kind::Freedom).collect();
        if rows.is_empty() && own.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{title}:");
        for used in rows {
            let _ = writeln!(text, "{:>6} cases  {}  {}", used.count, used.explanation.rule, used.explanation.why);
        }
        for (why, count) in own {
            let _ = writeln!(text, "{count:>6} times  {why}");
        }
    }
    let stale: Vec<_> =
        summary.explanations.iter().filter(|used| used.count == 0 && used.concerned > 0 && full).collect();
    if !stale.is_empty() {
        let _ = writeln!(text, "\nexplained, but not seen (stale, or of another kind of case):");
        for used in stale {
            let _ = writeln!(text, "              {}  {}", used.explanation.rule, used.explanation.why);
        }
    }
    let count = |of: fn(&Outcome) -> bool| summary.count(of);
    let same = count(|outcome| *outcome == Outcome::Same);
    let explained = count(|outcome| *outcome == Outcome::Explained);
    let unexplained = count(|outcome| *outcome == Outcome::Unexplained);
    let unsupported = count(|outcome| matches!(outcome, Outcome::Unsupported(_)));
    let lost = count(|outcome| matches!(outcome, Outcome::NotPlayed(_)));
    let Summary { dut, profile, system, seed, .. } = summary;
    let _ = writeln!(text, "\ndevice {dut} (profile {profile}, {system}), seed {seed}");
    let _ = writeln!(
        text,
        "{} cases: {same} the same, {explained} explained, {unexplained} unexplained, {unsupported} unsupported, {lost} not \
         played",
        summary.cases.len()
    );
    text
}
