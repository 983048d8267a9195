//! `--bless`, `--goldens` and `--strict-golden`: golden traces at a run.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rocespec_reports::outcome::{Case, Difference, Finding, Golden, Level, Verdict};

use super::device::quoted;
use crate::golden::{Blessed, Blessing, Goldens, Tolerance, differences};
use crate::profile::Profile;
use crate::run::Done;
use crate::scenario::Scenario;

/// Where the golden traces that come with the tool lie in its repository.
const OWN: &str = "fixtures/goldens";
/// Most paths and cases that are named.
const NAMED: usize = 10;
/// The seed that golden traces are recorded with.
const SEED: u64 = 1;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Record the traces of the cases that pass as golden ones, in --goldens or, in the repository, in fixtures/goldens.
    #[arg(long)]
    bless: bool,

    /// Compare with the golden traces of this folder, DIR/PROFILE/SCENARIO.trace. Default: those that come with the tool.
    #[arg(long, value_name = "DIR")]
    goldens: Option<PathBuf>,

    /// A difference from a golden trace is a FAIL.
    #[arg(long)]
    strict_golden: bool,
}

/// The golden traces of one run.
pub(super) struct Session {
    goldens: Goldens,
    blessing: Option<(Blessing, PathBuf)>,
    profile: String,
    tolerance: Tolerance,
    is_strict: bool,
    /// There may be golden traces, but of another seed.
    is_other_seed: bool,
}

impl Args {
    /// The words that compare with the same golden traces again.
    pub(super) fn repeat(&self) -> String {
        let mut words = String::new();
        if let Some(folder) = &self.goldens {
            words.push_str(&format!(" --goldens {}", quoted(&folder.to_string_lossy())));
        }
        if self.strict_golden {
            words.push_str(" --strict-golden");
        }
        words
    }

    /// Reads the golden traces of a profile. `own` says that the catalogue is the one that comes with the tool.
    pub(super) fn open(
        &self,
        (dut, seed): (&str, u64),
        profile: &Profile,
        catalogue: &[Scenario],
        own: bool,
    ) -> anyhow::Result<Session> {
        if self.bless && dut.starts_with("emulator:") {
            bail!(
                "--bless with {dut}: what a deliberate defect or another policy does is no golden trace of the emulator"
            );
        }
        if (self.bless || self.strict_golden) && seed != SEED {
            bail!("--seed {seed}: golden traces are those of seed {SEED}; leave --seed out");
        }
        let blessed = self.bless.then(|| self.folder_to_bless(own)).transpose()?;
        let ids = || catalogue.iter().map(|scenario| scenario.id.as_str());
        let goldens = match self.goldens.as_deref().or(blessed.as_deref()) {
            _ if seed != SEED => Goldens::default(),
            Some(folder) => Goldens::of_folder(folder, &profile.name, ids())?,
            None if own => Goldens::built_in(&profile.name)?,
            None => Goldens::default(),
        };
        Ok(Session {
            goldens,
            blessing: blessed.map(|folder| (Blessing::default(), folder)),
            profile: profile.name.clone(),
            tolerance: Tolerance::of(&profile.timing),
            is_strict: self.strict_golden,
            is_other_seed: seed != SEED && (own || self.goldens.is_some()),
        })
    }

    fn folder_to_bless(&self, own: bool) -> anyhow::Result<PathBuf> {
        match &self.goldens {
            Some(folder) => {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make the folder {}", folder.display()))?;
                Ok(folder.clone())
            }
            None if own && Path::new(OWN).is_dir() => Ok(PathBuf::from(OWN)),
            None => bail!("--bless does not know where to: name a folder with --goldens"),
        }
    }
}

impl Session {
    /// Holds a case against its golden and, with `--bless`, takes it to be one.
    pub(super) fn look(&mut self, done: &mut Done) {
        let case = &mut done.case;
        // What two ends in real time do with lost packets is not the same twice.
        let repeats = self.tolerance.is_exact() || !has_peer(case);
        let is_judged =
            repeats && !matches!(case.verdict, Verdict::Inconclusive | Verdict::Crash | Verdict::Unsupported);
        let recording = match &done.form {
            Some(form) if is_judged => form.recording(&case.trace, self.tolerance.is_exact()),
            _ => Default::default(),
        };
        if let Some(golden) = self.goldens.get(&case.scenario, &case.variant_name()).filter(|_| is_judged) {
            let differences = differences(golden, &recording, case, self.tolerance);
            case.golden = Some(Golden { name: self.goldens.name(&case.scenario), differences });
        }
        if let Some((blessing, _)) = self.blessing.as_mut().filter(|_| repeats) {
            blessing.take(case, recording, &self.goldens, self.tolerance);
        }
        if self.is_strict {
            fail_if_different(case);
        }
    }

    /// Why nothing was compared, where something could have been.
    pub(super) fn remark(&self) -> Option<String> {
        self.is_other_seed.then(|| format!("golden traces: not compared, they are of seed {SEED}\n"))
    }

