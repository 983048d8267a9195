use std::collections::BTreeMap;
use std::path::PathBuf;

use roxmltree::Node;

use super::super::tests::{text, tree};
use super::*;
use crate::examination::sample;

const OTHERS: [(&str, &str); 1] = [("JSON", "check.json")];

/// Every page by its path in the report.
fn pages(examination: &Examination) -> BTreeMap<PathBuf, String> {
    let temp = tempfile::tempdir().unwrap();
    write_examination(examination, &OTHERS, temp.path()).unwrap();
    let read = |path: &Path| fs::read_to_string(temp.path().join(path)).unwrap();
    let connections = fs::read_dir(temp.path().join(CONNECTIONS)).unwrap();
    let names = connections.map(|entry| Path::new(CONNECTIONS).join(entry.unwrap().file_name()));
    names.chain([PathBuf::from(INDEX)]).map(|path| (path.clone(), read(&path))).collect()
}

#[test]
fn pages_are_well_formed_and_have_one_heading_and_every_id_once() {
    for (path, page) in pages(&sample::examination()) {
        let tree = tree(&path, &page);
        let ids: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("id")).collect();
        let unique: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{}: {ids:?}", path.display());
        let named = |name: &'static str| tree.descendants().filter(move |node| node.tag_name().name() == name);
        assert_eq!((named("h1").count(), named("main").count()), (1, 1), "{}", path.display());
        assert!(named("th").all(|cell| cell.has_attribute("scope")), "{}", path.display());
        for name in tree.descendants().filter_map(|node| node.attribute("aria-labelledby")) {
            assert!(ids.contains(&name), "{}: {name}", path.display());
        }
    }
}

#[test]
fn every_link_leads_somewhere_and_nothing_is_loaded() {
    let pages = pages(&sample::examination());
    let mut seen = 0;
    for (path, page) in &pages {
        let tree_of_page = tree(path, page);
        for node in tree_of_page.descendants().filter(Node::is_element) {
            assert!(node.attribute("src").is_none() && node.tag_name().name() != "link", "{}", path.display());
            let Some(href) = node.attribute("href").filter(|href| *href != "check.json") else { continue };
            let (file, fragment) = href.split_once('#').unwrap_or((href, ""));
            let target = match file.strip_prefix("../") {
                _ if file.is_empty() => path.clone(),
                Some(up) => PathBuf::from(up),
                None => PathBuf::from(file),
            };
            let there = pages.get(&target).unwrap_or_else(|| panic!("{}: {href}", path.display()));
            let there = tree(&target, there);
            let found = fragment.is_empty() || there.descendants().any(|node| node.attribute("id") == Some(fragment));
            assert!(found, "{}: {href}", path.display());
            seen += 1;
        }
        assert!(page.contains("default-src 'none'"));
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn the_cause_stands_first_and_what_follows_is_folded() {
    let pages = pages(&sample::examination());
    let index = tree(Path::new(INDEX), &pages[Path::new(INDEX)]);
    let articles: Vec<Node<'_, '_>> = index.descendants().filter(|node| node.tag_name().name() == "article").collect();
    let of = ["Connection 3", "Connection 2", "Frames of no connection"];
    assert_eq!(articles.len(), of.len());
    assert!(articles.iter().zip(of).all(|(article, of)| text(*article).contains(of)));
    let folded = articles[0].descendants().find(|node| node.tag_name().name() == "details").unwrap();
    let told = text(folded);
    assert!(told.contains("What follows: 13 more packets"), "{told}");
    assert!(told.contains("12 more packets broke the same rule, the first in frame 19"), "{told}");
    let before: String = text(articles[0]).split("What follows").next().unwrap().to_owned();
    for said in ["frame 17, at 1.200 ms, sent by 192.0.2.2", "rc.responder.ack-psn", "an ACK of a PSN up to", "C9-1"] {
        assert!(before.contains(said), "{said}: {before}");
    }
    let all = text(index.root());
    for said in
        ["stall.pcap", "byte 4096", "mirror of both ports", "class-not-lossless", "0.2 %", "the last bytes were cut"]
    {
        assert!(all.contains(said), "{said}");
    }
}

#[test]
fn the_page_of_a_connection_shows_packets_psns_and_figures() {
    let pages = pages(&sample::examination());
    let path = Path::new("connections/1-3.html");
    let tree = tree(path, &pages[path]);
    let all = text(tree.root());
    for said in [
        "RDMA_WRITE_MIDDLE psn=0x000008 1024B",
        "PSN 0 is 0x000000",
        "retransmission (4)",
        "packets per ACK",
        "2 psn_sequence_error",
    ] {
        assert!(all.contains(said), "{said}");
    }
    let of_class = |class: &'static str| tree.descendants().filter(move |node| node.attribute("class") == Some(class));
    assert_eq!((of_class("ladder").count(), of_class("flag cause").count()), (1, 1));
    let folded = tree.descendants().filter(|node| node.tag_name().name() == "details").count();
    assert_eq!(folded, 2 + 1, "two findings behind the cause, and the table of a picture");
    assert!(pages[Path::new("connections/1-1.html")].contains("PSN 0 is 0xfffff0"));
}

#[test]
fn pages_are_for_the_worst_and_the_biggest() {
    let written = pages(&sample::many(1_000));
    assert_eq!(written.len(), 1 + 100 + 20, "the first page, those with findings, the biggest without");
    assert!((1..=100).all(|n| written.contains_key(Path::new(&format!("connections/1-{}.html", n * 10)))));
    let index = &written[Path::new(INDEX)];
    assert!(index.contains("880 of them have no page of their own"));
    assert!(index.len() < 1_500_000, "{}", index.len());

    let mut all = sample::many(1_000);
    all.files[0].connections = (1..=2_500).map(sample::broken).collect();
    let written = pages(&all);
    assert_eq!(written.len(), 1 + PAGES);
    let index = &written[Path::new(INDEX)];
    assert!(index.contains("Findings of 2450 more connections") && index.contains("And 500 more in check.json"));
}

#[test]
fn pages_of_an_earlier_examination_go_and_other_files_stay() {
    let temp = tempfile::tempdir().unwrap();
    write_examination(&sample::examination(), &OTHERS, temp.path()).unwrap();
    let note = temp.path().join(CONNECTIONS).join("note.txt");
    fs::write(&note, "mine").unwrap();
    let mut one = sample::examination();
    one.files[0].connections.truncate(1);
    write_examination(&one, &OTHERS, temp.path()).unwrap();
    assert_eq!(fs::read_dir(temp.path().join(CONNECTIONS)).unwrap().count(), 2, "one page and the note");
}

#[test]
fn nothing_from_outside_can_become_markup() {
    let evil = "</script></title><b onclick='x'>\"&amp;]]>\u{1b}[31m\u{202e}".to_owned();
    let mut one = sample::disfigured(&[evil.clone(), evil.clone(), evil.clone(), evil.clone()], &[1, 2, 3, 4]);
    for finding in one.files.iter_mut().flat_map(|file| &mut file.connections).flat_map(|c| &mut c.findings.first) {
        finding.rule.clone_from(&evil);
    }
    for (path, page) in pages(&one) {
        let tree = tree(&path, &page);
        assert!(!tree.descendants().any(|node| node.tag_name().name() == "b"), "{}", path.display());
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{}", path.display());
        let handlers = tree.descendants().flat_map(|node| node.attributes()).filter(|a| a.name().starts_with("on"));
        assert_eq!(handlers.count(), 0);
    }
}
