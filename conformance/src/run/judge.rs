//! From findings to a verdict.

use rocespec_reports::outcome::{Finding, Level, Verdict};

use super::Planned;
use crate::profile::{Deviation, Profile};

/// How a script ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// It ran to its end, or to a finding.
    Ran,
    /// The device lacks something.
    Lacks(String),
    /// The device died.
    Crashed(String),
    /// It cannot be said.
    Unknown(String),
}

/// The verdict on a case and its one-line reason.
pub(super) fn judge(
    planned: &Planned<'_>,
    profile: &Profile,
    ending: Ending,
    findings: &[Finding],
    loose: Option<&str>,
) -> (Verdict, String) {
    match ending {
        Ending::Lacks(what) => return (Verdict::Unsupported, what),
        Ending::Crashed(how) => return (Verdict::Crash, first_line(&how)),
        Ending::Unknown(why) => return (Verdict::Inconclusive, first_line(&why)),
        Ending::Ran => {}
    }
    let broken = |level| findings.iter().find(|finding| finding.level == level);
    let known: Vec<&Deviation> = profile.deviations.iter().filter(|known| concerns(known, planned)).collect();
    if let Some(finding) = broken(Level::Must) {
        let excused = |finding: &&Finding| known.iter().find(|deviation| deviation.rule == finding.rule);
        let mut musts = findings.iter().filter(|finding| finding.level == Level::Must);
        return match excused(&finding) {
            Some(deviation) if musts.all(|finding| excused(&finding).is_some()) => {
                (Verdict::Xfail, deviation.reason.clone())
            }
            _ => (Verdict::Fail, reason(finding)),
        };
    }
    if let Some(deviation) = known.first() {
        let why = format!("the profile {} says that it breaks {}, but it does not", profile.name, deviation.rule);
        return (Verdict::Xpass, why);
    }
    match (broken(Level::Should), loose) {
        (Some(finding), _) => (Verdict::Loose, reason(finding)),
        (None, Some(loose)) => (Verdict::Loose, loose.to_owned()),
        (None, None) => (Verdict::Pass, findings.first().map(reason).unwrap_or_default()),
    }
}

fn concerns(deviation: &Deviation, planned: &Planned<'_>) -> bool {
    deviation.scenario == planned.scenario.id
        && deviation.variant.iter().all(|(axis, value)| planned.variant.values.get(axis) == Some(value))
}

fn reason(finding: &Finding) -> String {
    format!("expected {}, seen {}", finding.expected, finding.seen)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
