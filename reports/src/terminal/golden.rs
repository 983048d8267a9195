//! What the golden traces say, in a line of the summary.

use crate::outcome::Run;
use crate::text::{counted, one_line};

/// How many cases were held against a golden trace and how many differ, and, when everything is asked for, which were not;
/// empty when none was.
pub(super) fn lines(run: &Run, whole: bool) -> String {
    let goldens: Vec<_> = run.cases.iter().filter_map(|case| case.golden.as_ref()).collect();
    if goldens.is_empty() {
        return String::new();
    }
    let different = goldens.iter().filter(|golden| !golden.differences.is_empty()).count();
    let differences = || goldens.iter().flat_map(|golden| &golden.differences);
    let governed = differences().filter(|difference| difference.is_governed()).count();
    let how = match different {
        0 => "none differs".to_owned(),
        n => format!(
            "{} ({} governed by a rule, {} free)",
            if n == 1 { "1 differs".to_owned() } else { format!("{n} differ") },
            governed,
            differences().count() - governed
        ),
    };
    let without = run.cases.len() - goldens.len();
    let without = if without == 0 { String::new() } else { format!("; {} not compared", counted(without, "case")) };
    let mut out = format!("golden traces: {} compared, {how}{without}\n", counted(goldens.len(), "case"));
    for case in run.cases.iter().filter(|case| whole && case.golden.is_none()) {
        out.push_str(&format!("  not compared: {} ({})\n", one_line(&case.id()), case.verdict));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::outcome::{Difference, Golden};
    use crate::sample;

    #[test]
    fn the_line_counts_what_differs_and_is_silent_without_goldens() {
        let mut run = sample::run();
        assert_eq!(lines(&run, true), "");
        run.cases[1].golden = Some(Golden { name: "x".to_owned(), differences: Vec::new() });
        assert_eq!(lines(&run, false), "golden traces: 1 case compared, none differs; 7 cases not compared\n");
        let differs = |rule: Option<&str>| Difference {
            line: None,
            frame: None,
            subject: "psn".to_owned(),
            golden: "1".to_owned(),
            seen: "2".to_owned(),
            golden_packet: String::new(),
            seen_packet: String::new(),
            rule: rule.map(str::to_owned),
            why: String::new(),
        };
        let differences = vec![differs(Some("rc.responder.ack")), differs(None), differs(None)];
        run.cases[0].golden = Some(Golden { name: "x".to_owned(), differences });
        let expected =
            "golden traces: 2 cases compared, 1 differs (1 governed by a rule, 2 free); 6 cases not compared\n";
        assert_eq!(lines(&run, false), expected);
        let whole = lines(&run, true);
        assert!(whole.starts_with(expected) && whole.matches("\n  not compared: ").count() == 6, "{whole}");
        assert!(whole.contains("(UNSUPPORTED)\n"), "{whole}");
    }
}
