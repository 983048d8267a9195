//! The cases of a run as they come: bad ones in full, the others counted, area after area.

use std::collections::BTreeMap;

use super::paint::{Paint, paint};
use super::{INDENT, Style, VERDICT, case, needs_a_look};
use crate::evidence;
use crate::outcome::{Case, Verdict};
use crate::text::{counted, cut, one_line};

/// Columns of most areas.
const AREA: usize = 14;

/// Tells a run while it goes on. Cases come in the order of their areas.
#[derive(Debug)]
pub struct Flow {
    style: Style,
    area: Option<Area>,
}

#[derive(Debug)]
struct Area {
    name: String,
    counts: BTreeMap<Verdict, usize>,
    /// What deserves a line although nobody has to do anything: verdict, scenario, reason; and how many variants.
    asides: BTreeMap<(Verdict, String, String), usize>,
}

impl Flow {
    /// Begins.
    pub fn new(style: Style) -> Flow {
        Flow { style, area: None }
    }

    /// What to print now that this case is done; often nothing. Every case when the style is verbose, else those that
    /// need a look; and a line for the area before, when this is the first case of another.
    pub fn case(&mut self, done: &Case) -> String {
        let mut out = String::new();
        if self.area.as_ref().is_none_or(|area| area.name != done.area()) {
            out.push_str(&self.finish());
        }
        let area = self.area.get_or_insert_with(|| Area {
            name: done.area().to_owned(),
            counts: BTreeMap::new(),
            asides: BTreeMap::new(),
        });
        *area.counts.entry(done.verdict).or_default() += 1;
        if needs_a_look(done.verdict) || self.style.verbose {
            out.push_str(&case(done, &self.style));
        } else if done.verdict != Verdict::Pass {
            let aside = (done.verdict, done.scenario.clone(), evidence::reason(done).to_owned());
            *area.asides.entry(aside).or_default() += 1;
        }
        out
    }

    /// What to print when no further case comes: the line of the last area.
    pub fn finish(&mut self) -> String {
        let Some(area) = self.area.take() else { return String::new() };
        let total: usize = area.counts.values().sum();
        let present = Verdict::ALL.into_iter().filter_map(|verdict| Some((verdict, *area.counts.get(&verdict)?)));
        let counts: Vec<String> = present
            .map(|(verdict, n)| {
                paint(&self.style, Paint::of(verdict), &format!("{n} {}", verdict.to_string().to_lowercase()))
            })
            .collect();
        let name = paint(&self.style, Paint::Strong, &format!("{:AREA$}", one_line(&area.name)));
        let mut out = format!("{name} {:>9}: {}\n", counted(total, "case"), counts.join(", "));
        for ((verdict, scenario, reason), n) in &area.asides {
            let verdict = paint(&self.style, Paint::of(*verdict), &format!("{verdict:VERDICT$}"));
            let times = if *n > 1 { format!(" ({n} variants)") } else { String::new() };
            let start = format!("{}{times}  ", one_line(scenario));
            let room = self.style.width.saturating_sub(INDENT + VERDICT + 1 + start.chars().count());
            let room = if self.style.width == 0 { 0 } else { room.max(super::SHORTEST_REASON) };
            let reason = cut(&one_line(reason), room);
            out.push_str(format!("{:INDENT$}{verdict} {start}{reason}", "").trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const PLAIN: Style = Style { color: false, width: 100, verbose: false };

    fn told(style: Style) -> String {
        let mut flow = Flow::new(style);
        let mut text: String = sample::run().cases.iter().map(|case| flow.case(case)).collect();
        text.push_str(&flow.finish());
        text
    }

    #[test]
    fn what_is_well_is_counted_and_what_is_not_is_shown() {
        let text = told(PLAIN);
        assert!(text.starts_with("cc/cnp            1 case: 1 pass\nINCONCLUSIVE rc/requester/retry"), "{text}");
        assert!(!text.contains("\nPASS"), "{text}");
        assert!(
            text.contains("\nFAIL         rc/responder/psn-gap[") && text.contains("      expected  NAK"),
            "{text}"
        );
        assert!(text.contains("rc/responder     4 cases: 1 loose, 1 xfail, 1 xpass, 1 fail\n"), "{text}");
        assert!(text.contains("    LOOSE        rc/responder/credits  credits are not given\n"), "{text}");
    }

    #[test]
    fn variants_of_one_scenario_share_a_line() {
        let mut flow = Flow::new(PLAIN);
        let loose = sample::run().cases.into_iter().find(|case| case.verdict == Verdict::Loose).unwrap();
        assert_eq!(flow.case(&loose) + &flow.case(&loose), "");
        assert!(flow.finish().contains("rc/responder/credits (2 variants)  credits"));
        assert_eq!(flow.finish(), "");
    }

    #[test]
    fn a_verbose_run_shows_every_case() {
        let text = told(Style { verbose: true, ..PLAIN });
        assert!(sample::run().cases.iter().all(|case| text.contains(&case.id())), "{text}");
    }
}