    /// Writes what was blessed and says so. `whole` says that the whole catalogue was run.
    pub(super) fn finish(self, catalogue: &[Scenario], whole: bool) -> anyhow::Result<Option<String>> {
        let Some((blessing, folder)) = self.blessing else { return Ok(None) };
        let blessed = blessing.write(&folder, &self.profile, catalogue, &self.goldens, whole)?;
        Ok(Some(told(&blessed, &folder.join(&self.profile), whole)))
    }
}

/// The reference model stands at the tester's end.
fn has_peer(case: &Case) -> bool {
    case.script.lines().any(|line| line.split_whitespace().take(2).eq(["peer", "model"]))
}

/// With `--strict-golden` the first difference is a finding, unless the case has failed anyhow: then it says nothing new.
fn fail_if_different(case: &mut Case) {
    let Some(golden) = &case.golden else { return };
    let Some(first) = golden.differences.first().filter(|_| case.verdict != Verdict::Fail) else { return };
    let finding = of_difference(first, golden, case);
    case.verdict = Verdict::Fail;
    case.reason = format!("differs from its golden trace: expected {}, seen {}", finding.expected, finding.seen);
    case.findings.insert(0, finding);
}

/// A finding of no rule: that the trace is another one is what the user asked to be told. It names no line of the script,
/// for no step of it was missed.
fn of_difference(difference: &Difference, golden: &Golden, case: &Case) -> Finding {
    let frame = case.trace.iter().find(|line| line.frame.is_some() && line.frame == difference.frame);
    // What is missing belongs behind the step that was played last.
    let step = || case.trace.iter().rev().find(|line| line.line.is_some() && line.line == difference.line);
    let said = |value: &String| format!("{}: {value}", difference.subject);
    let decider = match &difference.rule {
        Some(rule) => format!("governed by {rule}"),
        None => format!("free: {}", difference.why),
    };
    Finding {
        rule: Finding::GOLDEN.to_owned(),
        level: Level::Info,
        device: None,
        line: None,
        frame: difference.frame,
        packet: frame.map(|line| line.text.clone()),
        time_ns: frame.or_else(step).map_or(0, |line| line.time_ns),
        expected: said(&difference.golden),
        seen: said(&difference.seen),
        why: format!("it differs from {}, which --strict-golden forbids ({decider})", golden.name),
    }
}

/// What was blessed, for people.
fn told(blessed: &Blessed, folder: &Path, whole: bool) -> String {
    let mut text = format!(
        "golden traces in {}: {} written, {} unchanged\n",
        folder.display(),
        blessed.written,
        blessed.unchanged
    );
    let mut list = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            text.push_str(&format!("{what}:\n"));
            names.iter().take(NAMED).for_each(|name| text.push_str(&format!("  {name}\n")));
            if names.len() > NAMED {
                text.push_str(&format!("  and {} more\n", names.len() - NAMED));
            }
        }
    };
    list("not recorded, since they did not pass", blessed.refused.clone());
    let stale = blessed.stale.iter().map(|path| path.display().to_string()).collect();
    list(if whole { "removed, since there is no such scenario" } else { "stale: there is no such scenario" }, stale);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(verdict: Verdict, difference: Difference) -> Case {
        let line = |text: &str, line, frame, time_ns| serde_json::json!({"time_ns": time_ns, "actor": "tester", "text": text, "line": line, "frame": frame});
        let case = serde_json::json!({
            "scenario": "a/b", "variant": {}, "title": "", "level": "must", "rules": ["rc.responder.gap-nak"],
            "verdict": verdict, "reason": "", "findings": [], "script": "", "script_line": 14, "duration_ns": 0,
            "trace": [line("SEND_ONLY psn=0", 14, 1, 5), line("SEND_ONLY psn=2", 15, 3, 2000)],
            "golden": Golden { name: "g".to_owned(), differences: vec![difference] },
            "pcapng": null, "repeat": "",
        });
        serde_json::from_value(case).unwrap()
    }

    fn missing() -> Difference {
        Difference {
            line: Some(15),
            frame: None,
            subject: "packet".to_owned(),
            golden: "NAK psn=1".to_owned(),
            seen: "nothing".to_owned(),
            golden_packet: "NAK psn=1".to_owned(),
            seen_packet: String::new(),
            rule: Some("rc.responder.gap-nak".to_owned()),
            why: String::new(),
        }
    }

    #[test]
    fn a_difference_is_a_finding_of_no_rule_behind_the_step_that_was_played() {
        let mut case = case(Verdict::Pass, missing());
        fail_if_different(&mut case);
        assert_eq!(case.verdict, Verdict::Fail);
        assert!(case.reason.starts_with("differs from its golden trace: expected packet: NAK"), "{}", case.reason);
        let [finding] = &case.findings[..] else { panic!("{:?}", case.findings) };
        assert_eq!((finding.rule.as_str(), finding.level), (Finding::GOLDEN, Level::Info));
        assert_eq!((finding.line, finding.time_ns), (None, 2000));
        assert!(finding.why.ends_with("(governed by rc.responder.gap-nak)"), "{}", finding.why);
    }

    #[test]
    fn what_has_failed_is_not_blamed_twice() {
        let mut case = case(Verdict::Fail, missing());
        fail_if_different(&mut case);
        assert!(case.findings.is_empty());
    }
}
