//! UC and UD: what has left is done. Nothing is waited for and nothing is sent again.

use rocespec_codec::{Deth, Psn};

use super::complete;
use crate::context::Context;
use crate::defect::Defect;
use crate::packet::Packet;
use crate::qp::Qp;
use crate::route::Route;
use crate::verbs::{Destination, QpState, Status};

/// Notes that the packet before `behind` has left, which ends its request if it was the last one.
///
/// rule: uc.requester.completion, ud.requester.completion
pub(super) fn sent(qp: &mut Qp, behind: Psn, is_last: bool, cx: &Context<'_>) {
    if cx.has(Defect::UcWaitsForAck) {
        return;
    }
    qp.requester.oldest = behind;
    if is_last {
        complete::first(qp, Status::Success, cx);
    }
}

/// The send queue stops, and what waits in it is flushed; receives go on.
///
/// rule: uc.requester.local-error, ud.requester.local-error
pub(super) fn stop(qp: &mut Qp, cx: &mut Context<'_>) {
    qp.state = if cx.has(Defect::UcFailsOnLocalError) { QpState::Error } else { QpState::Sqe };
    if qp.state == QpState::Error {
        qp.flush_receives(cx);
    }
    complete::flush(qp, cx);
}

/// Puts a datagram's address on it.
pub(super) fn address(packet: &mut Packet, destination: &Destination, qp: &Qp, cx: &Context<'_>) {
    let Destination { gid, qpn, qkey, gid_index, traffic_class, hop_limit, flow_label, service_level } = *destination;
    // rule: ud.requester.privileged-qkey
    let is_own = qkey.get() & PRIVILEGED != 0 && !cx.has(Defect::UdSendsPrivilegedQkey);
    // rule: ud.requester.qkey
    let qkey = if is_own || cx.has(Defect::UdSendsOwnQkey) { qp.qkey() } else { qkey };
    // rule: ud.requester.source-qp
    let src_qp = if cx.has(Defect::UdSendsForeignSource) { qpn } else { qp.qpn };
    packet.ext.deth = Deth { qkey, src_qp, ..Deth::default() };
    packet.route = Some(Route {
        gid_index: gid_index.into(),
        remote_gid: gid,
        dest_qpn: qpn,
        traffic_class,
        hop_limit,
        flow_label,
        service_level,
        learned: qp.last_link.clone(),
    });
}

/// The bit of a request's Q_Key that stands for the queue pair's own.
const PRIVILEGED: u32 = 1 << 31;
