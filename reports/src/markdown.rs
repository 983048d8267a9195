//! Several runs as Markdown: what a code-hosting site shows of a folder of reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::evidence;
use crate::interop::Matrix;
use crate::outcome::{Case, Run, Verdict};
use crate::text::{counted, one_line};

/// The runs side by side, then for each what did not pass. Each run comes with the folder of its pages.
pub fn summary(runs: &[(String, Run)]) -> String {
    let mut out = String::from("# Conformance reports\n\n");
    if let Some((_, run)) = runs.first() {
        let _ = writeln!(out, "Written by {}.\n", plain(&run.tool));
    }
    devices(&mut out, runs);
    areas(&mut out, runs);
    differences(&mut out, runs);
    for (folder, run) in runs {
        exceptions(&mut out, folder, run);
    }
    out
}

/// Runs of two devices each: the matrix, then for each pair what did not pass.
pub fn pairs(runs: &[(String, Run)]) -> String {
    let matrix = Matrix::of(runs);
    let mut out = String::from("# Interoperability\n\n");
    let _ =
        writeln!(out, "Written by {}. A row is the first device of a pair, a column the second.\n", plain(matrix.tool));
    let names: Vec<String> = matrix.devices.iter().map(|device| plain(&device.dut)).collect();
    table_head(&mut out, &["A \\ B"], &names);
    for (a, name) in names.iter().enumerate() {
        let cells = (0..names.len()).map(|b| match matrix.pair(a, b) {
            Some(pair) => format!("[{}]({}/index.html)", pair.tally(), pair.folder),
            None => "–".to_owned(),
        });
        row(&mut out, std::iter::once(name.clone()).chain(cells));
    }
    out.push('\n');
    table_head(&mut out, &["Device", "System"], &[]);
    for device in &matrix.devices {
        row(&mut out, [plain(&device.dut), plain(&device.system)].into_iter());
    }
    out.push('\n');
    differences(&mut out, runs);
    for (folder, run) in runs {
        exceptions(&mut out, folder, run);
    }
    out
}

fn devices(out: &mut String, runs: &[(String, Run)]) {
    let verdicts = occurring(runs);
    let names: Vec<String> = verdicts.iter().map(Verdict::to_string).collect();
    table_head(out, &["Device", "System", "Cases"], &names);
    for (folder, run) in runs {
        let counts: Vec<String> = verdicts.iter().map(|verdict| run.count(*verdict).to_string()).collect();
        let device = format!("[{}]({folder}/index.html)", plain(&run.device.dut));
        let cells = [device, plain(&run.device.system), run.cases.len().to_string()];
        row(out, cells.into_iter().chain(counts));
    }
    out.push('\n');
}

/// The verdicts that occur, in the order of a summary.
fn occurring(runs: &[(String, Run)]) -> Vec<Verdict> {
    Verdict::ALL.into_iter().filter(|verdict| runs.iter().any(|(_, run)| run.count(*verdict) > 0)).collect()
}

fn areas(out: &mut String, runs: &[(String, Run)]) {
    out.push_str("## By area\n\n");
    let names: Vec<String> = runs.iter().map(|(_, run)| plain(&run.device.dut)).collect();
    table_head(out, &["Area"], &names);
    let areas: BTreeSet<&str> = runs.iter().flat_map(|(_, run)| &run.cases).map(Case::area).collect();
    for area in areas {
        let told = runs.iter().map(|(_, run)| tally(run.cases.iter().filter(|case| case.area() == area)));
        row(out, std::iter::once(plain(area)).chain(told));
    }
    out.push('\n');
}

