//! A script in the making: steps, what belongs to each, and what a device has to be and to do for them.

use std::collections::BTreeSet;
use std::time::Duration;

use rocespec_codec::Transport;

use super::play::Answers;
use crate::scenario::Network;

/// A script in the making.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) transport: Transport,
    pub(super) network: Network,
    pub(super) setup: Setup,
    /// Steps that prepare the memory.
    pub(super) memory: Vec<String>,
    pub(super) lines: Vec<Line>,
    /// What the device must have seen in the end: the completions of its software.
    pub(super) completions: Option<String>,
    /// What is not as it was in the capture.
    pub(super) remarks: BTreeSet<String>,
    /// Rules that the captured device broke, in the order of its packets, and how often.
    pub(super) rules: Vec<(&'static str, u64)>,
    /// Rules on headers alone that it broke: every run holds them against each packet, whatever the script says.
    pub(super) headers: BTreeSet<&'static str>,
    /// First and last frame that is played.
    pub(super) frames: [u64; 2],
    /// Kinds of requests.
    pub(super) has: Has,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) start_psn: u32,
    pub(super) mtu: u32,
    pub(super) min_rnr_timer: Option<u8>,
    pub(super) max_rd_atomic: Option<usize>,
}

/// What a device has to be able to do.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Has {
    pub(super) atomic: bool,
    pub(super) flush: bool,
    pub(super) atomic_write: bool,
    pub(super) posts: bool,
    pub(super) posts_atomic_write: bool,
}

/// A step, and what belongs to it.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// `> …` or `dut …`.
    pub(super) step: String,
    /// Comments that stand in front of it.
    pub(super) before: Vec<String>,
    /// How long the device may take to answer, where that is longer than usual.
    pub(super) patience: Option<Duration>,
    /// What the device must send, in the notation.
    pub(super) answers: Vec<String>,
    /// What the captured device did wrong here.
    pub(super) faults: Vec<Fault>,
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: &'static str,
    pub(super) text: String,
}

/// Most comments about one rule: who is wrong in every packet is wrong once.
pub(super) const MOST_OF_A_RULE: u64 = 8;

impl Script {
    /// Puts in what the reference model answers.
    pub(super) fn take(&mut self, answers: Answers) {
        for (line, packets) in self.lines.iter_mut().zip(answers.packets) {
            line.answers = packets;
        }
        self.completions = answers.completions;
    }

    /// Nothing in it can fail.
    pub(super) fn expects_nothing(&self) -> bool {
        self.completions.is_none() && self.lines.iter().all(|line| line.answers.is_empty())
    }
}
