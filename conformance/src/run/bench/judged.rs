//! A peer that is a device under test as well: what it sends is judged like what the device sends.

use std::time::Duration;

use rocespec_codec::{Frame, decode};
use rocespec_control::{Command, QpState, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::Actor;

use super::traffic::Traffic;
use super::{Bench, Stop, universal};
use crate::link::{End, Link};
use crate::oracle::{self, Oracle};
use crate::run::connection::unexpected;
use crate::scenario::{Action, PEER, Setup, Step, Verb};

/// A peer that is under test as well.
pub(super) struct Judged {
    oracle: Oracle,
    /// The devices in findings, by their ends.
    names: [String; 2],
}

impl Traffic<'_> {
    /// The same with a peer that is a device under test, over this link. `names` are those of the two in findings.
    pub(in crate::run) fn judged(mut self, setup: &Setup, names: [String; 2], skew: Duration, link: Link) -> Self {
        let oracle = universal::oracle(self.peer, &setup.of_peer(), &self.connection, skew);
        self.judged = Some(Judged { oracle, names });
        self.link = link;
        self
    }

    /// Tells what judges the peer of a frame that has come to it.
    pub(super) fn tell_judge(&mut self, frame: &[u8]) {
        if let (Some(judged), Ok(Frame::Roce(packet))) = (&mut self.judged, decode(frame))
            && packet.bth.dest_qp == self.connection.device_qpn()
        {
            judged.oracle.received(self.peer.now(), &packet);
        }
    }
}

impl Bench<'_> {
    /// How a finding calls the device at this end, where there are two.
    pub(super) fn name_of(&self, end: End) -> Option<String> {
        let judged = self.traffic.as_ref()?.judged.as_ref()?;
        Some(judged.names[end as usize].clone())
    }

    /// Records what a peer that is under test has sent, and judges it.
    pub(super) fn judge_peer(&mut self, time: Time, bytes: &[u8]) {
        if self.traffic.as_ref().is_none_or(|traffic| traffic.judged.is_none()) {
            return;
        }
        let text = self.show_to_device(bytes);
        let Some(traffic) = &mut self.traffic else { return };
        let Some(judged) = &mut traffic.judged else { return };
        let own = traffic.connection.tester_qpn;
        let breaches = match decode(bytes) {
            // Late words of a connection that is gone.
            Ok(Frame::Roce(packet)) if self.past.contains(&packet.bth.dest_qp) && packet.bth.dest_qp != own => {
                Vec::new()
            }
            Ok(Frame::Roce(packet)) => judged.oracle.sent(time, &packet),
            Ok(_) => Vec::new(),
            Err(error) if error.layer.is_around_roce() => Vec::new(),
            Err(error) => vec![oracle::undecodable(&error)],
        };
        let number = self.recorder.frame(time, Actor::Tester, bytes, text.clone(), None);
        for breach in breaches {
            self.breach(breach, PEER, time, number, &text);
        }
    }

    /// The queue pair of the software whose turn it is has not come into ERROR, unless the script says so.
    pub(super) fn ends_in_error(&mut self, expected: &str) -> Result<(), Stop> {
        let state = match self.order(&Command::QueryQp { qp: self.qp() })? {
            Reply::QpAttributes(attributes) => attributes.state,
            other => return Err(unexpected("query_qp", &other).into()),
        };
        let is_peer = self.speaker == PEER;
        let wants_error = |step: &Step| match &step.action {
            Action::Peer(Verb::CheckState(QpState::Error)) => is_peer,
            Action::Dut(Verb::CheckState(QpState::Error)) => !is_peer,
            _ => false,
        };
        if state == Some(QpState::Error) && !self.scenario.steps.iter().any(wants_error) {
            return Err(self.found(None, None, expected.to_owned(), "its queue pair in ERROR".to_owned(), ""));
        }
        Ok(())
    }
}
