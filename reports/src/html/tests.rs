use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::*;
use crate::defects::{Behaviour, Manner, Notice, Sighting};
use crate::outcome::{Bytes, Case, Difference, Golden, Verdict};
use crate::sample;

/// A part for each four bytes.
fn dissect(bytes: &[u8]) -> Dissection {
    let part = |at: usize| Part {
        bytes: at..(at + 4).min(bytes.len()),
        layer: if at < 12 { "BTH" } else { "payload" }.to_owned(),
        fields: vec![("<field>".to_owned(), "a & b".to_owned())],
    };
    Dissection { parts: (0..bytes.len()).step_by(4).map(part).collect(), wrong: vec!["<ICRC> is bad".to_owned()] }
}

const OTHERS: [(&str, &str); 1] = [("JSON", "report.json")];

/// The sample, with bytes behind its frames, a golden trace, and a scenario of two variants.
fn run() -> Run {
    let mut run = sample::run();
    run.cases.insert(3, Case { variant: [("ip".into(), "v4".into())].into(), ..sample::gap() });
    for (index, line) in run.cases.iter_mut().flat_map(|case| &mut case.trace).enumerate() {
        line.bytes = line.frame.map(|_| Bytes((0..30 + index as u8).collect()));
    }
    run.cases[0].golden = Some(Golden {
        name: "goldens/emulator/cc/cnp/spacing.trace".into(),
        differences: vec![Difference {
            line: Some(7),
            frame: Some(2),
            subject: "becn".into(),
            golden: "1".into(),
            seen: "0".into(),
            golden_packet: "CNP becn".into(),
            seen_packet: "CNP".into(),
            rule: None,
            why: "a sample".into(),
        }],
    });
    run.cases[0].about = "First.\n\nSecond.".into();
    run
}

/// Every page by its path in the report.
fn pages(run: &Run) -> BTreeMap<PathBuf, String> {
    let temp = tempfile::tempdir().unwrap();
    write(run, &dissect, &OTHERS, temp.path()).unwrap();
    let read = |path: &Path| std::fs::read_to_string(temp.path().join(path)).unwrap();
    let cases = fs::read_dir(temp.path().join(links::CASES)).unwrap();
    let names = cases.map(|entry| Path::new(links::CASES).join(entry.unwrap().file_name()));
    names.chain([PathBuf::from(INDEX)]).map(|path| (path.clone(), read(&path))).collect()
}

/// The page as a tree; it has to be well-formed.
pub(super) fn tree<'p>(path: &Path, page: &'p str) -> Document<'p> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_golden_difference_shows_both_packets_and_who_decides() {
    let mut run = run();
    let page = |run: &Run| {
        let html = pages(run).remove(&Path::new(links::CASES).join("cc.cnp.html")).unwrap();
        let tree = tree(Path::new("case"), &html);
        let section = tree.descendants().find(|node| node.attribute("class") == Some("against")).unwrap();
        text(section).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = page(&run);
    assert!(shown.contains("−golden: CNP becn +seen: CNP becn: 1 → 0 free: a sample"), "{shown}");
    let golden = run.cases[0].golden.as_mut().unwrap();
    golden.differences[0].rule = Some("lint.ecn".into());
    let shown = page(&run);
    assert!(shown.contains("governed by lint.ecn"), "{shown}");
    run.cases[0].golden.as_mut().unwrap().differences.clear();
    let shown = page(&run);
    assert!(shown.contains("As in goldens/emulator/cc/cnp/spacing.trace."), "{shown}");
}

pub(super) fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
}

