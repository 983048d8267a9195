//! Several runs side by side: a column for each device, a row for each case.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::{Chrome, links, mark};
use crate::interop::Matrix;
use crate::outcome::{Device, Run, Verdict};

#[derive(Template)]
#[template(path = "matrix.html")]
struct Page<'r> {
    chrome: Chrome<'r>,
    /// The page of the defects is there.
    has_defects: bool,
    verdicts: Vec<Verdict>,
    devices: Vec<Column<'r>>,
    /// Of runs of two devices each.
    pairs: Option<Pairs<'r>>,
    areas: Vec<(&'r str, Vec<Row<'r>>)>,
    cases: usize,
    differing: usize,
}

/// Every pair of some devices.
struct Pairs<'r> {
    /// Those of the columns.
    seconds: Vec<&'r Device>,
    /// A first device and what it came to with each.
    rows: Vec<(&'r Device, Vec<Option<Met>>)>,
}

/// What a pair came to.
struct Met {
    href: String,
    counts: Vec<(Verdict, usize)>,
}

impl<'r> Pairs<'r> {
    fn new(runs: &'r [(String, Run)]) -> Option<Pairs<'r>> {
        let matrix = Matrix::of(runs);
        let met = |a: usize, b: usize| {
            let pair = matrix.pair(a, b)?;
            let count = |verdict: Verdict| Some((verdict, *pair.counts.get(&verdict.to_string())?));
            let href = format!("{}/{}", links::encode(pair.folder), super::INDEX);
            Some(Met { href, counts: Verdict::ALL.into_iter().filter_map(count).collect() })
        };
        let count = matrix.devices.len();
        let rows = matrix.devices.iter().enumerate();
        let rows = rows.map(|(a, device)| (*device, (0..count).map(|b| met(a, b)).collect())).collect();
        (count > 0).then(|| Pairs { seconds: matrix.devices.clone(), rows })
    }
}

/// A run.
struct Column<'r> {
    device: &'r Device,
    href: String,
    cases: usize,
    counts: Vec<usize>,
}

impl<'r> Column<'r> {
    fn new(folder: &str, run: &'r Run, verdicts: &[Verdict]) -> Column<'r> {
        let href = format!("{}/{}", links::encode(folder), super::INDEX);
        let counts = verdicts.iter().map(|verdict| run.count(*verdict)).collect();
        Column { device: &run.device, href, cases: run.cases.len(), counts }
    }
}

/// A case.
struct Row<'r> {
    id: String,
    area: &'r str,
    title: &'r str,
    /// What each run says; `None` where it was not run.
    cells: Vec<Option<Cell<'r>>>,
    /// The runs that have it do not say the same.
    differs: bool,
}

impl Row<'_> {
    /// What the devices say, for a script to look for.
    fn verdicts(&self) -> String {
        let said: BTreeSet<_> = self.cells.iter().flatten().map(|cell| cell.verdict).collect();
        said.iter().map(Verdict::to_string).collect::<Vec<_>>().join(" ")
    }
}

struct Cell<'r> {
    verdict: Verdict,
    reason: &'r str,
    href: String,
}

/// Writes the page. Each run comes with the folder of its own pages.
pub(super) fn page(runs: &[(String, Run)], has_defects: bool) -> askama::Result<String> {
    let all = || runs.iter().flat_map(|(_, run)| &run.cases);
    let occurs = |verdict: &Verdict| *verdict == Verdict::Pass || all().any(|case| case.verdict == *verdict);
    let verdicts: Vec<Verdict> = Verdict::ALL.into_iter().filter(occurs).collect();
    let areas = areas(runs);
    let rows = || areas.iter().flat_map(|(_, rows)| rows);
    let page = Page {
        chrome: Chrome::of_tables(runs.first().map_or("", |(_, run)| &run.tool)),
        has_defects,
        cases: rows().count(),
        differing: rows().filter(|row| row.differs).count(),
        devices: runs.iter().map(|(folder, run)| Column::new(folder, run, &verdicts)).collect(),
        pairs: Pairs::new(runs),
        verdicts,
        areas,
    };
    page.render()
}

fn areas(runs: &[(String, Run)]) -> Vec<(&str, Vec<Row<'_>>)> {
    let mut rows: BTreeMap<(&str, String), Row<'_>> = BTreeMap::new();
    for (place, (folder, run)) in runs.iter().enumerate() {
        for (case, address) in run.cases.iter().zip(links::addresses(run)) {
            let row = rows.entry((case.area(), case.id())).or_insert_with(|| Row {
                id: case.id(),
                area: case.area(),
                title: &case.title,
                cells: runs.iter().map(|_| None).collect(),
                differs: false,
            });
            let href = format!("{}/{address}", links::encode(folder));
            row.cells[place] = Some(Cell { verdict: case.verdict, reason: &case.reason, href });
        }
    }
    let mut areas: Vec<(&str, Vec<Row<'_>>)> = Vec::new();
    for mut row in rows.into_values() {
        let said: BTreeSet<_> = row.cells.iter().flatten().map(|cell| cell.verdict).collect();
        row.differs = said.len() > 1;
        match areas.last_mut().filter(|(area, _)| *area == row.area) {
            Some((_, rows)) => rows.push(row),
            None => areas.push((row.area, vec![row])),
        }
    }
    areas
}
