//! What one side did in one case.

use serde::Serialize;

use super::packet::Packet;

/// What a device did under a sequence of stimuli, cut where the script looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// In the order of the script.
    pub exchanges: Vec<Exchange>,
}

/// What was sent, and what the device sent and showed until the script went on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// Line of the scenario file, of the last step that belongs to it; 0 at the end of the case.
    pub line: u32,
    /// What the tester sent, and what the device's software was told to send.
    pub sent: Vec<Packet>,
    /// What the script says to what was sent last: its comment.
    pub remark: String,
    /// What the device sent, in order.
    pub seen: Vec<Packet>,
    /// What the device's software said afterwards.
    pub facts: Vec<Fact>,
}

impl Exchange {
    /// The answer to a question.
    pub fn fact(&self, subject: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.subject == subject)
    }
}

/// Something that the device's software said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What was asked: `completion send 0`, `qp`, `memory mr+0x40`.
    pub subject: String,
    /// The answer.
    pub value: String,
}
