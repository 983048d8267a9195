//! The packet ladder: both ends as vertical lines, time from top to bottom, an arrow for each packet.

use crate::examination;
use crate::outcome::{Actor, Case, Device, Finding, TraceLine};
use crate::text::{cut, cut_middle, milliseconds, one_line};

/// Most arrows in a picture; of a longer trace, those around the first mark are drawn.
const LONGEST: usize = 100;
/// How many of them may lie before the first mark.
const BEFORE: usize = 60;

/// Where the tester's line stands; times and frame numbers lie left of it.
pub(crate) const TESTER: u32 = 168;
/// Room right of the device's line.
const RIGHT: u32 = 70;
/// Room above the first rung, for the names of the ends.
pub(crate) const TOP: u32 = 40;
/// Height of a rung, of a line of remark below it, and of a break in the time axis.
const RUNG: u32 = 34;
const REMARK: u32 = 18;
const BREAK: u32 = 26;
/// A pause from which on the time axis is shown broken, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000;
/// Where the device's line stands: most packets have room.
pub(crate) const DEVICE: u32 = TESTER + 560;
/// Width of a picture.
pub(crate) const WIDTH: u32 = DEVICE + RIGHT;
/// Width of ten characters of the type that packets are set in.
const TEN_CHARACTERS: u32 = 72;
/// Characters of an end's name that have room above its line.
const NAME: usize = 17;

/// A picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ladder {
    /// Who stands on the left and who on the right, as far as there is room.
    pub(crate) ends: [String; 2],
    pub(crate) height: u32,
    pub(crate) rungs: Vec<Rung>,
    /// Rungs that are not drawn, before and after.
    pub(crate) left_out: (usize, usize),
}

/// One thing that happened, or should have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    pub(crate) kind: Kind,
    /// Height of its line.
    pub(crate) y: u32,
    pub(crate) time: String,
    pub(crate) frame: Option<u64>,
    pub(crate) text: Text,
    /// What is wrong with it, if something is.
    pub(crate) remark: Option<Text>,
    /// Where the time axis is broken above it, and how long the pause is.
    pub(crate) pause: Option<(u32, String)>,
}

/// A text for which there may not be room.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// As much as there is room for.
    pub(crate) shown: String,
    /// All of it, where that is more.
    pub(crate) whole: Option<String>,
}

impl Text {
    fn new(text: &str, room: usize) -> Text {
        let shown = cut(text, room);
        Text { whole: (shown != text).then(|| text.to_owned()), shown }
    }

    fn whole(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.shown)
    }
}

/// What a rung is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ToDevice,
    FromDevice,
    /// The device's own software does something.
    Software,
    /// A packet of the device that did not come.
    Missing,
    /// Something else was not as it had to be: a completion, memory, a state.
    Wrong,
}

impl Kind {
    /// Name of its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Kind::ToDevice => "sent",
            Kind::FromDevice => "came",
            Kind::Software => "software",
            Kind::Missing => "missing",
            Kind::Wrong => "wrong",
        }
    }
}

impl Rung {
    /// Who sends it to whom: the tester stands on the left.
    pub(crate) fn direction(&self) -> &'static str {
        if self.kind == Kind::ToDevice { "→" } else { "←" }
    }

    /// Packet and remark in full, where there was no room for them.
    pub(crate) fn whole(&self) -> Option<String> {
        let texts = || std::iter::once(&self.text).chain(&self.remark);
        let is_cut = texts().any(|text| text.whole.is_some());
        is_cut.then(|| texts().map(Text::whole).collect::<Vec<_>>().join(" "))
    }
}

impl Ladder {
    /// The picture of a case; `None` when nothing happened in it. Of two devices with each other A stands on the right,
    /// where the device under test stands otherwise.
    pub(crate) fn of(case: &Case, pair: Option<&[Device; 2]>) -> Option<Ladder> {
        let Some([a, b]) = pair else { return Ladder::draw(&happenings(case), ["tester", "device"]) };
        Ladder::draw(&happenings(case), [&format!("B ({})", b.dut), &format!("A ({})", a.dut)])
    }

