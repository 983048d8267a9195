//! Faults of chosen packets: by who sends them, what they are and how often they were seen.

use rocespec_codec::{Frame, Opcode, Psn, decode};

use super::End;
use super::fate::{Fate, Fates};

/// Which packets are meant. What is left out is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selector {
    /// Who sends it.
    pub from: Option<End>,
    /// What it is.
    pub opcode: Option<Opcode>,
    /// Its number, as on the wire.
    pub psn: Option<Psn>,
    /// The how manieth such packet, from 1: with a PSN, 2 is the first retransmission. Left out: every one.
    pub round: Option<u32>,
}

impl Selector {
    /// True when everything but the round fits.
    fn fits(&self, from: End, frame: &[u8]) -> bool {
        if self.from.is_some_and(|wanted| wanted != from) {
            return false;
        }
        if self.opcode.is_none() && self.psn.is_none() {
            return true;
        }
        let Ok(Frame::Roce(packet)) = decode(frame) else { return false };
        self.opcode.is_none_or(|opcode| opcode == packet.bth.opcode) && self.psn.is_none_or(|psn| psn == packet.bth.psn)
    }
}

/// Which packets, and what happens to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Which packets.
    pub selector: Selector,
    /// What happens to them.
    pub fate: Fate,
}

/// Faults of chosen packets. Of several rules that fit, the first decides; where none fits, the packet arrives.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Each with how many packets have fitted it.
    rules: Vec<(Rule, u32)>,
}

impl Script {
    /// From its rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Script {
        let mut script = Script::default();
        rules.into_iter().for_each(|rule| script.add(rule));
        script
    }

    /// One more rule, behind the others. It counts rounds from now on.
    pub fn add(&mut self, rule: Rule) {
        self.rules.push((rule, 0));
    }
}

impl Fates for Script {
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate {
        let mut decided = None;
        // Every rule counts, also behind the one that decides.
        for (rule, seen) in &mut self.rules {
            if rule.selector.fits(from, frame) {
                *seen = seen.saturating_add(1);
                if rule.selector.round.is_none_or(|round| round == *seen) {
                    decided.get_or_insert(rule.fate);
                }
            }
        }
        decided.unwrap_or_default()
    }
}
