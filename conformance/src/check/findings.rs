//! What broke in a connection, bounded however much broke.

use rocespec_reports::examination::{Finding, Findings, RuleCount};
use rocespec_reports::outcome::Level;

use super::doubt;
use super::packet::Seen;
use super::recent::{Recent, cut_text, text};
use crate::oracle::Breach;

/// Findings that are told in full; the others are counted.
const TOLD: usize = 32;
/// Of those, the ones whose surroundings are told.
const WITH_SURROUNDINGS: usize = 8;
/// Findings that are told of a connection where there are thousands, each of another rule.
const TOLD_OF_MANY: usize = 4;
/// Packets behind a finding that are told with it.
const BEHIND: usize = 3;

/// Collects findings.
#[derive(Debug, Clone, Default)]
pub(super) struct Collected {
    told: Vec<Finding>,
    counts: Vec<RuleCount>,
    /// Findings that still take packets behind them: place, and how many.
    open: Vec<(usize, usize)>,
    /// There are thousands of connections: less is told of each.
    is_one_of_many: bool,
}

impl Collected {
    /// There are thousands of connections: less is told of this one.
    pub(super) fn one_of_many(&mut self) {
        self.is_one_of_many = true;
    }

    /// A rule was broken by a packet. `is_whole`: the capture misses nothing of its sender.
    pub(super) fn add(&mut self, from: usize, seen: &Seen<'_>, breach: Breach, is_whole: bool, recent: &Recent) {
        let text = || match seen.is_cut {
            true => cut_text(seen.packet, seen.packet.payload.len()),
            false => text(seen.packet),
        };
        let is_told = self.tell(seen.number, seen.time_ns, breach, is_whole, |finding| {
            finding.from = from as u8;
            finding.packet = text();
        });
        if is_told && self.told.len() <= if self.is_one_of_many { 1 } else { WITH_SURROUNDINGS } {
            let at = self.told.len() - 1;
            self.told[at].around = recent.lines();
            self.open.push((at, BEHIND));
        }
    }

    /// A rule was broken by a frame that belongs to no connection.
    pub(super) fn add_loose(&mut self, number: u64, time_ns: u64, breach: Breach) {
        self.tell(number, time_ns, breach, false, |_| {});
    }

    /// Counts a breach, and tells it when there is room.
    fn tell(
        &mut self,
        number: u64,
        time_ns: u64,
        breach: Breach,
        is_whole: bool,
        complete: impl FnOnce(&mut Finding),
    ) -> bool {
        let unless = if is_whole { None } else { doubt::unless(&breach) };
        let level = if unless.is_some() { breach.level.min(Level::Should) } else { breach.level };
        let is_told = self.count(breach.rule, level);
        if is_told {
            let harmless = doubt::is_harmless(&breach);
            let mut finding = Finding {
                rule: breach.rule.to_owned(),
                level,
                frame: number,
                time_ns,
                from: 0,
                packet: String::new(),
                expected: breach.expected,
                seen: breach.seen,
                why: breach.why.to_owned(),
                harmless,
                unless: unless.map(str::to_owned),
                around: Vec::new(),
            };
            complete(&mut finding);
            self.told.push(finding);
        }
        is_told
    }

    /// Counts a breach. True when it is to be told, too: a few of each rule are, so that one rule cannot hide another.
    fn count(&mut self, rule: &str, level: Level) -> bool {
        let of_rule = match self.counts.iter_mut().find(|count| count.rule == rule && count.level == level) {
            Some(count) => {
                count.count += 1;
                count.count
            }
            None => {
                self.counts.push(RuleCount { rule: rule.to_owned(), level, count: 1 });
                1
            }
        };
        if self.is_one_of_many {
            return self.told.len() < TOLD_OF_MANY && of_rule == 1;
        }
        self.told.len() < TOLD && of_rule <= TOLD as u64 / 4
    }

    /// Another packet of the connection, which may belong to the surroundings of a finding.
    pub(super) fn goes_on(&mut self, recent: &Recent) {
        if self.open.is_empty() {
            return;
        }
        let Some(line) = recent.last() else { return };
        for (at, left) in &mut self.open {
            self.told[*at].around.push(line.clone());
            *left -= 1;
        }
        self.open.retain(|(_, left)| *left > 0);
    }

    /// Takes over what was found and held back.
    pub(super) fn merge(&mut self, other: Collected) {
        for count in other.counts {
            match self.counts.iter_mut().find(|known| (&known.rule, known.level) == (&count.rule, count.level)) {
                Some(known) => known.count += count.count,
                None => self.counts.push(count),
            }
        }
        self.told.extend(other.told);
        self.told.sort_by_key(|finding| finding.frame);
        self.told.truncate(TOLD);
    }

    /// All of it. `gaps`: packets are missing, lost or not captured; `missing`: some were certainly not captured. What they
    /// explain is left out.
    pub(super) fn finish(mut self, gaps: bool, missing: bool) -> Findings {
        let is_explained = |rule: &str, level: Level| {
            level < Level::Must && (gaps && doubt::is_of_gaps(rule) || missing && doubt::is_of_missing(rule))
        };
        self.told.retain(|finding| !is_explained(&finding.rule, finding.level));
        self.counts.retain(|count| !is_explained(&count.rule, count.level));
        self.told.sort_by_key(|finding| (finding.harmless, finding.frame));
        Findings { first: self.told, counts: self.counts }
    }
}
