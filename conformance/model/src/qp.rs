//! A queue pair: its state, its attributes, its queues.

use alloc::collections::VecDeque;

use rocespec_codec::{Ethernet, Info, Mtu, PKey, QKey, Qpn, RnrTimer, Roce, Transport};

use crate::congestion::Pacer;
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::pause::ClassBy;
use crate::receives::Receive;
use crate::requester::{self, Requester};
use crate::responder::{self, Responder};
use crate::schedule::{Place, Turn};
use crate::time::Time;
use crate::transition;
use crate::verbs::{Access, Completion, QpAttributes, QpHandle, QpInit, QpKind, QpState, SrqHandle, Status};

/// A queue pair.
#[derive(Debug)]
pub(crate) struct Qp {
    pub(crate) handle: QpHandle,
    pub(crate) qpn: Qpn,
    pub(crate) kind: QpKind,
    pub(crate) init: QpInit,
    /// The entry of the P_Key table that its attributes name.
    pub(crate) pkey: PKey,
    /// Bytes of the longest packet, where no path MTU was agreed.
    port_mtu: Mtu,
    pub(crate) state: QpState,
    /// What was set so far; `state` in it is unused.
    pub(crate) attributes: QpAttributes,
    pub(crate) receives: VecDeque<Receive>,
    /// Where it takes receives from instead: of an XRC target what its last request named.
    pub(crate) srq: Option<SrqHandle>,
    pub(crate) completions: VecDeque<Completion>,
    pub(crate) responder: Responder,
    pub(crate) requester: Requester,
    /// Link header of the last request that was let in: where responses go when the peer is no known neighbour, and
    /// the VLAN tags that they carry.
    pub(crate) last_link: Option<Ethernet>,
    pub(crate) frames_sent: u64,
    pub(crate) pacer: Pacer,
    /// Where it stands in the endpoint's schedule.
    pub(crate) place: Place,
}

impl Qp {
    pub(crate) fn new(handle: QpHandle, qpn: Qpn, init: QpInit, port_mtu: Mtu) -> Qp {
        Qp {
            handle,
            qpn,
            kind: init.kind,
            init,
            pkey: PKey::DEFAULT,
            port_mtu,
            state: QpState::Reset,
            attributes: initial_attributes(),
            receives: VecDeque::new(),
            srq: init.srq,
            completions: VecDeque::new(),
            responder: Responder::default(),
            requester: Requester::default(),
            last_link: None,
            frames_sent: 0,
            pacer: Pacer::default(),
            place: Place::default(),
        }
    }

    /// Back to how it was made.
    pub(crate) fn reset(&mut self) {
        let place = self.place;
        *self = Qp { place, ..Qp::new(self.handle, self.qpn, self.init, self.port_mtu) };
    }

    /// Takes a packet that was let in.
    pub(crate) fn receive(&mut self, packet: &Roce<'_>, cx: &mut Context<'_>) {
        self.last_link = Some(packet.eth.clone());
        if packet.bth.opcode.transport() == Transport::Cnp {
            // rule: bth.responder.cnp-silent
            self.pacer.cnp(packet, self.responder.expected, cx);
            if cx.has(Defect::NaksCnp) {
                responder::refuse_as_request(self, packet, cx);
            }
            return;
        }
        let is_response = self.kind.is_reliable() && packet.bth.opcode.info().is_some_and(Info::is_response);
        match self.kind {
            QpKind::XrcTarget if is_response => cx.count(Counter::DropUnexpectedResponse),
            QpKind::XrcInitiator if !is_response => cx.count(Counter::DropUnexpectedRequest),
            _ if is_response => requester::receive(self, packet, cx),
            _ => responder::receive(self, packet, cx),
        }
    }

