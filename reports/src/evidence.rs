//! Why a case was judged as it was: findings, script, trace and the command that repeats it, as lines of text.
//!
//! The terminal paints these lines, JUnit carries them as they are.

use crate::golden;
use crate::outcome::{Actor, Case, Finding, Level, TraceLine, Verdict};
use crate::text::{self, columns, cut, milliseconds, one_line};

/// Findings of a case shown in full unless everything is asked for.
const FINDINGS: usize = 3;
/// Lines of a longer script shown before and after the failing one.
const SCRIPT_AROUND: usize = 8;
/// Lines of a trace shown unless everything is asked for.
const TRACE_LINES: usize = 12;
/// How many of them may lie behind the offending one.
const TRACE_AFTER: usize = 3;
/// Steps of the tester shown from before those lines.
const EARLIER_STEPS: usize = 6;

/// How much to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Columns to stay within, 0 for any.
    pub(crate) width: usize,
    /// The whole script and trace and every finding, nothing cut.
    pub(crate) whole: bool,
}

/// What a line is, for whoever paints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Heading,
    Plain,
    /// The line at which it went wrong.
    Marked,
    /// A command to copy.
    Command,
}

/// A line of evidence.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// The rule that a case is known by: the first that it broke, else the first that it is about.
pub(crate) fn first_rule(case: &Case) -> &str {
    case.findings.first().map(|finding| &finding.rule).or(case.rules.first()).map_or("", String::as_str)
}

/// The reason without the rule in front of it, for a place that names the rule anyway.
pub(crate) fn reason(case: &Case) -> &str {
    let rule = first_rule(case);
    let rest = case.reason.strip_prefix(rule).and_then(|rest| rest.strip_prefix(": "));
    rest.filter(|_| !rule.is_empty()).unwrap_or(&case.reason)
}

/// Does a finding say what the reason says? It says it in full.
pub(crate) fn is_told(case: &Case) -> bool {
    case.findings.first().is_some_and(|found| !found.seen.is_empty() && case.reason.contains(&found.seen))
}

/// Everything there is to say about a case below its one line.
pub(crate) fn of(case: &Case, extent: Extent) -> Vec<Line> {
    let mut page = Page { lines: Vec::new(), extent };
    for finding in case.findings.iter().take(page.limit(FINDINGS)) {
        page.finding(finding);
    }
    let more = case.findings.len().saturating_sub(page.limit(FINDINGS));
    if more > 0 {
        page.push(Tone::Plain, format!("and {} after that", text::counted(more, "finding")));
    }
    // A stale profile has no line to point at: all went well.
    if extent.whole || case.verdict != Verdict::Xpass {
        page.script(case);
        page.trace(case);
    }
    if let Some(golden) = case.golden.as_ref().filter(|golden| !golden.differences.is_empty()) {
        page.push(Tone::Heading, format!("differs from {}   (- golden, + seen)", one_line(&golden.name)));
        for line in golden::lines(golden, extent.whole) {
            page.push_cut(Tone::Plain, &format!("  {line}"));
        }
    }
    if let Some(pcapng) = &case.pcapng {
        page.push(Tone::Heading, "frames");
        page.push(Tone::Plain, format!("  {}", one_line(pcapng)));
    }
    if !case.repeat.is_empty() {
        page.push(Tone::Heading, "repeat");
        page.push(Tone::Command, format!("  {}", one_line(&case.repeat)));
    }
    page.lines
}

struct Page {
    lines: Vec<Line>,
    extent: Extent,
}

impl Page {
    fn push(&mut self, tone: Tone, text: impl Into<String>) {
        self.lines.push(Line { tone, text: text.into() });
    }

    /// A line of which only the beginning may fit.
    fn push_cut(&mut self, tone: Tone, text: &str) {
        let width = if self.extent.whole { 0 } else { self.extent.width };
        self.push(tone, cut(text.trim_end(), width));
    }

    fn limit(&self, n: usize) -> usize {
        if self.extent.whole { usize::MAX } else { n }
    }

    fn finding(&mut self, finding: &Finding) {
        let mut places = Vec::new();
        if let Some(line) = finding.line {
            places.push(format!("script line {line}"));
        }
        if let Some(frame) = finding.frame {
            places.push(format!("frame {frame}"));
        }
        places.push(format!("at {}", milliseconds(finding.time_ns)));
        let what = match finding.is_golden() {
            true => "golden trace".to_owned(),
            false => format!("{} ({})", one_line(&finding.rule), finding.level),
        };
        self.push(Tone::Heading, format!("{what}: {}", places.join(", ")));
        if let Some(packet) = finding.packet.as_ref().filter(|packet| **packet != finding.seen) {
            self.labelled("packet", packet);
        }
        if let Some(device) = &finding.device {
            self.labelled("device", device);
        }
        self.labelled("expected", &finding.expected);
        self.labelled("seen", &finding.seen);
        self.labelled("why", &finding.why);
    }

    fn labelled(&mut self, label: &str, text: &str) {
        const INDENT: usize = 12;
        if text.is_empty() {
            return;
        }
        let width = match self.extent.width {
            0 => 0,
            width => width.saturating_sub(INDENT).max(20),
        };
        for (n, line) in text::wrap(text, width).iter().enumerate() {
            let label = if n == 0 { label } else { "" };
            self.push(Tone::Plain, format!("  {label:<10}{line}"));
        }
    }

