//! The MSN: how many messages a responder says to have executed, and how many they can be.

use std::collections::VecDeque;

use rocespec_codec::{Msn, Psn};
use rocespec_reports::outcome::Level;

use super::must;
use crate::oracle::Breach;

/// Most messages that wait for their acknowledgement and are remembered.
const LIMIT: usize = 256;

/// Bounds of the MSN. What it was before the first packet may be unknown; each MSN then narrows it down.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    /// Packets received that may have ended a message: no responder has counted more messages.
    came: u64,
    /// Messages that are acknowledged: no responder has counted fewer.
    executed: u64,
    /// PSNs at which those end that wait for their acknowledgement.
    ends: VecDeque<Psn>,
    /// Messages that the responder has said to have counted; `None` when it has said nothing.
    said: Option<i64>,
    /// What the MSN was before the first packet: the least and the most that fit all that was said.
    base: Option<(i64, i64)>,
}

impl Counted {
    /// `is_new`: the queue pair has received nothing yet, so that its MSN is 0.
    pub(super) fn new(is_new: bool) -> Counted {
        let base = is_new.then_some((0, 0));
        Counted { came: 0, executed: 0, ends: VecDeque::new(), said: base.map(|_| 0), base }
    }

    /// A request has come that may be executed.
    pub(super) fn came(&mut self, ends_message: bool) {
        self.came += u64::from(ends_message);
    }

    /// So many requests may have come.
    pub(super) fn may_have_come(&mut self, requests: u32) {
        self.came += u64::from(requests);
    }

    /// The last PSN of a new message has come.
    pub(super) fn ends(&mut self, psn: Psn) {
        if self.ends.len() == LIMIT {
            // Never counted, so that the bound stays below the truth.
            self.ends.pop_front();
        }
        self.ends.push_back(psn);
    }

    /// Another packet has come with this PSN, and it ends nothing: what came before was not taken.
    pub(super) fn ends_elsewhere(&mut self, psn: Psn) {
        self.ends.retain(|end| *end != psn);
    }

    /// All messages up to this PSN are acknowledged.
    pub(super) fn executed_to(&mut self, psn: Psn) {
        while self.ends.front().is_some_and(|end| end.since(psn) <= 0) {
            self.ends.pop_front();
            self.executed += 1;
        }
    }

    /// The responder says an MSN; `at_least`: all that is acknowledged has to be counted in it; `at_most`: how
    /// certain it is that no more came than was seen. `outstanding`: requests that may be executed later, seen or not.
    pub(super) fn judge(
        &mut self,
        msn: Msn,
        at_least: bool,
        at_most: Option<Level>,
        outstanding: u32,
    ) -> Option<Breach> {
        let said = self.said.unwrap_or(i64::from(msn.get()));
        let total = said + i64::from(msn.since(Msn::new(said as u32)));
        let (mut came, executed) = (self.came as i64, self.executed as i64);
        let (least, most) = self.base.unwrap_or((total - came, total - executed));
        let seen = || format!("msn={msn}");
        if total > most + came {
            if let Some(level) = at_most {
                let why = "the MSN counts messages that are complete, and no more were received";
                let expected = format!("msn={} or less", Msn::new((most + came) as u32));
                return Some(Breach { level, ..must("rc.responder.msn", expected, seen(), why) });
            }
            // Nor do these become too many later.
            self.came += (total - most - came) as u64;
            came = self.came as i64;
        }
        if at_least && total < least + executed {
            let why = "the MSN counts every message that is complete, and this acknowledges more of them";
            let expected = format!("msn={} or more", Msn::new((least + executed) as u32));
            return Some(must("rc.responder.msn", expected, seen(), why));
        }
        self.said = Some(said.max(total));
        if self.base.is_none() {
            // Some may have been sent before the first that was seen.
            self.came += u64::from(outstanding);
        }
        let most = if at_least { most.min(total - executed) } else { most };
        self.base = Some((least.max(total - came), most.max(least)));
        None
    }
}
