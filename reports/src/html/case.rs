//! The page of a case.

use askama::Template;

use super::hex::Hex;
use super::ladder::Ladder;
use super::{Chrome, Dissect, links, mark};
use crate::evidence;
use crate::outcome::{Case, Finding, Rule, Run, TraceLine, Verdict};
use crate::text::{lines, milliseconds};

/// Most packets that are shown with their bytes; of a longer trace the first ones, and those that broke a rule.
const WITH_BYTES: usize = 300;

#[derive(Template)]
#[template(path = "case.html")]
struct Page<'r> {
    chrome: Chrome<'r>,
    run: &'r Run,
    case: &'r Case,
    id: String,
    /// Why, where the findings do not say it.
    reason: &'r str,
    /// Paragraphs.
    about: Vec<&'r str>,
    area: &'r str,
    frames: Option<String>,
    rules: Vec<CitedRule<'r>>,
    findings: Vec<Found<'r>>,
    script: Vec<ScriptLine>,
    ladder: Option<Ladder>,
    packets: Vec<Packet<'r>>,
    siblings: Vec<Neighbour>,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
}

/// A rule that the case is about.
struct CitedRule<'r> {
    id: &'r str,
    rule: Option<&'r Rule>,
}

struct Found<'r> {
    finding: &'r Finding,
    rule: Option<&'r Rule>,
    /// Why this is a fault, without the statement of the rule.
    why: &'r str,
    time: String,
    /// There is such a line in the script.
    has_line: bool,
    /// There is such a frame in the trace.
    has_frame: bool,
}

struct ScriptLine {
    number: u32,
    text: String,
    is_marked: bool,
}

struct Packet<'r> {
    line: &'r TraceLine,
    time: String,
    broken: Vec<&'r Finding>,
    hex: Option<Hex>,
}

/// Another case.
struct Neighbour {
    id: String,
    verdict: Verdict,
    href: String,
}

/// Writes the page of case number `index`. `pages` are the names of all pages.
pub(super) fn page(run: &Run, index: usize, pages: &[String], dissect: Dissect<'_>) -> askama::Result<String> {
    let case = &run.cases[index];
    let neighbour = |at: usize| {
        let (case, page) = (run.cases.get(at)?, pages.get(at)?);
        Some(Neighbour { id: case.id(), verdict: case.verdict, href: links::encode(page) })
    };
    let is_sibling = |at: &usize| *at != index && run.cases[*at].scenario == case.scenario;
    let findings: Vec<Found<'_>> = case.findings.iter().map(|finding| found(run, case, finding)).collect();
    let page = Page {
        chrome: Chrome::new(&run.tool),
        run,
        case,
        id: case.id(),
        reason: if evidence::is_told(case) { "" } else { &case.reason },
        about: case.about.split("\n\n").map(str::trim).filter(|text| !text.is_empty()).collect(),
        area: case.area(),
        frames: case.pcapng.as_deref().and_then(links::address),
        rules: case.rules.iter().map(|id| CitedRule { id, rule: run.rule(id) }).collect(),
        script: script(case),
        ladder: Ladder::of(case),
        packets: packets(case, dissect),
        findings,
        siblings: (0..run.cases.len()).filter(is_sibling).filter_map(neighbour).collect(),
        previous: index.checked_sub(1).and_then(neighbour),
        next: neighbour(index + 1),
    };
    page.render()
}

fn found<'r>(run: &'r Run, case: &'r Case, finding: &'r Finding) -> Found<'r> {
    let index = finding.line.and_then(|line| line.checked_sub(case.script_line));
    let rule = run.rule(&finding.rule);
    let statement = rule.map_or("", |rule| &rule.statement);
    Found {
        finding,
        rule,
        why: finding.why.strip_suffix(statement).unwrap_or(&finding.why).trim(),
        time: milliseconds(finding.time_ns),
        has_line: index.is_some_and(|index| case.script.lines().nth(index as usize).is_some()),
        has_frame: finding.frame.is_some() && case.trace.iter().any(|line| line.frame == finding.frame),
    }
}

fn script(case: &Case) -> Vec<ScriptLine> {
    let number = (0u32..).map(|index| case.script_line.saturating_add(index));
    let is_marked = |number| case.findings.iter().any(|finding| finding.line == Some(number));
    let line = |(number, text)| ScriptLine { number, text, is_marked: is_marked(number) };
    number.zip(lines(&case.script)).map(line).collect()
}

fn packets<'r>(case: &'r Case, dissect: Dissect<'_>) -> Vec<Packet<'r>> {
    let packet = |(index, line): (usize, &'r TraceLine)| {
        let is_broken = |finding: &&Finding| line.frame.is_some() && finding.frame == line.frame;
        let broken: Vec<&Finding> = case.findings.iter().filter(is_broken).collect();
        let bytes = line.bytes.as_ref().filter(|_| index < WITH_BYTES || !broken.is_empty());
        let hex = bytes.map(|bytes| Hex::of(&bytes.0, dissect));
        Packet { line, time: milliseconds(line.time_ns), broken, hex }
    };
    case.trace.iter().enumerate().map(packet).collect()
}
