//! The page of a sweep: the picture, the tables behind it, and what was held still.

mod picture;

use askama::Template;

use super::Chrome;
use crate::sweep::{Clock, Sweep, bits};
use picture::Picture;

#[derive(Template)]
#[template(path = "sweep.html")]
struct Page<'s> {
    chrome: Chrome<'s>,
    sweep: &'s Sweep,
    title: String,
    picture: Picture,
    tables: Vec<Table<'s>>,
    legend: Vec<(&'static str, &'static str)>,
    ended: Vec<String>,
    others: &'s [(&'s str, &'s str)],
}

/// A curve in numbers.
struct Table<'s> {
    name: &'s str,
    reference: String,
    rows: Vec<(String, Vec<String>)>,
}

/// Writes the page.
pub(super) fn page(sweep: &Sweep, others: &[(&str, &str)]) -> askama::Result<String> {
    let columns = sweep.columns();
    let table = |curve: &'_ crate::sweep::Curve| {
        let cells = |point| columns.iter().map(|column| (column.cell)(point)).collect();
        curve.points.iter().map(|point| (sweep.what.value(point.value), cells(point))).collect()
    };
    let tables = sweep.curves.iter().map(|curve| Table {
        name: &curve.name,
        reference: format!("{}, {}", bits(curve.reference_bps), curve.reference),
        rows: table(curve),
    });
    Page {
        chrome: Chrome::of_sweeps(&sweep.tool),
        sweep,
        title: sweep.title(),
        picture: Picture::of(sweep),
        tables: tables.collect(),
        legend: columns.iter().map(|column| (column.name, column.legend)).collect(),
        ended: sweep.ended(),
        others,
    }
    .render()
}

impl Page<'_> {
    fn clock(&self) -> &'static str {
        match self.sweep.clock {
            Clock::Virtual => "virtual time; the same command gives the same numbers",
            Clock::Real => "real time; another run gives other numbers",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use roxmltree::{Document, ParsingOptions};

    use super::*;
    use crate::sweep::sample;

    #[test]
    fn the_page_is_well_formed_and_shows_every_curve_value_and_finding() {
        for sweep in [sample::loss(), sample::incast()] {
            let page = page(&sweep, &[("JSON", "sweep.json")]).unwrap();
            let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
            let tree = Document::parse_with_options(&page, options).unwrap();
            let all = |name: &'static str| tree.descendants().filter(move |node| node.has_tag_name(name));
            let ids: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("id")).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
            let points = sweep.curves.iter().map(|curve| curve.points.len()).sum::<usize>();
            let rows = all("tr").count() - all("thead").count();
            let marks = all("g").filter(|group| group.attribute("transform").is_some()).count();
            assert_eq!((rows, marks, all("table").count()), (points, points, sweep.curves.len()));
            for finding in &sweep.findings {
                assert!(tree.descendants().filter_map(|node| node.text()).any(|text| text.contains(&finding.sentence)));
            }
        }
    }
}
