//! A CNP for a packet that met congestion (A17.9.3).

use rocespec_codec::{Ecn, Extensions, Net, Opcode, Psn, Roce};

use super::CnpConfig;
use crate::config::{GidEntry, GidKind};
use crate::defect::{Defect, Defects};
use crate::packet::{Packet, Payload};
use crate::qp::Qp;
use crate::route::Route;
use crate::verbs::QpKind;

/// True when a packet asks for a CNP.
pub(crate) fn is_marked(packet: &Roce<'_>, defects: &Defects) -> bool {
    // The marks of RoCE v1 are another matter.
    let is_v2 = !matches!(packet.net, Net::Grh(_));
    // rule: congestion.notification_point.only-ce
    let is_marked = packet.net.ecn() == Ecn::Ce || defects.has(Defect::SendsCnpWithoutMark);
    // rule: congestion.notification_point.cnp-not-answered
    let is_cnp = packet.bth.opcode == Opcode::CNP && !defects.has(Defect::AnswersCnpWithCnp);
    is_v2 && is_marked && !is_cnp
}

/// The CNP for `marked`, a packet to `qp`.
///
/// rule: congestion.notification_point.cnp-fields
pub(crate) fn notice(qp: &Qp, marked: &Roce<'_>, config: &CnpConfig, gids: &[GidEntry], defects: &Defects) -> Packet {
    // rule: congestion.notification_point.cnp-to-source
    let source = if qp.kind == QpKind::Ud { marked.ext.deth.src_qp } else { qp.peer_qpn() };
    let dest_qpn = if defects.has(Defect::SendsCnpToOwnQp) { qp.qpn } else { source };
    // A datagram queue pair listens to several GIDs.
    let to = GidEntry { gid: marked.net.dst_gid(), kind: GidKind::of(&marked.net) };
    let route = Route {
        gid_index: gids.iter().position(|entry| *entry == to).unwrap_or(qp.gid_index()),
        remote_gid: marked.net.src_gid(),
        dest_qpn,
        traffic_class: config.traffic_class(),
        service_level: config.priority,
        learned: Some(marked.eth.clone()),
        ..Route::to_peer(qp)
    };
    let opcode = if defects.has(Defect::SendsNativeCnp) { Opcode::CNP_NATIVE } else { Opcode::CNP };
    let psn = if defects.has(Defect::SendsCnpWithPsn) { marked.bth.psn } else { Psn::new(0) };
    let pkey = if defects.has(Defect::SendsCnpWithOwnPkey) { qp.pkey } else { marked.bth.pkey };
    let body = if defects.has(Defect::SendsCnpWithBody) { [0xff; 16] } else { [0; 16] };
    Packet {
        payload: Payload::Bytes(body.to_vec()),
        // What captures of devices show; the annex does not name it.
        // rule: congestion.notification_point.cnp-becn
        becn: !defects.has(Defect::SendsCnpWithoutBecn),
        pkey: Some(pkey),
        route: Some(route),
        ..Packet::new(opcode, psn, Extensions::default())
    }
}