    /// The next packet, whose turn has come; `None` when there is nothing to send after all.
    pub(crate) fn next_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        self.pacer.settle(cx);
        let (response, request) = (self.response_turn(), self.request_turn());
        if response.into_iter().chain(request).min()?.due > cx.now {
            return None;
        }
        let is_response = response.is_some_and(|turn| request.is_none_or(|request| turn < request));
        let packet = if is_response { responder::next_packet(self, cx) } else { requester::next_packet(self, cx) };
        self.frames_sent += u64::from(packet.is_some());
        packet
    }

    /// When it wants to send next.
    pub(crate) fn next_turn(&self) -> Option<Turn> {
        self.response_turn().into_iter().chain(self.request_turn()).min()
    }

    fn request_turn(&self) -> Option<Turn> {
        self.requester.turn().map(|turn| self.pacer.hold_request(turn))
    }

    fn response_turn(&self) -> Option<Turn> {
        let turn = self.responder.outbox.front()?;
        Some(if self.responder.outbox.brings_data() { self.pacer.hold_response(turn) } else { turn })
    }

    /// When the first of its timers runs out.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        self.requester.next_alarm()
    }

    /// A timer has run out.
    pub(crate) fn on_alarm(&mut self, cx: &mut Context<'_>) {
        requester::on_alarm(self, cx);
    }

    /// Looks what can be sent now, after anything has changed.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>) {
        requester::settle(self, cx);
        self.pacer.settle(cx);
    }

    /// Moves to a state that [`transition::check`] allowed.
    pub(crate) fn modify(&mut self, to: QpState, attributes: &QpAttributes, cx: &mut Context<'_>) {
        transition::apply(&mut self.attributes, attributes);
        if let Some(pkey) = attributes.pkey_index.and_then(|index| cx.pkeys.get(usize::from(index))) {
            self.pkey = *pkey;
        }
        match (self.state, to) {
            (_, QpState::Reset) => self.reset(),
            (_, QpState::Error) => self.fall_silent(cx),
            (QpState::Init, QpState::Rtr) => {
                self.responder.expected = self.attributes.rq_psn.unwrap_or_default();
            }
            (QpState::Rtr, QpState::Rts) => requester::start(self, cx),
            (QpState::Rts, QpState::Sqd) => requester::stop(self),
            (QpState::Sqd, QpState::Rts) => requester::go_on(self),
            _ => {}
        }
        self.state = to;
    }

    /// Goes to ERROR and says nothing more. Its requests are flushed by [`Qp::settle`].
    pub(crate) fn fall_silent(&mut self, cx: &mut Context<'_>) {
        self.responder.outbox.clear();
        self.abandon_message(Status::FlushError, cx);
        if self.state != QpState::Error {
            self.state = QpState::Error;
            self.flush_receives(cx);
        }
    }

    /// Traffic class of what it sends next.
    pub(crate) fn class(&self, class_by: ClassBy) -> u8 {
        let is_tagged = self.last_link.as_ref().is_some_and(|link| !link.tags.is_empty());
        let (traffic_class, service_level) = match self.requester.next_destination() {
            Some(datagram) if self.kind == QpKind::Ud => (datagram.traffic_class, datagram.service_level),
            _ => (self.attributes.traffic_class.unwrap_or(0), self.attributes.service_level.unwrap_or(0)),
        };
        class_by.class_of(traffic_class, is_tagged.then_some(service_level))
    }

    /// True when requests from the peer are taken.
    pub(crate) fn can_receive(&self) -> bool {
        matches!(self.state, QpState::Rtr | QpState::Rts | QpState::Sqd | QpState::Sqe)
    }

    /// Path MTU in bytes; for datagrams that of the port.
    pub(crate) fn mtu(&self) -> usize {
        self.attributes.path_mtu.unwrap_or(self.port_mtu).bytes()
    }

    pub(crate) fn peer_qpn(&self) -> Qpn {
        self.attributes.dest_qpn.unwrap_or_default()
    }

    pub(crate) fn gid_index(&self) -> usize {
        usize::from(self.attributes.gid_index.unwrap_or(0))
    }

    pub(crate) fn qkey(&self) -> QKey {
        self.attributes.qkey.unwrap_or_default()
    }

    pub(crate) fn access(&self) -> Access {
        self.attributes.access.unwrap_or_default()
    }

    pub(crate) fn rnr_timer(&self) -> RnrTimer {
        self.attributes.min_rnr_timer.unwrap_or_default()
    }

    pub(crate) fn max_dest_rd_atomic(&self) -> usize {
        usize::from(self.attributes.max_dest_rd_atomic.unwrap_or(0))
    }
}

fn initial_attributes() -> QpAttributes {
    QpAttributes {
        gid_index: Some(0),
        traffic_class: Some(0),
        hop_limit: Some(64),
        flow_label: Some(0),
        service_level: Some(0),
        ..QpAttributes::default()
    }
}
