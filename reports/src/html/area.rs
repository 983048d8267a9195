//! The page of an area: of each scenario what it asks for, and what came of it in each variant.

use std::io;

use askama::Template;

use super::frames::Frames;
use super::golden::Diff;
use super::ladder::Ladder;
use super::{Chrome, Dissect, ladder, links, mark};
use crate::cause;
use crate::evidence;
use crate::outcome::{Case, Finding, Rule, Run, Verdict};
use crate::text::{counted, lines, milliseconds};

#[derive(Template)]
#[template(path = "area.html")]
struct Page<'r> {
    chrome: Chrome<'r>,
    run: &'r Run,
    name: &'r str,
    counts: Vec<(Verdict, usize)>,
    scenarios: Vec<Section<'r>>,
    /// The frames of all ladders.
    frames: String,
    previous: Option<&'r links::Area<'r>>,
    next: Option<&'r links::Area<'r>>,
}

/// A scenario.
struct Section<'r> {
    name: &'r str,
    /// What all variants share stands in each of them.
    first: &'r Case,
    /// Its place in the run: it makes the names of lines unlike those of other scenarios.
    place: usize,
    counts: Vec<(Verdict, usize)>,
    /// Paragraphs.
    about: Vec<&'r str>,
    rules: Vec<CitedRule<'r>>,
    script: Vec<ScriptLine>,
    cases: Vec<Part<'r>>,
}

impl Section<'_> {
    /// A reader has to see it.
    fn is_open(&self) -> bool {
        self.cases.iter().any(Part::needs_a_look)
    }

    fn has_line(&self, number: &u32) -> bool {
        self.script.iter().any(|line| line.number == *number)
    }
}

/// A rule that a scenario is about.
struct CitedRule<'r> {
    id: &'r str,
    rule: Option<&'r Rule>,
}

struct ScriptLine {
    number: u32,
    text: String,
    /// The cases in which it was not met; `None` where it was.
    unmet: Option<String>,
}

/// A case.
struct Part<'r> {
    case: &'r Case,
    /// Its place in the run: with the number of a frame it is the name of the frame.
    place: usize,
    anchor: &'r str,
    name: String,
    /// Why, where the findings do not say it.
    reason: &'r str,
    pcapng: Option<String>,
    findings: Vec<Found<'r>>,
    ladder: Option<Ladder>,
    golden: Option<Diff<'r>>,
    /// Name of the frame whose bytes are to be seen at once.
    broken: Option<String>,
}

impl Part<'_> {
    fn needs_a_look(&self) -> bool {
        self.case.verdict.exit_code(false) != 0
    }

    /// Not all is as in the golden trace.
    fn differs(&self) -> bool {
        self.golden.as_ref().is_some_and(|diff| !diff.packets.is_empty())
    }

    /// Is this frame in the ladder?
    fn shows(&self, frame: &Option<u32>) -> bool {
        self.ladder.as_ref().is_some_and(|ladder| ladder.shows(*frame))
    }
}

struct Found<'r> {
    finding: &'r Finding,
    rule: Option<&'r Rule>,
    /// Why this is a fault, without the statement of the rule.
    why: &'r str,
    time: String,
}

