//! A case held against its golden.

use std::time::Duration;

use rocespec_reports::outcome::{self, Actor, Case, Verdict};

use super::align::{Pair, align};
use super::compare::{self, NOTHING, Subject, told};
use super::packet::Packet;
use super::recording::Recording;
use super::trace::Exchange;
use super::{Governed, governs};
use crate::duration;
use crate::profile::Timing;

/// Most differences that are listed: who reads on learns nothing new.
const MOST: usize = 200;

/// How exactly times are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Times of what a rule governs, a packet that is sent again, are the same when they differ by no more than this.
    pub governed: Duration,
    /// The same for times that are a device's own choice.
    pub free: Duration,
}

impl Tolerance {
    /// Every nanosecond counts.
    pub const EXACT: Tolerance = Tolerance { governed: Duration::ZERO, free: Duration::ZERO };

    /// That of a profile: its slack, and for answers the time that a device has for them. Exact where there is no slack.
    pub fn of(timing: &Timing) -> Tolerance {
        match timing.slack {
            Duration::ZERO => Tolerance::EXACT,
            slack => Tolerance { governed: slack, free: slack.max(timing.response) },
        }
    }

    /// True when every nanosecond counts.
    pub fn is_exact(self) -> bool {
        self == Tolerance::EXACT
    }
}

/// What a case did otherwise than its golden says, in the order of the trace. Where every nanosecond counts, the two have
/// to be the same line by line, in time and order.
///
/// A script that stopped at a finding is compared as far as it came. Behind the 200th difference, one with the subject `more`
/// stands for the rest.
pub fn differences(
    golden: &Recording,
    seen: &Recording,
    case: &Case,
    tolerance: Tolerance,
) -> Vec<outcome::Difference> {
    let exact = tolerance.is_exact();
    if exact && golden.is(seen) {
        return Vec::new();
    }
    let stopped = !case.findings.is_empty() && matches!(case.verdict, Verdict::Fail | Verdict::Xfail);
    let golden = if stopped { &until(golden, seen) } else { golden };
    let sides = Sides { golden: Side::new(golden), seen: Side::new(seen), case, tolerance };
    let mut found = sides.of_device(stopped);
    found.extend(sides.of_tester());
    if exact && found.is_empty() && !stopped {
        found.extend(sides.of_order());
    }
    found
}

fn is_device(actor: Actor) -> bool {
    actor == Actor::Device
}

/// The part of a golden that belongs to what was played of the script: until its next step.
fn until(golden: &Recording, seen: &Recording) -> Recording {
    let played = seen.places(|actor| !is_device(actor)).len();
    let next = golden.places(|actor| !is_device(actor)).get(played).copied();
    Recording { lines: golden.lines[..next.unwrap_or(golden.lines.len())].to_vec() }
}

struct Side<'r> {
    recording: &'r Recording,
    /// Places of the device's frames, and the frames.
    places: Vec<usize>,
    packets: Vec<Packet>,
}

impl<'r> Side<'r> {
    fn new(recording: &'r Recording) -> Side<'r> {
        let places = recording.places(is_device);
        let packets = recording.packets(&places);
        Side { recording, places, packets }
    }

    /// How long after the line before it a frame of the device came.
    fn delay(&self, packet: usize) -> Duration {
        self.places.get(packet).map_or(Duration::ZERO, |&place| self.recording.delay(place))
    }
}

struct Sides<'s> {
    golden: Side<'s>,
    seen: Side<'s>,
    case: &'s Case,
    tolerance: Tolerance,
}

