use proptest::prelude::*;

use super::*;
use crate::outcome::{Actor, Bytes, Finding, Level, TraceLine};
use crate::sample;

const PLAIN: Style = Style { color: false, width: 100, verbose: false };

#[test]
fn every_verdict_on_a_terminal() {
    let run = sample::run();
    let mut text: String = run.cases.iter().map(|c| case(c, &PLAIN)).collect();
    text.push_str(&summary(&run, &PLAIN));
    insta::assert_snapshot!(text);
}

#[test]
fn colours_of_a_failure() {
    let text = case(&sample::gap(), &Style { color: true, ..PLAIN });
    insta::assert_snapshot!(text.replace('\x1b', "ESC"));
}

#[test]
fn the_window_follows_the_offending_frame() {
    let text = case(&sample::crash(), &PLAIN);
    assert!(text.contains(">> 0.180 ms  #10  -->  UD_SEND_ONLY psn=9 36B"), "{text}");
    assert!(text.contains(" of 40 "), "{text}");
    assert!(text.contains("and 2 findings after that"), "{text}");
}

#[test]
fn the_packet_of_the_tester_is_shown_however_far_behind_the_finding_lies() {
    let mut long = sample::gap();
    long.findings.truncate(1);
    long.findings[0].frame = None;
    let line = |frame: u32, actor, text: &str| TraceLine {
        time_ns: 0,
        actor,
        text: text.to_owned(),
        line: None,
        frame: Some(frame),
        bytes: None,
    };
    long.trace = vec![line(1, Actor::Device, "ACK psn=0"), line(2, Actor::Tester, "CNP icrc=bad")];
    long.trace.extend((3..90).map(|frame| line(frame, Actor::Device, "RDMA_READ_RESPONSE_MIDDLE")));
    let text = case(&long, &PLAIN);
    assert!(text.contains("#2  -->  CNP icrc=bad"), "{text}");
    assert!(text.contains("lines between"), "{text}");
    assert!(!text.contains("<--  ACK psn=0"), "{text}");
}

#[test]
fn the_script_is_shown_around_the_line_that_the_reason_names() {
    let mut unsure = sample::gap();
    unsure.verdict = Verdict::Inconclusive;
    unsure.findings.clear();
    unsure.script = (1..60).map(|n| format!("wait {n}ms\n")).collect();
    unsure.script_line = 10;
    unsure.reason = "a/b.toml: line 42: there is no region x".to_owned();
    let text = case(&unsure, &PLAIN);
    assert!(text.contains(">> 42 | wait 33ms"), "{text}");
    assert!(!text.contains(" 20 | "), "{text}");
}

#[test]
fn a_finding_about_the_golden_trace_is_no_broken_rule() {
    let mut run = sample::run();
    run.cases.retain(|case| case.verdict == Verdict::Fail);
    run.cases.truncate(1);
    let finding = &mut run.cases[0].findings[0];
    (finding.rule, finding.level) = (Finding::GOLDEN.to_owned(), Level::Info);
    run.cases[0].findings.truncate(1);
    let text = summary(&run, &PLAIN);
    assert!(!text.contains("broken that the device must keep"), "{text}");
    assert!(case(&run.cases[0], &PLAIN).contains("golden trace: "));
}

#[test]
fn a_reason_that_does_not_fit_is_cut_and_stands_whole_below() {
    let mut cut = sample::gap();
    cut.reason = "word ".repeat(40).trim_end().to_owned();
    let text = case(&cut, &PLAIN);
    assert!(text.lines().next().unwrap().ends_with('…'), "{text}");
    assert_eq!(text.lines().skip(1).flat_map(str::split_whitespace).filter(|&w| w == "word").count(), 40);
}

#[test]
fn a_reason_does_not_repeat_what_stands_beside_or_below_it() {
    let mut told = sample::gap();
    told.reason =
        format!("{}: expected a NAK, seen {} {}", "rc.responder.gap-nak", told.findings[0].seen, "x".repeat(80));
    let text = case(&told, &PLAIN);
    assert!(
        text.starts_with("FAIL         rc/responder/psn-gap[ip=v6,start_psn=0xfffffe]  rc.responder.gap-nak  expected")
    );
    assert_eq!(text.matches("xxx").count(), 0, "{text}");
}

#[test]
fn a_summary_of_nothing_says_so() {
    let mut run = sample::run();
    run.cases.clear();
    run.complete = true;
    let text = summary(&run, &PLAIN);
    assert!(text.ends_with("0 cases: nothing was run\n"), "{text}");
    assert!(text.contains("rocespec list"), "{text}");
}

