//! From findings to a verdict.

use rocespec_reports::outcome::{Finding, Level, Verdict};

use super::Planned;
use super::execute::Executed;
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

/// What is known of those who are judged.
pub(super) struct Known<'p> {
    /// Each with its name in findings, where there are two.
    devices: Vec<(Option<&'p str>, &'p Profile)>,
}

impl<'p> Known<'p> {
    /// Of one device.
    pub(super) fn one(profile: &'p Profile) -> Known<'p> {
        Known { devices: vec![(None, profile)] }
    }

    /// Of two.
    pub(super) fn two(devices: [(&'p str, &'p Profile); 2]) -> Known<'p> {
        Known { devices: devices.map(|(name, profile)| (Some(name), profile)).into() }
    }

    /// The deviation that excuses this finding. Where the end did not come out right, either of two may be the reason.
    fn excuse(&self, planned: &Planned<'_>, finding: &Finding) -> Option<&'p Deviation> {
        let concerned = |name: Option<&str>| finding.line.is_some() || finding.device.as_deref() == name;
        let devices = self.devices.iter().filter(|(name, _)| concerned(*name));
        let mut known = devices.flat_map(|(_, profile)| &profile.deviations);
        known.find(|known| concerns(known, planned) && known.rule == finding.rule)
    }

    /// A deviation that should have shown. With another partner a device may do as it should.
    fn awaited(&self, planned: &Planned<'_>) -> Option<(&'p Profile, &'p Deviation)> {
        let [(_, profile)] = self.devices[..] else { return None };
        Some((profile, profile.deviations.iter().find(|known| concerns(known, planned))?))
    }
}

/// The verdict on a case and its one-line reason.
pub(super) fn judge(planned: &Planned<'_>, known: &Known<'_>, executed: &Executed) -> (Verdict, String) {
    let (findings, loose) = (&executed.findings, executed.loose.as_deref());
    match &executed.ending {
        Ending::Lacks(what) => return (Verdict::Unsupported, what.clone()),
        Ending::Crashed(how) => return (Verdict::Crash, first_line(how)),
        Ending::Unknown(why) => return (Verdict::Inconclusive, first_line(why)),
        Ending::Ran => {}
    }
    // Before the device is judged the recording is.
    if let Some(hole) = &executed.hole {
        let found = findings.first().map(|finding| format!("; otherwise: {}", reason(finding))).unwrap_or_default();
        return (Verdict::Inconclusive, format!("the recording cannot be trusted: {hole}{found}"));
    }
    let broken = |level| findings.iter().find(|finding| finding.level == level);
    if let Some(finding) = broken(Level::Must) {
        let excuse = |finding| known.excuse(planned, finding);
        let mut musts = findings.iter().filter(|finding| finding.level == Level::Must);
        return match excuse(finding) {
            Some(deviation) if musts.all(|finding| excuse(finding).is_some()) => {
                (Verdict::Xfail, deviation.reason.clone())
            }
            _ => (Verdict::Fail, reason(finding)),
        };
    }
    if let Some((profile, deviation)) = known.awaited(planned) {
        let why = format!("the profile {} says that it breaks {}, but it does not", profile.name, deviation.rule);
        return (Verdict::Xpass, why);
    }
    match (broken(Level::Should), loose) {
        (Some(finding), _) => (Verdict::Loose, reason(finding)),
        (None, Some(loose)) => (Verdict::Loose, loose.to_owned()),
        (None, None) => (Verdict::Pass, findings.first().map(reason).unwrap_or_default()),
    }
}

/// Of the findings at one frame the one that the scenario is about comes first: what else is wrong with the frame follows
/// from it. A lesser level does not pass a higher one, for the verdict is that of the higher.
pub(super) fn cause_first(mut findings: Vec<Finding>, rules: &[String]) -> Vec<Finding> {
    let is_own = |finding: &Finding| finding.line.is_some() || rules.contains(&finding.rule);
    for at in 0..findings.len() {
        let (frame, level) = (findings[at].frame, findings[at].level);
        let passed = |other: &Finding| other.frame == frame && !is_own(other) && other.level <= level;
        if frame.is_some()
            && is_own(&findings[at])
            && let Some(first) = findings[..at].iter().position(passed)
        {
            findings[first..=at].rotate_right(1);
        }
    }
    findings
}

fn concerns(deviation: &Deviation, planned: &Planned<'_>) -> bool {
    deviation.scenario == planned.scenario.id
        && deviation.variant.iter().all(|(axis, value)| planned.variant.values.get(axis) == Some(value))
}

fn reason(finding: &Finding) -> String {
    let device = finding.device.iter().map(|device| format!("{device}: ")).collect::<String>();
    format!("{device}expected {}, seen {}", finding.expected, finding.seen)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, level: Level, line: Option<u32>, frame: Option<u32>) -> Finding {
        let (expected, seen, why) = (String::new(), String::new(), String::new());
        Finding {
            rule: rule.to_owned(),
            level,
            device: None,
            line,
            frame,
            packet: None,
            time_ns: 0,
            expected,
            seen,
            why,
        }
    }

    fn order(findings: &[(&str, Level, Option<u32>, Option<u32>)]) -> Vec<String> {
        let findings = findings.iter().map(|(rule, level, line, frame)| finding(rule, *level, *line, *frame));
        cause_first(findings.collect(), &["own".to_owned()]).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn what_the_scenario_is_about_comes_first_of_its_frame() {
        use Level::{Info, Must};
        let lint = |frame| ("lint", Must, None, Some(frame));
        assert_eq!(
            order(&[lint(5), ("msn", Must, None, Some(5)), ("own", Must, Some(17), Some(5))]),
            ["own", "lint", "msn"]
        );
        assert_eq!(order(&[lint(4), lint(5), ("step", Must, Some(17), Some(5))]), ["lint", "step", "lint"]);
        assert_eq!(
            order(&[lint(5), ("own", Must, None, Some(5)), ("step", Must, Some(1), Some(5))]),
            ["own", "step", "lint"]
        );
        assert_eq!(order(&[lint(5), ("own", Info, Some(17), Some(5))]), ["lint", "own"]);
        assert_eq!(order(&[("gap", Must, None, None), ("own", Must, Some(17), None)]), ["gap", "own"]);
    }
}
