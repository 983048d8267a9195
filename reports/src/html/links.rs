//! Where the pages of a report lie, and how one leads to another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use crate::outcome::{Case, Run};

/// Folder of the areas' pages, inside the report folder.
pub(crate) const CASES: &str = "cases";

/// Longest name of a page in bytes, without its ending: file systems take 255 with it.
const LONGEST: usize = 200;

/// The page of an area.
#[derive(Debug)]
pub(super) struct Area<'r> {
    pub(super) name: &'r str,
    /// Its name below [`CASES`]; no two are the same.
    pub(super) file: String,
    pub(super) scenarios: Vec<Scenario<'r>>,
}

/// A scenario on the page of its area.
#[derive(Debug)]
pub(super) struct Scenario<'r> {
    pub(super) name: &'r str,
    /// Its cases, with their places in the run.
    pub(super) cases: Vec<(usize, &'r Case)>,
}

/// The pages of a run in the order in which their areas come.
pub(super) fn areas(run: &Run) -> Vec<Area<'_>> {
    let all = grouped(run.cases.iter().enumerate(), |(_, case)| case.area());
    let files = unique(all.iter().map(|(name, _)| file_name(name)), ".html");
    let mut areas = Vec::with_capacity(all.len());
    for ((name, cases), file) in all.into_iter().zip(files) {
        let scenarios = grouped(cases.into_iter(), |(_, case)| &case.scenario);
        let scenarios = scenarios.into_iter().map(|(name, cases)| Scenario { name, cases }).collect();
        areas.push(Area { name, file, scenarios });
    }
    areas
}

/// Cases, with their places, by a name that they have, in the order in which the names come.
fn grouped<'r>(
    cases: impl Iterator<Item = (usize, &'r Case)>,
    name: impl Fn(&(usize, &'r Case)) -> &'r str,
) -> Vec<(&'r str, Vec<(usize, &'r Case)>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<(&str, Vec<_>)> = Vec::new();
    for case in cases {
        let name = name(&case);
        let place = *places.entry(name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(case),
            None => groups.push((name, vec![case])),
        }
    }
    groups
}

/// How each case is called on the page of its area, by its place in the run: its id without the area. No two are the same.
pub(super) fn anchors(run: &Run) -> Vec<String> {
    let anchor = |case: &Case| {
        let id = case.id();
        file_name(id.strip_prefix(case.area()).unwrap_or(&id).trim_start_matches('/'))
    };
    unique(run.cases.iter().map(anchor), "")
}

/// The address of each case from the report folder, by its place in the run.
pub(super) fn addresses(run: &Run) -> Vec<String> {
    let files: BTreeMap<&str, String> = areas(run).into_iter().map(|area| (area.name, area.file)).collect();
    let address = |(case, anchor): (&Case, String)| {
        let file = files.get(case.area()).map_or("", String::as_str);
        format!("{CASES}/{}#{}", encode(file), encode(&anchor))
    };
    run.cases.iter().zip(anchors(run)).map(address).collect()
}

/// The names with an ending, and with a number where one has come before.
pub(super) fn unique(names: impl Iterator<Item = String>, ending: &str) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |name: String| {
        let numbered = (2..).map(|n| format!("{name}~{n}{ending}"));
        let mut names = std::iter::once(format!("{name}{ending}")).chain(numbered);
        // Some file systems do not tell capital letters from small ones.
        names.find(|name| taken.insert(name.to_lowercase())).unwrap_or_default()
    };
    names.map(name).collect()
}

/// An id as a file name without an ending: `rc.responder.psn-gap`.
pub(super) fn file_name(id: &str) -> String {
    let letter = |c: char| match c {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "._-=,+[]".contains(c) => c,
        _ => '_',
    };
    let name: String = id.chars().take(LONGEST).map(letter).collect();
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}

/// A path below the report folder as an address relative to it. `None` for one that leads elsewhere.
pub(super) fn address(path: &str) -> Option<String> {
    let inside = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
    (inside && !path.is_empty() && !path.contains(['\\', ':'])).then(|| encode(path))
}

/// `text` as a part of an address: what is no letter, digit or one of `-._~/` as `%5b`.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'=' | b',' => {
                out.push(byte as char);
            }
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn no_id_leaves_the_folder_and_no_two_share_a_page() {
        let mut run = sample::run();
        let ids = ["../../etc/passwd", "../..?/etc", "../x", "", "a/b/c", "A.b", "é\n/x", &"x".repeat(300)];
        for (case, id) in run.cases.iter_mut().zip(ids) {
            case.scenario = format!("{id}/case");
        }
        let pages: Vec<String> = areas(&run).into_iter().map(|area| area.file).collect();
        assert_eq!(pages[..3], ["_......html", "_....._.html", "_...x.html"]);
        assert_eq!(pages[4..6], ["a.b.html", "A.b~2.html"]);
        assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), 8);
        assert!(pages.iter().all(|page| !page.contains(['/', '\n']) && !page.starts_with('.') && page.len() < 255));
    }

    #[test]
    fn cases_of_one_area_share_a_page_and_no_two_share_an_address() {
        let mut run = sample::run();
        run.cases.insert(0, sample::gap());
        run.cases.push(sample::gap());
        let areas = areas(&run);
        assert_eq!((areas.len(), areas[0].name, areas[0].scenarios.len()), (5, "rc/responder", 4));
        assert_eq!(areas[0].scenarios[0].cases.len(), 3);
        let addresses = addresses(&run);
        assert_eq!(addresses[0], "cases/rc.responder.html#psn-gap%5bip=v6,start_psn=0xfffffe%5d");
        assert_eq!(addresses[9], "cases/rc.responder.html#psn-gap%5bip=v6,start_psn=0xfffffe%5d~3");
        assert_eq!(addresses[2], "cases/rc.requester.html#retry");
        assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 10);
    }

    #[test]
    fn an_address_stays_below_the_report() {
        assert_eq!(address("frames/a[ip=v6].pcapng").as_deref(), Some("frames/a%5bip=v6%5d.pcapng"));
        for path in ["../x", "/etc/passwd", "javascript:alert(1)", "", "a/../../b", "c:\\x", "\\\\host\\x"] {
            assert_eq!(address(path), None, "{path}");
        }
    }
}
