//! The golden diff of a case.

use crate::outcome::{Case, Difference, Golden, Run};

/// Most differences that are shown.
const SHOWN: usize = 200;

/// How a case differs from its golden trace.
pub(super) struct Diff<'r> {
    pub(super) name: &'r str,
    pub(super) packets: Vec<Packet<'r>>,
    /// Differences that are not shown.
    pub(super) left_out: usize,
}

/// A packet on both sides, or a step, and what differs.
pub(super) struct Packet<'r> {
    pub(super) line: Option<u32>,
    pub(super) frame: Option<u32>,
    /// Empty where a side has none.
    pub(super) golden: &'r str,
    pub(super) seen: &'r str,
    pub(super) differences: Vec<Decided<'r>>,
}

/// A difference and who decides.
pub(super) struct Decided<'r> {
    pub(super) difference: &'r Difference,
    pub(super) rule: Option<&'r str>,
    /// The report describes the rule.
    pub(super) is_described: bool,
}

impl<'r> Diff<'r> {
    /// `None` for a case that was not compared.
    pub(super) fn of(run: &'r Run, case: &'r Case) -> Option<Diff<'r>> {
        let Golden { name, differences } = case.golden.as_ref()?;
        let mut packets: Vec<Packet<'r>> = Vec::new();
        for difference in differences.iter().take(SHOWN) {
            let rule = difference.rule.as_deref();
            let is_described = rule.is_some_and(|rule| run.rule(rule).is_some());
            let decided = Decided { difference, rule, is_described };
            match packets.last_mut().filter(|packet| packet.has(difference)) {
                Some(packet) => packet.differences.push(decided),
                None => packets.push(Packet::new(decided)),
            }
        }
        Some(Diff { name, packets, left_out: differences.len().saturating_sub(SHOWN) })
    }
}

impl<'r> Packet<'r> {
    fn new(decided: Decided<'r>) -> Packet<'r> {
        let Difference { line, frame, golden_packet, seen_packet, .. } = decided.difference;
        Packet { line: *line, frame: *frame, golden: golden_packet, seen: seen_packet, differences: vec![decided] }
    }

    fn has(&self, difference: &Difference) -> bool {
        self.line == difference.line
            && self.frame == difference.frame
            && self.golden == difference.golden_packet
            && self.seen == difference.seen_packet
    }
}