#[test]
fn a_summary_names_the_report_that_was_written() {
    let text = summary_with_report(&sample::run(), Some(std::path::Path::new("out")), &PLAIN);
    assert!(text.contains("out/index.html"), "{text}");
}

#[test]
fn a_clean_run_needs_no_next_step() {
    let mut run = sample::run();
    run.cases.truncate(1);
    run.complete = true;
    let text = summary(&run, &PLAIN);
    assert!(!text.contains("next:"), "{text}");
    assert!(text.ends_with("1 case: 1 pass\n"), "{text}");
}

prop_compose! {
    fn any_finding()(
        texts in prop::array::uniform4(".{0,40}|\\PC{0,20}|(\\n|\\t|\\x1b)*"),
        line in any::<Option<u32>>(),
        frame in prop::option::of(prop_oneof![0..5u32, any::<u32>()]),
        time_ns in any::<u64>(),
    ) -> Finding {
        let [rule, expected, seen, why] = texts;
        Finding { rule, level: Level::Must, device: None, line, frame, packet: None, time_ns, expected, seen, why }
    }
}

prop_compose! {
    fn any_trace_line()(
        time_ns in any::<u64>(),
        actor in prop::sample::select(vec![Actor::Tester, Actor::Device, Actor::Software]),
        text in ".{0,60}",
        line in any::<Option<u32>>(),
        frame in prop::option::of(prop_oneof![0..5u32, any::<u32>()]),
        bytes in prop::option::of(prop::collection::vec(any::<u8>(), 0..99)),
    ) -> TraceLine {
        TraceLine { time_ns, actor, text, line, frame, bytes: bytes.map(Bytes) }
    }
}

prop_compose! {
    fn any_case()(
        texts in prop::array::uniform4(".{0,30}|(.|\\n){0,80}"),
        variant in prop::collection::btree_map(".{0,4}", ".{0,4}", 0..3),
        rules in prop::collection::vec(".{0,8}", 0..3),
        verdict in prop::sample::select(Verdict::ALL.to_vec()),
        findings in prop::collection::vec(any_finding(), 0..6),
        script in "([^\\n]{0,30}\\n){0,30}",
        script_line in prop_oneof![0..9u32, any::<u32>()],
        trace in prop::collection::vec(any_trace_line(), 0..30),
        duration_ns in any::<u64>(),
    ) -> Case {
        let [scenario, title, reason, repeat] = texts;
        let level = Level::Must;
        let (pcapng, about, file, golden) = (Some(title.clone()), reason.clone(), title.clone(), None);
        Case {
            scenario, variant, title, about, level, rules, verdict, reason, findings, file, script, script_line, trace,
            golden, duration_ns, pcapng, repeat,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a device, a scenario author or a broken runner puts into the texts and numbers, every form is written,
    /// no terminal is led astray and the JSON reads back.
    #[test]
    fn any_run_can_be_shown(
        cases in prop::collection::vec(any_case(), 0..4),
        seed in any::<u64>(),
        width in prop_oneof![0..200usize, any::<usize>()],
        verbose in any::<bool>(),
    ) {
        let run = crate::outcome::Run { cases, seed, ..sample::run() };
        let style = Style { color: false, width, verbose };
        let mut text: String = run.cases.iter().map(|c| case(c, &style)).collect();
        text.push_str(&summary(&run, &style));
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));

        let (mut json, mut junit) = (Vec::new(), Vec::new());
        crate::json::write(&run, &mut json).unwrap();
        prop_assert_eq!(&crate::json::read(&json[..]).unwrap(), &run);
        crate::junit::write(&run, &mut junit).unwrap();
        let junit = String::from_utf8(junit).unwrap();
        prop_assert_eq!(quick_junit::Report::deserialize_from_str(&junit).unwrap().tests, run.cases.len());

        let folder = tempfile::tempdir().unwrap();
        crate::html::write(&run, &|_| crate::html::Dissection::default(), &[], folder.path()).unwrap();
        let cases = std::fs::read_dir(folder.path().join("cases")).unwrap().map(|entry| entry.unwrap().path());
        for page in cases.chain([folder.path().join(crate::html::INDEX)]) {
            let page = std::fs::read_to_string(page).unwrap();
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            roxmltree::Document::parse_with_options(&page, options).unwrap();
        }
    }
}
