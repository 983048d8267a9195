//! What to know when a run is over: the counts, where it hurts, and what to do next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::paint::{Paint, paint};
use super::{Style, VERDICT, golden, needs_a_look};
use crate::evidence::first_rule;
use crate::outcome::{Case, Level, Run, Verdict};
use crate::text::{columns, counted, one_line};

/// The order in which cases are to be looked at.
const WORST_FIRST: [Verdict; 4] = [Verdict::Crash, Verdict::Fail, Verdict::Inconclusive, Verdict::Xpass];

/// Cases or rules listed unless everything is asked for.
const LISTED: usize = 20;

/// The end of a run's output: device, counts by verdict and area, rules broken, cases to look at, what to do next.
/// Begins with an empty line and ends with a newline.
pub fn summary(run: &Run, style: &Style) -> String {
    summary_with_report(run, None, style)
}

/// Like [`summary`], for a run whose report was written to the folder `report`.
pub fn summary_with_report(run: &Run, report: Option<&Path>, style: &Style) -> String {
    let mut out = String::from("\n");
    areas(&mut out, run, style);
    broken_rules(&mut out, run, style);
    cases_to_look_at(&mut out, run, style);
    observations(&mut out, run, style);
    next_steps(&mut out, run, report, style);
    out.push_str(&golden::lines(run, style.verbose));
    out.push_str(&format!(
        "device {} (profile {}, {}), seed {}, {}\n",
        one_line(&run.device.dut),
        one_line(&run.device.profile),
        one_line(&run.device.system),
        run.seed,
        one_line(&run.tool),
    ));
    let counts: Vec<String> = present(run)
        .map(|verdict| {
            let text = format!("{} {}", run.count(verdict), verdict.to_string().to_lowercase());
            paint(style, Paint::of(verdict), &text)
        })
        .collect();
    out.push_str(&paint(style, Paint::Strong, &format!("{}:", counted(run.cases.len(), "case"))));
    let part = run.part().map(|part| format!(" ({})", one_line(&part))).unwrap_or_default();
    out.push_str(&format!(
        " {}{part}\n",
        if counts.is_empty() { "nothing was run".to_owned() } else { counts.join(", ") }
    ));
    out
}

/// The verdicts that occur, in the order of a summary.
fn present(run: &Run) -> impl Iterator<Item = Verdict> + '_ {
    Verdict::ALL.into_iter().filter(|&verdict| run.count(verdict) > 0)
}

fn areas(out: &mut String, run: &Run, style: &Style) {
    let mut areas: BTreeMap<String, Vec<Verdict>> = BTreeMap::new();
    for case in &run.cases {
        areas.entry(one_line(case.area())).or_default().push(case.verdict);
    }
    if areas.is_empty() {
        return;
    }
    let wide = areas.keys().map(|area| columns(area)).max().unwrap_or(0).max(4);
    let mut heading = format!("{:<wide$}  cases", "area");
    for verdict in present(run) {
        heading.push_str(&format!("  {}", verdict.to_string().to_lowercase()));
    }
    out.push_str(&paint(style, Paint::Strong, &heading));
    out.push('\n');
    for (area, verdicts) in &areas {
        out.push_str(&format!("{area:<wide$}  {:>5}", verdicts.len()));
        for verdict in present(run) {
            let column = verdict.to_string().len();
            let count = verdicts.iter().filter(|&&v| v == verdict).count();
            let cell = if count == 0 { format!("{:>column$}", ".") } else { format!("{count:>column$}") };
            out.push_str("  ");
            out.push_str(&paint(style, if count == 0 { Paint::Faint } else { Paint::of(verdict) }, &cell));
        }
        out.push('\n');
    }
    out.push('\n');
}

