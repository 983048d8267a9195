//! The JUnit report: a suite for each area, a test case for each case, the whole evidence in the text of a failure.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::evidence::{self, Extent};
use crate::outcome::{Case, Run, Verdict};
use crate::text::{self, one_line};

/// Writes a run as JUnit XML. It carries no time of day, so the same run gives the same bytes.
///
/// | verdict | becomes |
/// |---|---|
/// | PASS | a success |
/// | LOOSE, and PASS that differs from its golden trace | a success, the evidence in `system-out` |
/// | FAIL, CRASH, XPASS | a `failure` |
/// | INCONCLUSIVE | an `error` |
/// | XFAIL, UNSUPPORTED | `skipped`, with the reason |
pub fn write(run: &Run, mut out: impl io::Write) -> io::Result<()> {
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for case in &run.cases {
        let name = case.area();
        suites.entry(name).or_insert_with(|| suite(run, name)).add_test_case(test_case(case));
    }
    let mut report = Report::new("rocespec");
    report.add_test_suites(suites.into_values());
    report.serialize(&mut out).map_err(io::Error::other)?;
    out.flush()
}

fn suite(run: &Run, area: &str) -> TestSuite {
    let mut suite = TestSuite::new(one_line(area));
    for (name, value) in [
        ("tool", run.tool.as_str()),
        ("dut", &run.device.dut),
        ("profile", &run.device.profile),
        ("system", &run.device.system),
        ("seed", &run.seed.to_string()),
        ("command", &run.command),
        ("filter", &run.filter.join(" ")),
        ("complete", &run.complete.to_string()),
    ] {
        suite.add_property(Property::new(name, one_line(value)));
    }
    suite
}

fn test_case(case: &Case) -> TestCase {
    let mut status = match case.verdict {
        Verdict::Pass | Verdict::Loose => TestCaseStatus::success(),
        Verdict::Fail | Verdict::Crash | Verdict::Xpass => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Inconclusive => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Xfail | Verdict::Unsupported => TestCaseStatus::skipped(),
    };
    status.set_message(message(case)).set_type(case.verdict.to_string());
    if matches!(status, TestCaseStatus::NonSuccess { .. }) {
        status.set_description(description(case));
    }
    let mut test_case = TestCase::new(one_line(&case.id()), status);
    test_case.set_classname(one_line(&case.scenario.replace('/', ".")));
    test_case.set_time(Duration::from_nanos(case.duration_ns));
    test_case.add_property(Property::new("title", one_line(&case.title)));
    test_case.add_property(Property::new("level", case.level.to_string()));
    for rule in &case.rules {
        test_case.add_property(Property::new("rule", one_line(rule)));
    }
    let differs = case.golden.as_ref().is_some_and(|golden| !golden.differences.is_empty());
    if case.verdict == Verdict::Loose || case.verdict == Verdict::Pass && differs {
        test_case.set_system_out(description(case));
    }
    test_case
}

/// The reason, or what was found first where there is none.
fn message(case: &Case) -> String {
    let found = || case.findings.first().map(|finding| format!("{}: {}", finding.rule, finding.why));
    let reason = if case.reason.is_empty() { found().unwrap_or_default() } else { case.reason.clone() };
    match case.verdict {
        // Both are "skipped" to a CI server; the words must tell them apart.
        Verdict::Xfail => format!("known deviation: {}", one_line(&reason)),
        _ => one_line(&reason),
    }
}

fn description(case: &Case) -> String {
    let mut out = String::new();
    for line in text::lines(&format!("{}  {}\n{}", case.verdict, case.reason, case.title)) {
        out.push_str(&line);
        out.push('\n');
    }
    for line in evidence::of(case, Extent { width: 0, whole: true }) {
        out.push_str(&line.text);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn written(run: &Run) -> String {
        let mut bytes = Vec::new();
        write(run, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn junit_layout() {
        insta::assert_snapshot!(written(&sample::run()));
    }

    #[test]
    fn counts_follow_the_verdicts() {
        let report = Report::deserialize_from_str(&written(&sample::run())).unwrap();
        assert_eq!((report.tests, report.failures, report.errors, report.skipped), (8, 3, 1, 2));
        let suites: Vec<_> = report.test_suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(suites, ["cc/cnp", "rc/requester", "rc/responder", "ud/gsi", "ud/multicast"]);
    }

    #[test]
    fn no_byte_can_break_the_document_and_none_is_lost() {
        let every: String =
            (0..0x100u32).chain([0x202e, 0xfeff, 0xfffe, 0xffff, 0x10_ffff]).filter_map(char::from_u32).collect();
        let mut run = sample::run();
        for case in &mut run.cases {
            case.reason.push_str(&every);
            case.title = every.clone();
            case.scenario.push_str(&every);
            case.script = every.clone();
            case.repeat = format!("]]> & <b> {every}");
            for finding in &mut case.findings {
                finding.seen = every.clone();
            }
        }
        run.device.system = every;
        let text = written(&run);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "a control character got through");
        assert!(!text.contains(['\u{fffe}', '\u{ffff}']));
        let report = Report::deserialize_from_str(&text).unwrap();
        assert_eq!(report.tests, 8);
        assert!(text.contains("\\u{1b}"));
    }

    #[test]
    fn a_run_without_cases_is_a_document_too() {
        let mut run = sample::run();
        run.cases.clear();
        assert_eq!(Report::deserialize_from_str(&written(&run)).unwrap().tests, 0);
    }
}