/// The scenarios that do not end alike on all devices that ran them.
fn differences(out: &mut String, runs: &[(String, Run)]) {
    let mut scenarios: BTreeMap<&str, Vec<Vec<&Case>>> = BTreeMap::new();
    for (place, (_, run)) in runs.iter().enumerate() {
        for case in &run.cases {
            scenarios.entry(&case.scenario).or_insert_with(|| vec![Vec::new(); runs.len()])[place].push(case);
        }
    }
    scenarios.retain(|_, cases| {
        let ran = cases.iter().filter(|cases| !cases.is_empty());
        let said: BTreeSet<BTreeSet<Verdict>> =
            ran.map(|cases| cases.iter().map(|case| case.verdict).collect()).collect();
        said.len() > 1
    });
    if scenarios.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Where the devices differ\n\n{}.\n", counted(scenarios.len(), "scenario"));
    let names: Vec<String> = runs.iter().map(|(_, run)| plain(&run.device.dut)).collect();
    table_head(out, &["Scenario"], &names);
    for (scenario, cases) in scenarios {
        row(out, std::iter::once(plain(scenario)).chain(cases.into_iter().map(|cases| tally(cases.into_iter()))));
    }
    out.push('\n');
}

/// What did not pass, scenario by scenario, with the reason.
fn exceptions(out: &mut String, folder: &str, run: &Run) {
    let mut exceptions: BTreeMap<(Verdict, &str, &str, &str), usize> = BTreeMap::new();
    for case in run.cases.iter().filter(|case| case.verdict != Verdict::Pass) {
        let about = (case.verdict, case.scenario.as_str(), evidence::first_rule(case), evidence::reason(case));
        *exceptions.entry(about).or_default() += 1;
    }
    let _ = writeln!(out, "## {}\n", plain(&run.device.dut));
    let _ = writeln!(out, "{}, seed {}; [HTML]({folder}/index.html).\n", counted(run.cases.len(), "case"), run.seed);
    if exceptions.is_empty() {
        out.push_str("Everything passed.\n\n");
        return;
    }
    table_head(out, &["Verdict", "Scenario", "Rule", "Why"], &[]);
    for ((verdict, scenario, rule, reason), cases) in exceptions {
        let times = if cases > 1 { format!(" ({cases} variants)") } else { String::new() };
        row(out, [verdict.to_string(), plain(scenario) + &times, plain(rule), plain(reason)].into_iter());
    }
    out.push('\n');
}

/// `3 PASS, 1 FAIL`; a dash where there is no case.
fn tally<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for case in cases {
        *counts.entry(case.verdict).or_default() += 1;
    }
    let told: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    if told.is_empty() { "–".to_owned() } else { told.join(", ") }
}

fn table_head(out: &mut String, first: &[&str], more: &[String]) {
    let names = first.iter().map(|name| (*name).to_owned()).chain(more.iter().cloned());
    row(out, names);
    row(out, (0..first.len() + more.len()).map(|_| "---".to_owned()));
}

fn row(out: &mut String, cells: impl Iterator<Item = String>) {
    out.push('|');
    for cell in cells {
        let _ = write!(out, " {cell} |");
    }
    out.push('\n');
}

/// Text without a meaning to Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn devices_stand_side_by_side_and_what_did_not_pass_has_its_reason() {
        let mut emulator = sample::run();
        emulator.device.dut = "emulator".into();
        emulator.cases.iter_mut().for_each(|case| case.verdict = Verdict::Pass);
        let runs = [("emulator".to_owned(), emulator), ("rxe_6.1".to_owned(), sample::run())];
        insta::assert_snapshot!(summary(&runs));
    }

    #[test]
    fn nothing_from_outside_can_become_markup() {
        let mut run = sample::run();
        for case in &mut run.cases {
            case.reason = "a | b <script> [x](javascript:1)\n# c `d` &lt;".into();
        }
        let text = summary(&[("x".to_owned(), run)]);
        assert!(!text.contains("<script>") && !text.contains("[x]") && !text.contains("\n# c"));
        let is_row = |line: &&str| line.starts_with("| FAIL");
        let row = text.lines().find(is_row).unwrap().replace("\\|", "");
        assert_eq!(row.matches('|').count(), 5, "{row}");
    }
}