/// The rules that are broken, and in how many cases; those first that head the most cases, for the others may follow from
/// them.
fn broken_rules(out: &mut String, run: &Run, style: &Style) {
    let mut rules: BTreeMap<String, Broken> = BTreeMap::new();
    for case in run.cases.iter().filter(|case| matches!(case.verdict, Verdict::Fail | Verdict::Crash)) {
        let broken = || case.findings.iter().filter(|finding| finding.level == Level::Must);
        let ids: BTreeSet<&str> = broken().map(|finding| finding.rule.as_str()).collect();
        for id in ids {
            let rule = rules.entry(one_line(id)).or_default();
            rule.cases += 1;
            rule.heads += usize::from(broken().next().is_some_and(|first| first.rule == id));
        }
    }
    if rules.is_empty() {
        return;
    }
    let wide = rules.keys().map(|rule| columns(rule)).max().unwrap_or(0);
    let mut rules: Vec<(String, Broken)> = rules.into_iter().collect();
    rules.sort_by_key(|(_, rule)| (Reverse(rule.heads), Reverse(rule.cases)));
    let heading = format!("{} broken that the device must keep:", counted(rules.len(), "rule"));
    out.push_str(&paint(style, Paint::Strong, &heading));
    out.push('\n');
    listed(out, style, &rules, |(id, rule)| {
        let first = match rule.heads {
            0 => ", always behind another".to_owned(),
            heads if heads < rule.cases => format!(", found first in {heads}"),
            _ => String::new(),
        };
        format!("  {id:<wide$}  in {}{first}", counted(rule.cases, "case"))
    });
    out.push('\n');
}

/// In how many cases a rule is broken, and in how many of them it is the first one.
#[derive(Default)]
struct Broken {
    cases: usize,
    heads: usize,
}

fn cases_to_look_at(out: &mut String, run: &Run, style: &Style) {
    let mut cases: Vec<&Case> = run.cases.iter().filter(|case| needs_a_look(case.verdict)).collect();
    cases.sort_by_key(|case| WORST_FIRST.iter().position(|verdict| *verdict == case.verdict));
    if cases.is_empty() {
        return;
    }
    out.push_str(&paint(style, Paint::Strong, &format!("{} to look at:", counted(cases.len(), "case"))));
    out.push('\n');
    listed(out, style, &cases, |case| {
        let verdict = paint(style, Paint::of(case.verdict), &format!("{:VERDICT$}", case.verdict));
        format!("  {verdict} {}  {}", one_line(&case.id()), paint(style, Paint::Faint, &one_line(first_rule(case))))
    });
    out.push('\n');
}

fn observations(out: &mut String, run: &Run, style: &Style) {
    if run.observations.is_empty() {
        return;
    }
    out.push_str(&paint(style, Paint::Strong, "info:"));
    out.push('\n');
    for observation in &run.observations {
        out.push_str(&format!("  {}, {}\n", one_line(&observation.subject), one_line(&observation.seen)));
    }
    out.push('\n');
}

fn listed<T>(out: &mut String, style: &Style, items: &[T], line: impl Fn(&T) -> String) {
    let limit = if style.verbose { usize::MAX } else { LISTED };
    for item in items.iter().take(limit) {
        out.push_str(line(item).trim_end());
        out.push('\n');
    }
    if let Some(more) = items.len().checked_sub(limit).filter(|&more| more > 0) {
        out.push_str(&format!("  and {more} more\n"));
    }
}

fn next_steps(out: &mut String, run: &Run, report: Option<&Path>, style: &Style) {
    let mut steps: Vec<(&str, String)> = Vec::new();
    let first = |verdicts: &[Verdict]| run.cases.iter().find(|case| verdicts.contains(&case.verdict));
    let command = |case: &Case| paint(style, Paint::Command, &one_line(&case.repeat));
    if let Some(case) = first(&[Verdict::Fail, Verdict::Crash]) {
        steps.push(("repeat the first failure", command(case)));
    }
    if let Some(case) = first(&[Verdict::Inconclusive]) {
        steps.push(("try again what could not be judged", command(case)));
    }
    if run.count(Verdict::Xpass) > 0 {
        steps.push(("take XPASS cases out of the profile", "the deviation listed there is gone".to_owned()));
    }
    if let Some(report) = report {
        steps.push(("read the evidence", one_line(&report.join(crate::html::INDEX).display().to_string())));
    }
    if run.cases.is_empty() {
        steps.push(("see what there is to run", paint(style, Paint::Command, "rocespec list")));
    }
    if steps.is_empty() {
        return;
    }
    out.push_str(&paint(style, Paint::Strong, "next:"));
    out.push('\n');
    let wide = steps.iter().map(|(what, _)| columns(what)).max().unwrap_or(0);
    for (what, how) in steps {
        out.push_str(&format!("  {what:<wide$}  {how}\n"));
    }
    out.push('\n');
}
