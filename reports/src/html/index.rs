//! The first page: what was tested, how it went, where to look.

use std::collections::BTreeMap;

use askama::Template;

use super::{Chrome, links, mark};
use crate::evidence;
use crate::outcome::{Case, Rule, Run, Verdict};
use crate::text::{counted, milliseconds};

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'r> {
    chrome: Chrome<'r>,
    run: &'r Run,
    /// One sentence: is all well?
    judgement: String,
    is_well: bool,
    /// Other files of the report, with the words for them.
    others: &'r [(&'r str, &'r str)],
    /// The page of the defects is there.
    has_defects: bool,
    /// Verdicts that occur.
    verdicts: &'r [Verdict],
    total: Vec<usize>,
    areas: Vec<Area<'r>>,
    look: Vec<&'r Row<'r>>,
    rules: Vec<RuleRow<'r>>,
}

struct Area<'r> {
    name: &'r str,
    counts: Vec<usize>,
    rows: Vec<&'r Row<'r>>,
}

/// A case.
struct Row<'r> {
    case: &'r Case,
    id: String,
    href: String,
    time: String,
}

impl<'r> Row<'r> {
    fn new(case: &'r Case, href: String) -> Row<'r> {
        Row { case, id: case.id(), href, time: milliseconds(case.duration_ns) }
    }

    fn reason(&self) -> &str {
        evidence::reason(self.case)
    }

    fn first_rule(&self) -> &str {
        evidence::first_rule(self.case)
    }

    /// Its rules, for a script to look for.
    fn rules(&self) -> String {
        self.case.cited().collect::<Vec<_>>().join(" ")
    }
}

struct RuleRow<'r> {
    rule: &'r Rule,
    /// How many of its cases have which verdict, without those that none has.
    counts: Vec<(Verdict, usize)>,
}

/// Writes the page.
pub(super) fn page(run: &Run, others: &[(&str, &str)], has_defects: bool) -> askama::Result<String> {
    let rows: Vec<Row<'_>> =
        run.cases.iter().zip(links::addresses(run)).map(|(case, href)| Row::new(case, href)).collect();
    let is_there = |verdict: &Verdict| *verdict == Verdict::Pass || run.count(*verdict) > 0;
    let verdicts: Vec<Verdict> = Verdict::ALL.into_iter().filter(is_there).collect();
    let mut by_area: BTreeMap<&str, Vec<&Row<'_>>> = BTreeMap::new();
    for row in &rows {
        by_area.entry(row.case.area()).or_default().push(row);
    }
    let count = |rows: &[&Row<'_>]| {
        let of = |verdict: &Verdict| rows.iter().filter(|row| row.case.verdict == *verdict).count();
        verdicts.iter().map(of).collect()
    };
    let area = |(name, rows): (_, Vec<_>)| Area { name, counts: count(&rows), rows };
    let page = Page {
        chrome: Chrome::of_tables(&run.tool),
        run,
        judgement: judgement(run),
        is_well: run.exit_code(false) == 0 && !run.cases.is_empty(),
        others,
        has_defects,
        total: count(&rows.iter().collect::<Vec<_>>()),
        areas: by_area.into_iter().map(area).collect(),
        look: rows.iter().filter(|row| row.case.verdict.exit_code(false) != 0).collect(),
        rules: run.rules.iter().map(|rule| rule_row(run, rule)).collect(),
        verdicts: &verdicts,
    };
    page.render()
}

fn rule_row<'r>(run: &Run, rule: &'r Rule) -> RuleRow<'r> {
    let cases: Vec<&Case> = run.cases.iter().filter(|case| case.cited().any(|id| id == rule.id)).collect();
    let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| (verdict, count(verdict)));
    RuleRow { rule, counts: counts.into_iter().filter(|(_, count)| *count > 0).collect() }
}

fn judgement(run: &Run) -> String {
    let count = |verdicts: &[Verdict]| verdicts.iter().map(|verdict| run.count(*verdict)).sum::<usize>();
    let failed = count(&[Verdict::Fail, Verdict::Crash]);
    let unknown = run.count(Verdict::Inconclusive);
    if run.cases.is_empty() {
        return "Nothing was run.".to_owned();
    }
    let whose = if run.pair.is_some() { "a device" } else { "the device" };
    let mut said = match failed {
        0 => format!("No rule that {whose} must keep was broken"),
        n => format!("{} of {} broke a rule that {whose} must keep", n, counted(run.cases.len(), "case")),
    };
    if run.count(Verdict::Xfail) > 0 {
        let known = counted(run.count(Verdict::Xfail), "known deviation");
        said.push_str(&format!(", {} {known}", if failed == 0 { "but for" } else { "besides" }));
    }
    if unknown > 0 {
        said.push_str(&format!("; {} could not be judged", counted(unknown, "case")));
    }
    if run.count(Verdict::Xpass) > 0 {
        said.push_str("; the profile is stale");
    }
    said + "."
}