fn decoded(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |c: &u8| (*c as char).to_digit(16).unwrap() as u8;
                bytes.push(digit(high) << 4 | digit(low));
                rest = tail;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_page_is_well_formed_and_every_id_is_there_once() {
    for (path, page) in pages(&run()) {
        let tree = tree(&path, &page);
        let ids: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("id")).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(ids.len(), unique.len(), "{}: {ids:?}", path.display());
    }
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages(&run());
    let mut seen = 0;
    for (path, page) in &pages {
        for node in tree(path, page).descendants() {
            let Some(href) = node.attribute("href") else { continue };
            seen += 1;
            let (file, fragment) = href.split_once('#').unwrap_or((href, ""));
            let file = decoded(file);
            let target = match file.strip_prefix("../") {
                _ if file.is_empty() => path.clone(),
                Some(up) => PathBuf::from(up),
                None => path.parent().unwrap().join(&file),
            };
            if file == "report.json" || target.starts_with("frames") {
                continue;
            }
            let Some(there) = pages.get(&target) else { panic!("{}: {href}", path.display()) };
            let is_filter = target == Path::new(INDEX) && fragment.contains('=');
            if !fragment.is_empty() && !is_filter {
                let id = decoded(fragment);
                let tree = tree(&target, there);
                // A rule that the run does not describe has no row; nothing else may be amiss.
                let found = tree.descendants().any(|node| node.attribute("id") == Some(&id));
                assert!(found, "{}: {href}", path.display());
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn names_that_pages_refer_to_are_there() {
    for (path, page) in pages(&run()) {
        let tree = tree(&path, &page);
        let ids: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("id")).collect();
        for node in tree.descendants() {
            for name in node.attribute("aria-labelledby").into_iter().flat_map(str::split_whitespace) {
                assert!(ids.contains(&name), "{}: {name}", path.display());
            }
        }
    }
}

#[test]
fn every_case_has_a_row_and_a_page_with_its_evidence() {
    let run = run();
    let pages = pages(&run);
    assert_eq!(pages.len(), 5 + 1, "areas and the index");
    let index = &pages[Path::new(INDEX)];
    let tree = tree(Path::new(INDEX), index);
    let rows: Vec<_> = tree.descendants().filter(|node| node.has_attribute("data-verdict")).collect();
    assert_eq!(rows.len(), run.cases.len());
    for case in &run.cases {
        assert!(rows.iter().any(|row| text(*row).contains(&case.id())), "{}", case.id());
        let page = pages.values().find(|page| page.contains(&format!("<h1>{}</h1>", case.area()))).unwrap();
        assert!(page.contains(&format!("<h2>{}</h2>", case.scenario)));
        assert!(page.contains(&case.title) && page.contains(&case.verdict.to_string()));
        let tree =
            Document::parse_with_options(page, roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() })
                .unwrap();
        let all = text(tree.root());
        for finding in &case.findings {
            assert!(all.contains(&finding.rule) && all.contains(&finding.expected), "{}", case.id());
        }
        assert!(case.trace.iter().all(|line| all.contains(&line.text)), "{}", case.id());
        assert!(all.contains(&case.repeat));
        assert!(case.script.lines().all(|line| all.contains(line)), "{}", case.id());
    }
}

#[test]
fn the_matrix_counts_every_case_once() {
    let run = run();
    let page = &pages(&run)[Path::new(INDEX)];
    let tree = tree(Path::new(INDEX), page);
    let matrix = tree.descendants().find(|node| node.attribute("class") == Some("matrix")).unwrap();
    let body = matrix.descendants().find(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", "tbody"))).unwrap();
    let cells = body.descendants().filter(|node| node.tag_name().name() == "td");
    let sum: usize = cells.map(|cell| text(cell).trim().parse::<usize>().unwrap()).sum();
    assert_eq!(sum, 2 * run.cases.len(), "each case in its verdict and in the total");
    let areas: Vec<String> = body
        .descendants()
        .filter(|node| node.attribute("scope") == Some("row"))
        .map(|node| text(node).trim().to_owned())
        .collect();
    assert_eq!(areas, ["cc/cnp", "rc/requester", "rc/responder", "ud/gsi", "ud/multicast"]);
}

#[test]
fn nothing_from_outside_can_become_markup() {
    let evil = "</script></title><b onclick='x'>\"&amp;]]>\u{1b}[31m\u{202e}";
    let mut run = run();
    run.device.dut = evil.into();
    run.device.system = evil.into();
    run.tool = evil.into();
    for rule in &mut run.rules {
        (rule.statement, rule.source) = (evil.into(), evil.into());
    }
    for case in &mut run.cases {
        case.scenario.push_str(evil);
        case.variant.insert(evil.into(), evil.into());
        (case.title, case.about, case.reason, case.repeat) = (evil.into(), evil.into(), evil.into(), evil.into());
        (case.file, case.script, case.pcapng) = (evil.into(), evil.into(), Some(format!("javascript:{evil}")));
        case.rules.push(evil.into());
        for line in &mut case.trace {
            line.text = evil.into();
        }
        for finding in &mut case.findings {
            (finding.rule, finding.why) = (evil.into(), evil.into());
            (finding.expected, finding.seen) = (evil.into(), evil.into());
        }
    }
    for (path, page) in pages(&run) {
        let tree = tree(&path, &page);
        assert!(!tree.descendants().any(|node| node.tag_name().name() == "b"), "{}", path.display());
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{}", path.display());
        let handlers = tree.descendants().flat_map(|node| node.attributes()).filter(|a| a.name().starts_with("on"));
        assert_eq!(handlers.count(), 0);
        let hrefs = tree.descendants().filter_map(|node| node.attribute("href"));
        assert!(hrefs.clone().all(|href| !href.contains(':')), "{:?}", hrefs.collect::<Vec<_>>());
    }
}

#[test]
fn a_page_loads_nothing() {
    for (path, page) in pages(&run()) {
        let tree = tree(&path, &page);
        for node in tree.descendants().filter(Node::is_element) {
            assert!(node.attribute("src").is_none() && node.tag_name().name() != "link", "{}", path.display());
        }
        assert!(page.contains("default-src 'none'"));
        let style = tree.descendants().find(|node| node.tag_name().name() == "style").map(text).unwrap();
        assert!(!style.contains("url(h") && !style.contains("@import"));
    }
}

#[test]
fn tables_have_headers_and_pages_have_one_heading() {
    for (path, page) in pages(&run()) {
        let tree = tree(&path, &page);
        let named = |name: &'static str| tree.descendants().filter(move |node| node.tag_name().name() == name);
        assert_eq!(named("h1").count(), 1, "{}", path.display());
        assert_eq!(named("main").count(), 1);
        for cell in named("th") {
            assert!(cell.has_attribute("scope"), "{}: {}", path.display(), text(cell));
        }
        for table in named("table").filter(|table| table.attribute("role") != Some("presentation")) {
            assert!(table.descendants().any(|node| node.tag_name().name() == "th"), "{}", path.display());
        }
    }
}

#[test]
fn pages_of_an_earlier_report_go_and_other_files_stay() {
    let temp = tempfile::tempdir().unwrap();
    let mut run = run();
    write(&run, &dissect, &OTHERS, temp.path()).unwrap();
    let note = temp.path().join(links::CASES).join("note.txt");
    fs::write(&note, "mine").unwrap();
    run.cases.truncate(1);
    write(&run, &dissect, &OTHERS, temp.path()).unwrap();
    assert_eq!(fs::read_dir(temp.path().join(links::CASES)).unwrap().count(), 2, "one page and the note");
    assert_eq!(fs::read_to_string(&note).unwrap(), "mine");
}

#[test]
fn several_runs_stand_side_by_side() {
    let mut other = run();
    other.device.dut = "RXE:6.1".into();
    other.cases.remove(0);
    other.cases[0].verdict = Verdict::Pass;
    let runs = [run(), other];
    let folders = folders(&runs);
    assert_eq!(folders, ["rxe_6.1", "RXE_6.1~2"]);
    let temp = tempfile::tempdir().unwrap();
    let placed: Vec<(String, Run)> = folders.into_iter().zip(runs).collect();
    for (folder, run) in &placed {
        write(run, &dissect, &OTHERS, &temp.path().join(folder)).unwrap();
    }
    write_matrix(&placed, temp.path()).unwrap();
    let page = fs::read_to_string(temp.path().join(INDEX)).unwrap();
    let tree = tree(Path::new(INDEX), &page);
    let rows = tree.descendants().filter(|node| {
        node.attribute("class").is_some_and(|c| c.starts_with("case ")) || node.attribute("class") == Some("case")
    });
    let differ: Vec<bool> = rows.map(|row| row.has_attribute("data-differs")).collect();
    assert_eq!(differ, [false, true, false, false, false, false, false, false, false]);
    assert_eq!(page.matches(">not run<").count(), 1);
    let mut links = 0;
    for href in tree.descendants().filter_map(|node| node.attribute("href")).filter(|href| !href.starts_with('#')) {
        let file = href.split('#').next().unwrap_or(href);
        assert!(temp.path().join(decoded(file)).exists(), "{href}");
        links += 1;
    }
    assert_eq!(links, 2 + 9 + 8);
}

#[test]
fn defects_stand_below_their_rule_with_what_caught_them() {
    let sighting = |id: &str, verdict| Sighting { case: id.into(), manner: Manner::of(verdict) };
    let behaviour = |name: &str, rule: bool, notice, by: &[(&str, Verdict)]| Behaviour {
        name: name.into(),
        summary: "Does <b>wrong</b>.".into(),
        rule: rule.then(|| run().rules[0].clone()),
        notice,
        by: by.iter().map(|(id, verdict)| sighting(id, *verdict)).collect(),
        elsewhere: vec![sighting("icrc/bad[ip=v4]", Verdict::Crash)],
    };
    let defects = Defects {
        tool: "rocespec".into(),
        behaviours: vec![
            behaviour(
                "one",
                true,
                Notice::Caught,
                &[("rc/a[ip=v4]", Verdict::Loose), ("rc/a[ip=v6]", Verdict::Fail), ("rc/b", Verdict::Pass)],
            ),
            behaviour("two", true, Notice::Missed, &[]),
            behaviour("three", false, Notice::Quiet, &[]),
        ],
    };
    let temp = tempfile::tempdir().unwrap();
    write_defects(&defects, temp.path()).unwrap();
    let page = fs::read_to_string(temp.path().join(DEFECTS)).unwrap();
    let tree = tree(Path::new(DEFECTS), &page);
    let all = text(tree.root());
    for said in [
        "one",
        "FAIL rc/a (2 variants)",
        "remark rc/b",
        "CRASH icrc/bad",
        "caught",
        "missed",
        "quiet",
        "Does <b>wrong</b>.",
    ] {
        assert!(all.contains(said), "{said}");
    }
    write(&run(), &dissect, &OTHERS, temp.path()).unwrap();
    assert!(fs::read_to_string(temp.path().join(INDEX)).unwrap().contains("href=\"defects.html\""));
}
