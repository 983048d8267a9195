use proptest::prelude::*;

use super::*;
use crate::examination::sample;
use crate::examination::{Findings, RuleCount};
use crate::outcome::Level;
use crate::text::columns;

const PLAIN: Style = Style { color: false, width: 100, verbose: false };

#[test]
fn an_examination_on_a_terminal() {
    insta::assert_snapshot!(examination(&sample::examination(), &PLAIN));
}

#[test]
fn everything_of_an_examination() {
    insta::assert_snapshot!(examination(&sample::examination(), &Style { verbose: true, ..PLAIN }));
}

#[test]
fn colours_of_an_examination() {
    let mut one = sample::examination();
    one.files.truncate(1);
    insta::assert_snapshot!(examination(&one, &Style { color: true, ..PLAIN }).replace('\x1b', "ESC"));
}

#[test]
fn of_many_connections_the_worst_are_shown_and_the_others_counted() {
    let text = examination(&sample::many(1_000), &PLAIN);
    assert!(text.lines().count() < 200, "{text}");
    assert!(text.lines().all(|line| columns(line) <= 100), "{text}");
    assert!(text.contains("    and 75 more\n"), "5 in full and 20 in a line of 100: {text}");
    assert!(text.contains("\nand 980 more, 80 of them with findings\n"), "{text}");
    assert!(text.contains("there are findings in 99 more connections"), "{text}");

    let mut clean = sample::many(1_000);
    clean.files[0].connections.retain(|connection| connection.findings.first.is_empty());
    let text = examination(&clean, &PLAIN);
    assert!(text.contains("≈ No rule is broken in 900 connections, but 1 thing is configured wrong."), "{text}");
    assert!(text.contains("\nand 880 more without findings\n"), "{text}");

    let text = examination(&sample::many(1_000), &Style { verbose: true, ..PLAIN });
    assert!((1..=1_000).all(|number| text.contains(&format!("\n{number:>4}  "))), "all are in the table");
}

#[test]
fn a_demand_that_was_broken_stands_above_a_recommendation_before_it() {
    let mut one = sample::examination();
    let findings = &mut one.files[0].connections[2].findings;
    findings.first.rotate_right(1);
    findings.first[0].frame = 6;
    let text = examination(&one, &PLAIN);
    let (cause, remark) = (
        text.find("rc.responder.ack-psn (must): frame 17"),
        text.find("did not follow rc.responder.gap-nak in frame 6"),
    );
    assert!(cause.is_some() && cause < remark, "{text}");
}

#[test]
fn a_file_without_roce_says_so_in_one_line() {
    let mut one = sample::examination();
    one.files.truncate(1);
    one.files[0] = CaptureFile { name: "web.pcap".into(), frames: 7, duration_ns: 5, ..CaptureFile::default() };
    let text = examination(&one, &PLAIN);
    assert_eq!(text, "web.pcap: 7 frames, 0 of them RoCE, 0 connections, 5 ns\n  ✓ There is no RoCE in it.\n");
}

#[test]
fn a_file_that_cannot_be_read_is_not_called_clean() {
    let mut two = sample::examination();
    two.files[0] =
        CaptureFile { name: "gone.pcap".into(), error: Some("no such file".into()), ..CaptureFile::default() };
    let text = examination(&two, &PLAIN);
    assert!(
        text.starts_with("gone.pcap: 0 frames, 0 of them RoCE, 0 connections\n  ? not read: no such file\n\n"),
        "{text}"
    );
    assert!(!text.contains("clean"), "{text}");

    let folder = tempfile::tempdir().unwrap();
    crate::html::write_examination(&two, &[], folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join(crate::html::INDEX)).unwrap();
    assert!(page.contains("</span> not read</span>") && !page.contains("</span> clean</span></td><td"), "{page}");
}

#[test]
fn a_finding_that_explains_nothing_is_told_as_harmless() {
    let mut one = sample::examination();
    one.files.truncate(1);
    let text = examination(&one, &PLAIN);
    assert!(!text.contains("harmless"), "{text}");
    one.files[0].connections[2].findings.first[0].harmless = true;
    let text = examination(&one, &PLAIN);
    assert!(text.contains("      harmless  receivers take no notice of it"), "{text}");
    one.files[0].connections[2].findings.first[2].harmless = true;
    let text_of_follower = examination(&one, &PLAIN);
    assert!(text_of_follower.contains("rc.responder.gap-nak in frame 21 (harmless)\n"), "{text_of_follower}");
    assert!(text.replace("\n  ", " ").contains("first, of which receivers take no notice; there"), "{text}");
}

