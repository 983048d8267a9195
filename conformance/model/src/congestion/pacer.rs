//! The part of a queue pair that holds its packets back.

use alloc::boxed::Box;

use rocespec_codec::{Psn, Roce};

use super::ReactionPoint;
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::requester::is_read_response;
use crate::schedule::Turn;
use crate::time::Time;

/// What a queue pair knows of congestion.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// Made by the first CNP.
    reaction: Option<Box<ReactionPoint>>,
    /// When the next request may leave.
    request: Time,
    /// When the next response of a READ may leave.
    response: Time,
    /// When a CNP last left for its packets.
    pub(crate) last_cnp: Option<Time>,
}

impl Pacer {
    /// A CNP came for the queue pair.
    pub(crate) fn cnp(&mut self, packet: &Roce<'_>, expected: Psn, cx: &mut Context<'_>) {
        cx.count(Counter::CnpReceived);
        // rule: congestion.reaction_point.any-psn
        if packet.bth.psn != expected && cx.has(Defect::ChecksCnpPsn) {
            return;
        }
        // rule: congestion.reaction_point.reserved-ignored
        if packet.payload.iter().any(|byte| *byte != 0) && cx.has(Defect::ChecksCnpBody) {
            return;
        }
        self.slow_down(cx);
    }

    /// Does what a CNP asks for.
    ///
    /// rule: congestion.reaction_point.cut
    pub(crate) fn slow_down(&mut self, cx: &Context<'_>) {
        let Some(config) = &cx.congestion.reaction else { return };
        if cx.has(Defect::IgnoresCnp) {
            return;
        }
        let make = || Box::new(ReactionPoint::new(config, cx.link).with_defects(cx.defects));
        self.reaction.get_or_insert_with(make).cnp(cx.now);
    }

    /// Looks when the next packet may leave.
    pub(crate) fn settle(&mut self, cx: &Context<'_>) {
        if let Some(reaction) = &mut self.reaction {
            // A packet may go when there is no debt; what it costs is owed by the next.
            self.request = reaction.may_send_at(cx.now, 0);
            self.response = if cx.has(Defect::DoesNotLimitReads) { Time::ZERO } else { self.request };
        }
    }

    /// When the turn of a request comes.
    pub(crate) fn hold_request(&self, turn: Turn) -> Turn {
        Turn { due: turn.due.max(self.request), ..turn }
    }

    /// When the turn of a READ's response comes.
    pub(crate) fn hold_response(&self, turn: Turn) -> Turn {
        Turn { due: turn.due.max(self.response), ..turn }
    }

    /// True when what is sent has to be told to [`Pacer::sent`].
    pub(crate) fn counts(&self, packet: &Packet) -> bool {
        self.reaction.is_some() && (is_request(packet) || is_read_response(packet.opcode.operation()))
    }

    /// A packet leaves in a frame of so many bytes.
    pub(crate) fn sent(&mut self, now: Time, bytes: usize) {
        if let Some(reaction) = &mut self.reaction {
            reaction.sent(now, bytes as u32);
        }
    }
}

fn is_request(packet: &Packet) -> bool {
    packet.opcode.info().is_some_and(rocespec_codec::Info::is_request)
}
