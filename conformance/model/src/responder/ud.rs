//! UD: datagrams from anywhere, each a message of its own.
//!
//! Nothing is answered and no PSN is looked at. A datagram that cannot be taken is dropped and costs nothing else.

use rocespec_codec::{NakCode, Net, Roce};

use super::request::Request;
use super::{acknowledge, length, refuse, send};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::policy::LongDatagram;
use crate::qp::Qp;
use crate::receives::{Delivery, Receive};
use crate::verbs::{CompletionKind, Status};

/// Bytes in front of the payload in every buffer: room for a GRH (A17.4.5.2).
const GRH_AREA: u32 = 40;

pub(super) fn receive(qp: &mut Qp, packet: &Roce<'_>, cx: &mut Context<'_>) {
    let Some(request) = Request::of(packet, cx.capabilities) else { return cx.count(Counter::DropMessage) };
    // rule: ud.responder.qkey
    if packet.ext.deth.qkey != qp.qkey() && !cx.has(Defect::UdIgnoresQkey) {
        return cx.count(Counter::QkeyViolations);
    }
    // rule: ud.responder.length
    if length::check_packet(&request, qp.mtu(), cx).is_err() || is_left_out(qp, packet, cx) {
        return cx.count(Counter::DropMessage);
    }
    // rule: ud.responder.not-ready
    let Some(receive) = qp.next_receive(cx) else {
        if cx.has(Defect::UdAnswersNotReady) {
            acknowledge::rnr_nak(qp, packet.bth.psn, cx);
        }
        return cx.count(Counter::DropNotReady);
    };
    deliver(qp, &request, receive, cx);
    // rule: ud.responder.silent
    if cx.has(Defect::UdAcknowledges) {
        acknowledge::acknowledge(qp, packet.bth.psn, cx);
    } else if cx.has(Defect::UdNaksGap) && packet.bth.psn != qp.responder.expected {
        acknowledge::nak(qp, qp.responder.expected, NakCode::PsnSequenceError, cx);
    }
    qp.responder.expected = packet.bth.psn.next();
}

/// What only defects drop: datagrams from another sender or with another PSN than expected.
///
/// rule: ud.responder.any-source, ud.responder.any-psn
fn is_left_out(qp: &mut Qp, packet: &Roce<'_>, cx: &Context<'_>) -> bool {
    let source = packet.ext.deth.src_qp;
    cx.has(Defect::UdKeepsToOneSource) && *qp.attributes.dest_qpn.get_or_insert(source) != source
        || cx.has(Defect::UdChecksPsn) && packet.bth.psn != qp.responder.expected
}

fn deliver(qp: &mut Qp, request: &Request<'_, '_>, receive: Receive, cx: &mut Context<'_>) {
    let packet = request.packet;
    // rule: ud.responder.payload-offset
    let area = if cx.has(Defect::UdWithoutGrhArea) { 0 } else { GRH_AREA };
    let needed = area + request.len();
    // rule: ud.responder.buffer
    if needed > receive.length && !cx.has(Defect::UdOverrunsBuffer) {
        cx.count(Counter::DropMessage);
        if cx.policy.long_datagram == LongDatagram::Completed {
            qp.take_receive(cx);
            qp.complete_unused(receive, Status::LocalLengthError, cx);
        }
        return;
    }
    qp.take_receive(cx);
    let is_placed = place_header(&packet.net, &receive, area, cx) && receive.place(area, packet.payload, cx).is_some();
    if !is_placed {
        qp.complete_unused(receive, Status::LocalProtectionError, cx);
        return refuse::fail(qp, None, cx);
    }
    let delivery = Delivery {
        // rule: ud.responder.byte-count
        byte_len: if cx.has(Defect::UdCountsWithoutGrhArea) { request.len() } else { needed },
        immediate: send::immediate(request, cx),
        solicited: send::solicited(request, cx),
        // rule: ud.responder.source-qp
        src_qpn: if cx.has(Defect::UdHidesSource) { Default::default() } else { packet.ext.deth.src_qp },
        grh: area > 0,
        ..Delivery::default()
    };
    qp.complete(receive, Status::Success, CompletionKind::Receive, delivery, cx);
    cx.count(Counter::RequestsExecuted);
}

/// A GRH or an IPv6 header fills the area. An IPv4 header takes its second half; the first is left as it was.
///
/// rule: ud.responder.grh-area, ud.responder.v4-header
fn place_header(net: &Net<'_>, receive: &Receive, area: u32, cx: &mut Context<'_>) -> bool {
    if area == 0 {
        return true;
    }
    let mut header = [0; GRH_AREA as usize];
    let mut end = 0;
    net.write(|part| {
        // Options, which only a defect lets in, have no room.
        let count = part.len().min(header.len() - end);
        header[end..end + count].copy_from_slice(&part[..count]);
        end += count;
    });
    let is_v4 = matches!(net, Net::V4(_));
    let header = if is_v4 { &header[..20] } else { &header[..] };
    let start = if is_v4 && !cx.has(Defect::UdPlacesIpHeaderFirst) { 20 } else { 0 };
    receive.place(start, header, cx).is_some()
}