#[test]
fn what_is_sent_again_is_told_of_a_file_without_findings() {
    let mut one = sample::examination();
    one.files.truncate(1);
    one.files[0].loose = Findings::default();
    one.files[0].faults.clear();
    one.files[0].connections.retain(|connection| connection.number == 1);
    one.files[0].connections[0].sent[1].retransmissions = 3;
    let text = examination(&one, &PLAIN);
    assert!(text.contains("  ✓ No rule is broken in 1 connection, but 3 packets were sent again.\n"), "{text}");
    assert!(!text.contains("look closer"), "there is nothing to look at: {text}");
}

#[test]
fn commands_to_go_on_with_can_be_copied_into_a_shell() {
    let commands = |name: &str| {
        let mut one = sample::examination();
        one.files.truncate(1);
        one.files[0].name = name.to_owned();
        let text = examination(&one, &PLAIN);
        text.lines().filter(|line| line.starts_with("    rocespec")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(commands("it's here.pcap")[0].starts_with(r"    rocespec decode 'it'\''s here.pcap' --frames "));
    assert!(commands("-x.pcap")[0].starts_with("    rocespec decode ./-x.pcap --frames "));
    assert!(commands("-").is_empty(), "standard input cannot be read again");
}

#[test]
fn findings_that_are_only_counted_are_told() {
    let mut findings = sample::broken(1).findings;
    findings.counts.push(RuleCount { rule: "rc.any".into(), level: Level::May, count: 3 });
    let cause = crate::cause::Cause::of(&findings).unwrap();
    let told: Vec<String> = cause.followers.iter().map(crate::cause::Follower::told).collect();
    assert_eq!(
        told,
        [
            "12 more packets broke the same rule, the first in frame 19",
            "1 more packet did not follow rc.responder.gap-nak in frame 21",
            "3 more packets did not follow rc.any",
        ]
    );
    assert_eq!(cause.followers_count(), 16);
    assert!(crate::cause::Cause::of(&Findings::default()).is_none());
}

#[test]
fn what_is_only_counted_is_no_clean_file() {
    let mut one = sample::examination();
    one.files.truncate(1);
    one.files[0].connections.iter_mut().for_each(|connection| connection.findings.first.clear());
    let text = examination(&one, &PLAIN);
    assert!(text.contains("✗ Rules are broken by 15 packets, which are only counted."), "{text}");
    assert!(text.contains("    13 packets broke rc.responder.ack-psn\n"), "{text}");
    one.files[0].connections.remove(2);
    let text = examination(&one, &PLAIN);
    assert!(
        text.contains("≈ No rule that must be kept is broken for certain; there are remarks, which are only"),
        "{text}"
    );
}

#[test]
fn a_demand_that_is_only_counted_is_broken_all_the_same() {
    let mut one = sample::examination();
    one.files.truncate(1);
    one.files[0].connections.remove(2);
    let text = examination(&one, &PLAIN);
    assert!(
        text.contains("≈ No rule that must be kept is broken for certain, but frame 120 of connection 2"),
        "{text}"
    );
    let counts = &mut one.files[0].connections[1].findings.counts;
    counts.push(RuleCount { rule: "rc.any".into(), level: Level::Must, count: 3 });
    let text = examination(&one, &PLAIN);
    assert!(
        text.contains("✗ Rules are broken by packets that are only counted, and frame 120 of connection 2"),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a capture puts into the texts and numbers, no terminal is led astray.
    #[test]
    fn any_examination_can_be_shown(
        texts in prop::array::uniform4(".{0,40}|\\PC{0,20}|(\\n|\\t|\\x1b)*"),
        numbers in prop::array::uniform4(any::<u64>()),
        width in prop_oneof![0..200usize, any::<usize>()],
        verbose in any::<bool>(),
    ) {
        let one = sample::disfigured(&texts, &numbers);
        let text = examination(&one, &Style { color: false, width, verbose });
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        let json = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Examination>(&json).unwrap(), &one);

        let folder = tempfile::tempdir().unwrap();
        crate::html::write_examination(&one, &[], folder.path()).unwrap();
        let pages = std::fs::read_dir(folder.path().join("connections")).unwrap().map(|entry| entry.unwrap().path());
        for page in pages.chain([folder.path().join(crate::html::INDEX)]) {
            let page = std::fs::read_to_string(page).unwrap();
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            roxmltree::Document::parse_with_options(&page, options).unwrap();
        }
    }
}