/// Writes page number `index` of all pages. `anchors` are those of all cases of the run.
pub(super) fn page(
    run: &Run,
    pages: &[links::Area<'_>],
    anchors: &[String],
    index: usize,
    dissect: Dissect<'_>,
) -> io::Result<String> {
    let area = &pages[index];
    let scenarios: Vec<Section<'_>> =
        area.scenarios.iter().filter_map(|scenario| section(run, scenario, anchors)).collect();
    let page = Page {
        chrome: Chrome::of_area(&run.tool),
        run,
        name: area.name,
        counts: counts(scenarios.iter().flat_map(|scenario| &scenario.cases)),
        frames: frames(&scenarios, dissect).packed()?,
        scenarios,
        previous: index.checked_sub(1).and_then(|index| pages.get(index)),
        next: pages.get(index + 1),
    };
    page.render().map_err(io::Error::other)
}

/// The frames that the ladders show.
fn frames(scenarios: &[Section<'_>], dissect: Dissect<'_>) -> Frames {
    let mut frames = Frames::default();
    for part in scenarios.iter().flat_map(|scenario| &scenario.cases) {
        for line in part.case.trace.iter().filter(|line| part.shows(&line.frame)) {
            if let (Some(number), Some(bytes)) = (line.frame, &line.bytes) {
                frames.add(format!("{}.{number}", part.place), &bytes.0, dissect);
            }
        }
    }
    frames
}

/// How many cases have which verdict, without those that none has.
fn counts<'p>(cases: impl Iterator<Item = &'p Part<'p>>) -> Vec<(Verdict, usize)> {
    let verdicts: Vec<Verdict> = cases.map(|part| part.case.verdict).collect();
    let count = |verdict| verdicts.iter().filter(|of| **of == verdict).count();
    Verdict::ALL.map(|verdict| (verdict, count(verdict))).into_iter().filter(|(_, count)| *count > 0).collect()
}

fn section<'r>(run: &'r Run, scenario: &links::Scenario<'r>, anchors: &'r [String]) -> Option<Section<'r>> {
    let (place, first) = *scenario.cases.first()?;
    let part =
        |(place, case): &(usize, &'r Case)| part(run, case, *place, anchors.get(*place).map_or("", String::as_str));
    let cases: Vec<Part<'_>> = scenario.cases.iter().map(part).collect();
    Some(Section {
        name: scenario.name,
        first,
        place,
        counts: counts(cases.iter()),
        about: first.about.split("\n\n").map(str::trim).filter(|text| !text.is_empty()).collect(),
        rules: first.rules.iter().map(|id| CitedRule { id, rule: run.rule(id) }).collect(),
        script: script(first, &cases),
        cases,
    })
}

fn part<'r>(run: &'r Run, case: &'r Case, place: usize, anchor: &'r str) -> Part<'r> {
    let name = case.variant_name().replace(',', ", ");
    let mut part = Part {
        case,
        place,
        anchor,
        name: if name.is_empty() { "What happened".to_owned() } else { name },
        reason: if evidence::is_told(case) { "" } else { &case.reason },
        pcapng: case.pcapng.as_deref().and_then(links::address),
        findings: case.findings.iter().map(|finding| found(run, finding)).collect(),
        ladder: Ladder::of(case, run.pair.as_ref()),
        golden: Diff::of(run, case),
        broken: None,
    };
    let broken = case.findings.iter().filter(|finding| part.shows(&finding.frame)).find_map(|finding| finding.frame);
    part.broken = broken.map(|frame| format!("{place}.{frame}"));
    part
}

fn found<'r>(run: &'r Run, finding: &'r Finding) -> Found<'r> {
    let rule = run.rule(&finding.rule);
    Found { finding, rule, why: cause::why(&finding.why, rule), time: milliseconds(finding.time_ns) }
}

fn script(first: &Case, cases: &[Part<'_>]) -> Vec<ScriptLine> {
    let numbers = (0u32..).map(|index| first.script_line.saturating_add(index));
    let line = |(number, text)| ScriptLine { number, text, unmet: unmet(number, cases) };
    numbers.zip(lines(&first.script)).map(line).collect()
}

/// In which cases this line was not met.
fn unmet(line: u32, cases: &[Part<'_>]) -> Option<String> {
    let is_unmet = |part: &&Part<'_>| part.case.findings.iter().any(|finding| finding.line == Some(line));
    let unmet: Vec<&Part<'_>> = cases.iter().filter(is_unmet).collect();
    match &unmet[..] {
        [] => None,
        all if all.len() == cases.len() => Some("not met".to_owned()),
        [one] => Some(format!("not met with {}", one.name)),
        some => Some(format!("not met in {} of {}", some.len(), counted(cases.len(), "variant"))),
    }
}