    /// The picture of the packets around a finding in a capture; `None` when there are none.
    pub(crate) fn around(finding: &examination::Finding, ends: [&str; 2]) -> Option<Ladder> {
        let happening = |line: &examination::Line| Happening {
            kind: if line.from == 0 { Kind::ToDevice } else { Kind::FromDevice },
            time_ns: line.time_ns,
            frame: Some(line.frame),
            text: one_line(&line.text),
            remark: (line.frame == finding.frame)
                .then(|| format!("✗ {}: expected {}", one_line(&finding.rule), alternatives(&finding.expected))),
        };
        let happened: Vec<Happening> = finding.around.iter().map(happening).collect();
        Ladder::draw(&happened, ends)
    }

    fn draw(happened: &[Happening], ends: [&str; 2]) -> Option<Ladder> {
        let first_mark = happened.iter().position(Happening::is_marked).unwrap_or(0);
        let start = first_mark.saturating_sub(BEFORE).min(happened.len().saturating_sub(LONGEST));
        let end = (start + LONGEST).min(happened.len());
        let shown = happened.get(start..end).filter(|shown| !shown.is_empty())?;
        let room = ((DEVICE - TESTER - 30) * 10 / TEN_CHARACTERS) as usize;
        let mut y = TOP;
        let mut before = None;
        let mut rungs = Vec::with_capacity(shown.len());
        for happening in shown {
            let pause = before.map_or(0, |time: u64| happening.time_ns.saturating_sub(time));
            before = Some(happening.time_ns);
            let pause = (pause >= PAUSE_NS).then(|| {
                y += BREAK;
                (y - BREAK / 2 + 2, milliseconds(pause))
            });
            y += RUNG;
            rungs.push(Rung {
                kind: happening.kind,
                y,
                time: milliseconds(happening.time_ns),
                frame: happening.frame,
                text: Text::new(&happening.text, room),
                remark: happening.remark.as_ref().map(|text| Text::new(text, room)),
                pause,
            });
            y += if happening.remark.is_some() { REMARK } else { 0 };
        }
        let left_out = (start, happened.len() - end);
        let ends = ends.map(|name| cut_middle(&one_line(name), NAME));
        Some(Ladder { ends, height: y + 30, rungs, left_out })
    }

    /// Is this frame drawn?
    pub(crate) fn shows(&self, frame: Option<u32>) -> bool {
        frame.is_some() && self.rungs.iter().any(|rung| rung.frame == frame.map(u64::from))
    }
}

/// A rung before it has its place.
struct Happening {
    kind: Kind,
    time_ns: u64,
    frame: Option<u64>,
    text: String,
    remark: Option<String>,
}

impl Happening {
    fn is_marked(&self) -> bool {
        self.remark.is_some() || matches!(self.kind, Kind::Missing | Kind::Wrong)
    }

    fn seen(line: &TraceLine, case: &Case) -> Happening {
        let mut broken: Vec<String> = Vec::new();
        for finding in case.findings.iter().filter(|finding| line.frame.is_some() && finding.frame == line.frame) {
            broken.push(format!("✗ {}: expected {}", one_line(&finding.rule), alternatives(&finding.expected)));
        }
        Happening {
            kind: match line.actor {
                Actor::Tester => Kind::ToDevice,
                Actor::Device => Kind::FromDevice,
                Actor::Software => Kind::Software,
            },
            time_ns: line.time_ns,
            frame: line.frame.map(u64::from),
            text: one_line(&line.text),
            remark: (!broken.is_empty()).then(|| broken.join("; ")),
        }
    }

    fn missed(finding: &Finding, case: &Case) -> Happening {
        let kind = if is_packet(finding, case) { Kind::Missing } else { Kind::Wrong };
        Happening {
            kind,
            time_ns: finding.time_ns,
            frame: None,
            text: alternatives(&finding.expected),
            remark: Some(format!("✗ {}: seen {}", one_line(&finding.rule), alternatives(&finding.seen))),
        }
    }
}

/// Alternatives that stand one below the other, side by side.
fn alternatives(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| one_line(line.trim())).collect();
    match &lines[..] {
        [first, rest @ ..] if first.ends_with(':') => format!("{first} {}", rest.join(" | ")),
        all => all.join(" | "),
    }
}

