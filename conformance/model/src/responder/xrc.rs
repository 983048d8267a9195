//! XRC: the request says which shared receive queue it is for.

use alloc::vec::Vec;

use rocespec_codec::{Aeth, Header, Msn, Syndrome};

use super::refuse::Refusal;
use super::request::Request;
use crate::context::Context;
use crate::defect::Defect;
use crate::packet::{Packet, Payload};
use crate::qp::Qp;
use crate::verbs::QpKind;

/// Finds the queue that a request to an XRC target names, if it takes a receive. The queue has to be of the target's
/// XRC domain.
///
/// rule: xrc.responder.srq, xrc.responder.domain
pub(super) fn find_srq(qp: &mut Qp, request: &Request<'_, '_>, cx: &Context<'_>) -> Result<(), Refusal> {
    if qp.kind != QpKind::XrcTarget || !request.info.takes_receive() {
        return Ok(());
    }
    if cx.has(Defect::XrcIgnoresSrqNumber) {
        qp.srq = cx.srqs.first_of(qp.init.xrc_domain);
        return Ok(());
    }
    let named = cx.srqs.numbered(request.packet.ext.xrceth.srqn);
    let is_own = |srq| cx.srqs.get(srq).is_some_and(|srq| srq.domain == qp.init.xrc_domain);
    qp.srq = named.filter(|srq| is_own(*srq) || cx.has(Defect::XrcAcceptsForeignSrq));
    if qp.srq.is_some() { Ok(()) } else { Err(Refusal::ForeignSrq) }
}

/// Puts an XRCETH in front of the other headers of a response, as only a defect does: it takes the place of the AETH,
/// which goes in front of the payload.
///
/// rule: xrc.responder.reply-headers
pub(super) fn spoil(packet: &mut Packet, qp: &Qp, cx: &Context<'_>) {
    if qp.kind != QpKind::XrcTarget || !cx.has(Defect::XrcRepliesWithXrceth) {
        return;
    }
    let srqn = qp.srq.map_or(0, |srq| srq.0);
    let mut bytes = Vec::new();
    if packet.opcode.headers().contains(&Header::Aeth) {
        let aeth = core::mem::replace(&mut packet.ext.aeth, Aeth { syndrome: Syndrome(0), msn: Msn::new(srqn) });
        bytes.push(aeth.syndrome.0);
        bytes.extend_from_slice(&aeth.msn.get().to_be_bytes()[1..]);
    } else {
        bytes.extend_from_slice(&srqn.to_be_bytes());
    }
    bytes.extend_from_slice(packet.payload.bytes(cx.memory));
    packet.payload = Payload::Bytes(bytes);
}
