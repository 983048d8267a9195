//! Faults of chosen packets: by who sends them, what they are and how often they were sent.

use std::collections::BTreeMap;

use rocespec_codec::notation::Head;
use rocespec_codec::{Frame, Info, Psn, decode};

use super::End;
use super::fate::{Fate, Fates};

/// Which packets are meant. What is left out is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    /// Who sends it.
    pub from: Option<End>,
    /// What it is: one of these. Empty: anything.
    pub heads: Vec<Head>,
    /// Its number, as on the wire: the first that is meant, and how many.
    pub psns: Option<(Psn, u32)>,
    /// The how manieth packet of its PSN that its sender sends, from 1: 2 is the first retransmission. Requests and
    /// responses are counted apart.
    pub round: Option<u32>,
}

/// What a frame is to a selector.
struct Sight<'f> {
    from: End,
    frame: Option<Frame<'f>>,
    /// `None`: no RoCE packet.
    round: Option<u32>,
}

impl Selector {
    fn fits(&self, sight: &Sight<'_>) -> bool {
        if self.from.is_some_and(|wanted| wanted != sight.from) {
            return false;
        }
        let Some(Frame::Roce(packet)) = &sight.frame else {
            return self.heads.is_empty() && self.psns.is_none() && self.round.is_none();
        };
        (self.heads.is_empty() || self.heads.iter().any(|head| head.fits(packet)))
            && self.psns.is_none_or(|(first, count)| packet.bth.psn.is_within(first, count))
            && self.round.is_none_or(|round| sight.round == Some(round))
    }
}

/// Which packets, and what happens to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which packets.
    pub selector: Selector,
    /// How many of them at most. `None`: all.
    pub count: Option<u32>,
    /// What happens to them.
    pub fate: Fate,
}

/// Faults of chosen packets. Of several rules that fit, the first decides; where none fits, the packet arrives.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Each with how many packets it has decided on.
    rules: Vec<(Rule, u32)>,
    /// How often each packet was sent: by its sender, whether it is a response, and its PSN.
    sent: BTreeMap<(End, bool, u32), u32>,
}

impl Script {
    /// From its rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Script {
        let mut script = Script::default();
        rules.into_iter().for_each(|rule| script.add(rule));
        script
    }

    /// One more rule, behind the others. Rounds count from the first packet on, also from before.
    pub fn add(&mut self, rule: Rule) {
        self.rules.push((rule, 0));
    }

    /// The number of the first rule that has met no packet, in the order in which they were added.
    pub fn unused(&self) -> Option<usize> {
        self.rules.iter().position(|(_, decided)| *decided == 0)
    }

    fn see<'f>(&mut self, from: End, frame: &'f [u8]) -> Sight<'f> {
        let frame = decode(frame).ok();
        let round = match &frame {
            Some(Frame::Roce(packet)) => {
                let is_response = packet.bth.opcode.info().is_some_and(Info::is_response);
                let sent = self.sent.entry((from, is_response, packet.bth.psn.get())).or_default();
                *sent = sent.saturating_add(1);
                Some(*sent)
            }
            _ => None,
        };
        Sight { from, frame, round }
    }
}

impl Fates for Script {
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate {
        let sight = self.see(from, frame);
        let fits = |(rule, decided): &&mut (Rule, u32)| {
            rule.count.is_none_or(|count| *decided < count) && rule.selector.fits(&sight)
        };
        match self.rules.iter_mut().find(fits) {
            Some((rule, decided)) => {
                *decided = decided.saturating_add(1);
                rule.fate
            }
            None => Fate::default(),
        }
    }
}