/// Does the script want a packet where this was found?
fn is_packet(finding: &Finding, case: &Case) -> bool {
    let index = finding.line.and_then(|line| line.checked_sub(case.script_line));
    let line = index.and_then(|index| case.script.lines().nth(index as usize));
    line.is_some_and(|line| line.trim_start().starts_with('<'))
}

/// What the trace holds, and between it what was missed.
fn happenings(case: &Case) -> Vec<Happening> {
    let mut missed: Vec<&Finding> = case.findings.iter().filter(|finding| finding.frame.is_none()).collect();
    missed.sort_by_key(|finding| finding.time_ns);
    let mut missed = missed.into_iter().peekable();
    let mut all = Vec::with_capacity(case.trace.len() + missed.len());
    for line in &case.trace {
        while let Some(finding) = missed.next_if(|finding| finding.time_ns < line.time_ns) {
            all.push(Happening::missed(finding, case));
        }
        all.push(Happening::seen(line, case));
    }
    all.extend(missed.map(|finding| Happening::missed(finding, case)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_packet_that_did_not_come_has_its_place_in_time() {
        let ladder = Ladder::of(&sample::gap(), None).unwrap();
        let kinds: Vec<Kind> = ladder.rungs.iter().map(|rung| rung.kind).collect();
        assert_eq!(kinds, [Kind::Software, Kind::ToDevice, Kind::FromDevice, Kind::ToDevice, Kind::Missing]);
        let missing = ladder.rungs.last().unwrap();
        assert_eq!((missing.time.as_str(), missing.frame), ("101.010 ms", None));
        assert!(missing.text.shown.starts_with("NAK psn=1"));
        assert_eq!(missing.pause.as_ref().unwrap().1, "100.000 ms");
    }

    #[test]
    fn what_is_no_packet_is_not_drawn_as_one() {
        let mut case = sample::gap();
        case.findings[0].line = Some(case.script_line);
        assert_eq!(Ladder::of(&case, None).unwrap().rungs.last().unwrap().kind, Kind::Wrong);
        case.findings[0].line = Some(0);
        assert_eq!(Ladder::of(&case, None).unwrap().rungs.last().unwrap().kind, Kind::Wrong);
    }

    #[test]
    fn the_offending_packet_is_marked_with_its_rule() {
        let ladder = Ladder::of(&sample::crash(), None).unwrap();
        let marked: Vec<u64> =
            ladder.rungs.iter().filter(|rung| rung.remark.is_some()).filter_map(|r| r.frame).collect();
        assert_eq!(marked, [10, 11, 12, 13, 14]);
        assert!(ladder.rungs[9].remark.as_ref().unwrap().shown.contains("ud.responder.length"));
    }

    #[test]
    fn of_two_devices_both_have_their_names() {
        let device = |dut: &str| Device { dut: dut.to_owned(), ..sample::run().device };
        let ladder = Ladder::of(&sample::gap(), Some(&[device("emulator"), device("rxe:6.1")])).unwrap();
        assert_eq!(ladder.ends, ["B (rxe:6.1)", "A (emulator)"]);
    }

    #[test]
    fn rungs_do_not_overlap_and_lie_inside_the_picture() {
        for case in &sample::run().cases {
            let Some(ladder) = Ladder::of(case, None) else { continue };
            assert!(ladder.rungs.windows(2).all(|pair| pair[0].y + RUNG <= pair[1].y), "{}", case.id());
            assert!(ladder.rungs.iter().all(|rung| rung.y + REMARK < ladder.height));
        }
        assert_eq!(Ladder::of(&sample::run().cases[1], None), None);
    }

    #[test]
    fn of_a_long_trace_the_part_around_the_mark_is_drawn() {
        let mut case = sample::crash();
        let line = case.trace[0].clone();
        case.trace = (1..=1000).map(|n| TraceLine { frame: Some(n), ..line.clone() }).collect();
        case.findings.iter_mut().for_each(|finding| finding.frame = Some(700));
        let ladder = Ladder::of(&case, None).unwrap();
        assert_eq!((ladder.rungs.len(), ladder.left_out), (LONGEST, (639, 261)));
        assert!(ladder.rungs[BEFORE].remark.is_some());
    }
}