    fn script(&mut self, case: &Case) {
        let lines: Vec<String> = text::lines(&case.script).collect();
        if lines.is_empty() {
            return;
        }
        let number_of = |index: usize| u64::from(case.script_line) + index as u64;
        let named = named_line(case);
        let is_marked = |index: usize| {
            let lines = case.findings.iter().filter_map(|finding| finding.line).chain(named);
            lines.into_iter().any(|line| u64::from(line) == number_of(index))
        };
        let mut shown = 0..lines.len();
        if !self.extent.whole && lines.len() > 2 * SCRIPT_AROUND + 1 {
            let centre = (0..lines.len()).find(|&index| is_marked(index)).unwrap_or(0);
            let start = centre.saturating_sub(SCRIPT_AROUND);
            shown = start..(centre + SCRIPT_AROUND + 1).min(lines.len());
        }
        self.push(Tone::Heading, if shown.len() == lines.len() { "script" } else { "script, around the line" });
        let digits = number_of(shown.end).to_string().len();
        for index in shown {
            let (mark, tone) = if is_marked(index) { (">>", Tone::Marked) } else { ("  ", Tone::Plain) };
            self.push_cut(tone, &format!("  {mark} {:>digits$} | {}", number_of(index), lines[index]));
        }
    }

    fn trace(&mut self, case: &Case) {
        let rungs = rungs(case);
        if rungs.is_empty() {
            return;
        }
        let window = if self.extent.whole { 0..rungs.len() } else { window(&rungs) };
        let earlier = earlier_steps(&rungs[..window.start]);
        let which = if window.len() == rungs.len() {
            String::new()
        } else {
            let beside = if earlier.is_empty() { "" } else { " and what the tester did before" };
            format!(", lines {} to {} of {}{beside}", window.start + 1, window.end, rungs.len())
        };
        let shown: Vec<usize> = earlier.into_iter().chain(window).collect();
        let arrows = match case.is_pair() {
            true => "<-- from A, --> from B, * their software and the link",
            false => "--> to the device, <-- from the device, * its own software",
        };
        self.push(Tone::Heading, format!("trace{which}   ({arrows})"));
        let width_of = |part: fn(&Rung) -> &str| shown.iter().map(|&at| columns(part(&rungs[at]))).max().unwrap_or(0);
        let (time, frame) = (width_of(|rung| &rung.time), width_of(|rung| &rung.frame));
        let mut next = shown.first().copied().unwrap_or(0);
        for at in shown {
            if at > next {
                self.push(Tone::Plain, format!("     … {} between", text::counted(at - next, "line")));
            }
            next = at + 1;
            let rung = &rungs[at];
            let (mark, tone) = if rung.marked { (">>", Tone::Marked) } else { ("  ", Tone::Plain) };
            self.push_cut(
                tone,
                &format!("  {mark} {:>time$}  {:>frame$}  {:^3}  {}", rung.time, rung.frame, rung.arrow, rung.text),
            );
        }
    }
}

/// A rung of the ladder.
struct Rung {
    time: String,
    frame: String,
    arrow: &'static str,
    text: String,
    marked: bool,
}

impl Rung {
    fn new(line: &TraceLine, case: &Case) -> Self {
        Self {
            time: milliseconds(line.time_ns),
            frame: line.frame.map(|frame| format!("#{frame}")).unwrap_or_default(),
            arrow: match line.actor {
                Actor::Tester => "-->",
                Actor::Device => "<--",
                Actor::Software => "*",
            },
            text: one_line(&line.text),
            marked: line.frame.is_some() && case.findings.iter().any(|finding| finding.frame == line.frame),
        }
    }

    /// Stands where something was missed: there is no frame to mark.
    fn gap(finding: &Finding) -> Self {
        Self {
            time: milliseconds(finding.time_ns),
            frame: String::new(),
            arrow: "!",
            text: format!(
                "here {} is {}",
                if finding.is_golden() { "the golden trace".to_owned() } else { one_line(&finding.rule) },
                if finding.level == Level::Must { "broken" } else { "not followed" }
            ),
            marked: true,
        }
    }
}

fn rungs(case: &Case) -> Vec<Rung> {
    let mut gaps: Vec<&Finding> = case.findings.iter().filter(|finding| finding.frame.is_none()).collect();
    gaps.sort_by_key(|finding| finding.time_ns);
    let mut gaps = gaps.into_iter().peekable();
    let mut rungs = Vec::with_capacity(case.trace.len() + gaps.len());
    for line in &case.trace {
        while let Some(finding) = gaps.next_if(|finding| finding.time_ns < line.time_ns) {
            rungs.push(Rung::gap(finding));
        }
        rungs.push(Rung::new(line, case));
    }
    rungs.extend(gaps.map(Rung::gap));
    rungs
}

/// The last steps of the tester and of the software in these rungs: what the device answers may lie far behind them.
fn earlier_steps(rungs: &[Rung]) -> Vec<usize> {
    let steps = (0..rungs.len()).rev().filter(|&at| rungs[at].arrow == "-->" || rungs[at].arrow == "*");
    let mut steps: Vec<usize> = steps.take(EARLIER_STEPS).collect();
    steps.reverse();
    steps
}

/// The line of the script that the reason names, where no finding does: `line 24: no such region`.
fn named_line(case: &Case) -> Option<u32> {
    if case.findings.iter().any(|finding| finding.line.is_some()) {
        return None;
    }
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    case.reason.split("line ").skip(1).find_map(number)
}

/// The last rungs, or those around the first marked one when it lies further up.
fn window(rungs: &[Rung]) -> std::ops::Range<usize> {
    let last = rungs.len().saturating_sub(TRACE_LINES);
    match rungs.iter().position(|rung| rung.marked) {
        Some(marked) if marked < last => {
            let end = (marked + TRACE_AFTER + 1).max(TRACE_LINES);
            end - TRACE_LINES..end
        }
        _ => last..rungs.len(),
    }
}
