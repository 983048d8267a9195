//! Responses that wait for their time to leave.

use alloc::collections::VecDeque;

use rocespec_codec::{Msn, Psn, Syndrome, SyndromeClass};

use super::respond::ReadStream;
use crate::context::Context;
use crate::defect::Defect;
use crate::schedule::Turn;

/// Most responses that may wait on one queue pair; requests beyond are lost, as on a full receive ring.
const LIMIT: usize = 1024;

/// Responses in the order in which they leave.
#[derive(Debug, Default)]
pub(crate) struct Outbox(VecDeque<Entry>);

#[derive(Debug, Clone, Copy)]
struct Entry {
    turn: Turn,
    response: Response,
    /// It answers a duplicate.
    is_repeated: bool,
}

/// A response; a READ's is taken apart into packets only when they leave.
#[derive(Debug, Clone, Copy)]
pub(super) enum Response {
    /// ACK, NAK or RNR NAK.
    Acknowledge {
        psn: Psn,
        syndrome: Syndrome,
        msn: Msn,
        /// How many acknowledgements it stands for.
        covers: u32,
    },
    /// Result of an ATOMIC.
    Atomic { psn: Psn, msn: Msn, original: u64 },
    /// What is left of a READ.
    Read(ReadStream),
}

impl Outbox {
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= LIMIT
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// When the first one leaves.
    pub(crate) fn front(&self) -> Option<Turn> {
        self.0.front().map(|entry| entry.turn)
    }

    /// True when the first one is a READ's, whose packets the rate of the queue pair holds back.
    pub(crate) fn brings_data(&self) -> bool {
        self.0.front().is_some_and(|entry| matches!(entry.response, Response::Read(_)))
    }

    /// READs and ATOMICs that are not answered yet. Duplicates are not among them: the network may have made them.
    pub(super) fn reads(&self) -> usize {
        let counts = |entry: &&Entry| !entry.is_repeated && !matches!(entry.response, Response::Acknowledge { .. });
        self.0.iter().filter(counts).count()
    }

    /// The response to a request that is executed now.
    pub(super) fn push(&mut self, response: Response, cx: &mut Context<'_>) {
        self.push_entry(response, false, cx);
    }

    /// True when the first one answers a request that was answered before.
    pub(super) fn front_is_repeated(&self) -> bool {
        self.0.front().is_some_and(|entry| entry.is_repeated)
    }

    /// The response to a duplicate.
    pub(super) fn push_again(&mut self, response: Response, cx: &mut Context<'_>) {
        self.push_entry(response, true, cx);
    }

    /// rule: rc.responder.response-order
    fn push_entry(&mut self, response: Response, is_repeated: bool, cx: &mut Context<'_>) {
        let entry = Entry { turn: cx.turn_at(cx.due), response, is_repeated };
        if cx.has(Defect::AcksBeforeResponses) && matches!(response, Response::Acknowledge { .. }) {
            self.0.push_front(entry);
        } else {
            self.0.push_back(entry);
        }
    }

    /// Lets the ACK that waits at the end stand for this one too, where the policy allows.
    pub(super) fn merge_ack(&mut self, ack_psn: Psn, ack_syndrome: Syndrome, ack_msn: Msn, cx: &Context<'_>) -> bool {
        let Some(Entry { response: Response::Acknowledge { psn, syndrome, msn, covers }, .. }) = self.0.back_mut()
        else {
            return false;
        };
        let both_acks = matches!(syndrome.class(), SyndromeClass::Ack(_));
        if !both_acks || *covers >= cx.policy.coalesce || ack_psn.since(*psn) < 0 {
            return false;
        }
        *covers += 1;
        (*psn, *syndrome, *msn) = (ack_psn, ack_syndrome, ack_msn);
        true
    }

    pub(super) fn front_response(&mut self) -> Option<&mut Response> {
        self.0.front_mut().map(|entry| &mut entry.response)
    }

    pub(super) fn pop(&mut self) {
        self.0.pop_front();
    }
}