impl Sides<'_> {
    /// What the device did otherwise.
    fn of_device(&self, stopped: bool) -> Vec<outcome::Difference> {
        let sent = self.golden.recording.places(|actor| actor == Actor::Tester);
        let place = Exchange { sent: self.golden.recording.packets(&sent), ..Exchange::default() };
        let mut pairs = align(&self.golden.packets, &self.seen.packets);
        if stopped {
            // Of what would have come after the end of the play, the first stands for all.
            let last = pairs.iter().rposition(|pair| !matches!(pair, Pair::Left(_)));
            pairs.truncate(last.map_or(0, |last| last + 1) + 1);
        }
        let mut found = Vec::new();
        for pair in pairs {
            if found.len() >= MOST {
                found.push(self.more());
                break;
            }
            for difference in compare::pair(&place, &self.golden.packets, &self.seen.packets, pair) {
                let (golden, seen) = match &difference.subject {
                    Subject::Field { expected, seen, .. } => (told(expected.clone()), told(seen.clone())),
                    _ => (difference.expected, difference.seen),
                };
                found.push(self.difference(pair, difference.subject.word(), golden, seen, difference.governed));
            }
            if let Pair::Both(l, r) = pair {
                found.extend(self.of_time(pair, l, r));
            }
        }
        found
    }

    fn of_time(&self, pair: Pair, l: usize, r: usize) -> Option<outcome::Difference> {
        let (golden, seen) = (self.golden.delay(l), self.seen.delay(r));
        let off = golden.abs_diff(seen);
        if off <= self.tolerance.governed.min(self.tolerance.free) {
            return None;
        }
        let governed = governs::time(&self.seen.packets, r);
        let tolerance = match governed {
            Governed::Rule(_) => self.tolerance.governed,
            _ => self.tolerance.free,
        };
        if off <= tolerance {
            return None;
        }
        let text = |delay| format!("+{}", duration::text(delay));
        Some(self.difference(pair, "time", text(golden), text(seen), governed))
    }

    fn difference(
        &self,
        pair: Pair,
        subject: &str,
        golden: String,
        seen: String,
        governed: Governed,
    ) -> outcome::Difference {
        let (l, r) = match pair {
            Pair::Both(l, r) => (Some(l), Some(r)),
            Pair::Left(l) => (Some(l), None),
            Pair::Right(r) => (None, Some(r)),
        };
        let place = r.and_then(|r| self.seen.places.get(r)).copied();
        let frame = place.and_then(|place| self.seen.recording.lines[place].frame);
        let line = match (place, l.and_then(|l| self.golden.places.get(l))) {
            (Some(place), _) => self.script_line(place),
            (None, Some(&place)) => self.script_line(self.place_of_step(place)),
            (None, None) => None,
        };
        let packet = |side: &Side<'_>, at: Option<usize>| {
            at.and_then(|at| side.packets.get(at)).map_or(String::new(), |packet| packet.line.clone())
        };
        let (rule, why) = self.decider(governed, frame);
        outcome::Difference {
            line,
            frame,
            subject: subject.to_owned(),
            golden,
            seen,
            golden_packet: packet(&self.golden, l),
            seen_packet: packet(&self.seen, r),
            rule,
            why,
        }
    }

    /// Stands for the differences that are not listed.
    fn more(&self) -> outcome::Difference {
        outcome::Difference {
            line: None,
            frame: None,
            subject: "more".to_owned(),
            golden: format!("{} packets of the device", self.golden.packets.len()),
            seen: format!("{} packets of the device", self.seen.packets.len()),
            golden_packet: String::new(),
            seen_packet: String::new(),
            rule: None,
            why: "what differs further on is not listed".to_owned(),
        }
    }

    /// The rule that decides, or why none does.
    fn decider(&self, governed: Governed, frame: Option<u32>) -> (Option<String>, String) {
        match governed {
            Governed::Rule(rule) => (Some(rule), String::new()),
            Governed::Free(why) => (None, why.to_owned()),
            Governed::Open => {
                let found = self.case.findings.iter().find(|finding| finding.frame == frame);
                match found.map(|finding| &finding.rule).filter(|rule| !rule.is_empty()) {
                    Some(rule) => (Some(rule.clone()), String::new()),
                    None => (self.case.rules.first().cloned(), "the scenario is about this rule".to_owned()),
                }
            }
        }
    }

    /// The line of the script that was played last at this place of what was seen.
    fn script_line(&self, place: usize) -> Option<u32> {
        let lines = self.seen.recording.lines.get(..=place).unwrap_or(&self.seen.recording.lines);
        lines.iter().rev().find_map(|line| line.line)
    }

    /// Where in what was seen the step lies that comes last before this place of the golden.
    fn place_of_step(&self, place: usize) -> usize {
        let steps = self.golden.recording.lines[..place].iter().filter(|line| !is_device(line.actor)).count();
        let places = self.seen.recording.places(|actor| !is_device(actor));
        steps.checked_sub(1).and_then(|step| places.get(step)).copied().unwrap_or(usize::MAX)
    }

    /// The first thing that the tester's side did otherwise.
    fn of_tester(&self) -> Option<outcome::Difference> {
        let steps = |side: &Side<'_>| side.recording.places(|actor| !is_device(actor));
        let (golden, seen) = (steps(&self.golden), steps(&self.seen));
        let differs = |at: &usize| {
            let line = |side: &Side<'_>, places: &[usize]| {
                places
                    .get(*at)
                    .map(|&place| (side.recording.lines[place].actor, side.recording.lines[place].text.clone()))
            };
            line(&self.golden, &golden) != line(&self.seen, &seen)
        };
        let at = (0..golden.len().max(seen.len())).find(differs)?;
        Some(self.of_lines("script", golden.get(at).copied(), seen.get(at).copied(), |side, place| {
            side.recording.lines[place].text.clone()
        }))
    }

    /// The first line that comes at another time or place, when each side did the same.
    fn of_order(&self) -> Option<outcome::Difference> {
        let (golden, seen) = (&self.golden.recording.lines, &self.seen.recording.lines);
        let differs =
            |at: &usize| golden.get(*at).zip(seen.get(*at)).is_none_or(|(g, s)| !g.is(s) || g.time_ns != s.time_ns);
        let at = (0..golden.len().max(seen.len())).find(differs)?;
        let same = golden.get(at).zip(seen.get(at)).is_some_and(|(g, s)| g.is(s));
        let subject = if same { "time" } else { "order" };
        Some(self.of_lines(subject, Some(at), Some(at), |side, place| {
            let line = side.recording.lines.get(place).map_or(NOTHING, |line| &line.text);
            format!("+{} {line}", duration::text(side.recording.delay(place)))
        }))
    }

    /// A difference that is none of the device.
    fn of_lines(
        &self,
        subject: &str,
        golden: Option<usize>,
        seen: Option<usize>,
        text: impl Fn(&Side<'_>, usize) -> String,
    ) -> outcome::Difference {
        let line = seen.and_then(|place| self.seen.recording.lines.get(place));
        outcome::Difference {
            line: line.and_then(|line| line.line),
            frame: line.and_then(|line| line.frame),
            subject: subject.to_owned(),
            golden: golden.map_or(NOTHING.to_owned(), |place| text(&self.golden, place)),
            seen: seen.map_or(NOTHING.to_owned(), |place| text(&self.seen, place)),
            golden_packet: String::new(),
            seen_packet: String::new(),
            rule: None,
            why: "the tester's side follows what the device did before; or the scenario has changed since, then bless it \
                  again"
                .to_owned(),
        }
    }
}
