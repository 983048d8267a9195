//! Short runs that touch the rules of the transport services other than RC.

use rocespec_codec::{Deth, Net, Opcode, QKey, Qpn};
use rocespec_model::{Capacity, Defects, Destination, QpAttributes, QpKind, QpState, SendOperation, SendRequest};

use super::{Probe, Trace, trace};
use crate::harness::{Ip, Lab, MTU, QKEY, Req, TESTER_QPN, gids, lab_with, req, to};

/// A queue pair that may send and receive.
fn lab(kind: QpKind, defects: Defects) -> Lab {
    let mut lab = lab_with(|options| (options.kind, options.defects) = (kind, defects));
    lab.go();
    lab
}

fn receive(kind: QpKind, defects: Defects, requests: impl IntoIterator<Item = Req>) -> Trace {
    let mut lab = lab(kind, defects);
    let lines = lab.send_all(requests);
    trace(&mut lab, &lines)
}

fn send(kind: QpKind, defects: Defects, requests: impl IntoIterator<Item = SendRequest>) -> Trace {
    let mut lab = lab(kind, defects);
    for request in requests {
        lab.port.post_send(lab.qp, &SendRequest { mr: lab.mr.handle, ..request }).unwrap();
    }
    let lines = lab.collect();
    trace(&mut lab, &lines)
}

fn uc(opcode: Opcode, psn: u32, len: usize) -> Req {
    req(opcode, psn).len(len)
}

fn ud(psn: u32) -> Req {
    let mut request = req(Opcode::UD_SEND_ONLY, psn).len(8);
    request.ext.deth = Deth { qkey: QKEY, src_qp: TESTER_QPN, ..Deth::default() };
    request
}

fn ud_send(qkey: u32) -> SendRequest {
    let destination = Some(Destination::new(gids(Ip::V4).1, Qpn::new(9), QKey::new(qkey)));
    SendRequest { destination, length: 8, ..SendRequest::new(1, SendOperation::Send) }
}

pub(crate) const PROBES: &[Probe] = &[
    |defects| {
        let lost = [(Opcode::UC_SEND_FIRST, 0, MTU), (Opcode::UC_SEND_LAST, 2, 4), (Opcode::UC_SEND_ONLY, 3, 8)];
        receive(QpKind::Uc, defects, lost.map(|(opcode, psn, len)| uc(opcode, psn, len)))
    },
    |defects| receive(QpKind::Uc, defects, (0..5).map(|psn| uc(Opcode::UC_SEND_ONLY, psn, 8))),
    |defects| {
        let refused = req(Opcode::UC_RDMA_WRITE_ONLY, 0).keyed(0, 4, 0xdead).len(4);
        receive(QpKind::Uc, defects, [refused, uc(Opcode::UC_SEND_ONLY, 1, 8)])
    },
    |defects| {
        let beyond = SendRequest { offset: 4096, length: 8, ..SendRequest::new(2, SendOperation::Send) };
        send(QpKind::Uc, defects, [SendRequest::new(1, SendOperation::Send), beyond])
    },
    |defects| {
        let mut other = ud(7);
        other.ext.deth.src_qp = Qpn::new(5);
        receive(QpKind::Ud, defects, [ud(0), other])
    },
    |defects| {
        let mut wrong = ud(0);
        wrong.ext.deth.qkey = QKey::new(1);
        receive(QpKind::Ud, defects, [wrong])
    },
    |defects| receive(QpKind::Ud, defects, [ud(0).len(1000)]),
    |defects| {
        let mut lab = lab(QpKind::Ud, defects);
        lab.options.ip = Ip::Grh;
        let lines = lab.send(ud(0));
        trace(&mut lab, &lines)
    },
    |defects| {
        let mut lab = lab(QpKind::Ud, defects);
        let (second, _) = lab.port.create_qp(QpKind::Ud, Capacity::default()).unwrap();
        let init = QpAttributes { pkey_index: Some(0), qkey: Some(QKEY), ..to(QpState::Init) };
        for step in [init, to(QpState::Rtr)] {
            lab.port.modify_qp(second, &step).unwrap();
        }
        lab.port.post_receive(second, 9, lab.inbox.handle, 8192, 1024).unwrap();
        for qp in [lab.qp, second] {
            lab.port.attach_multicast(qp, "::ffff:239.1.2.3".parse().unwrap()).unwrap();
        }
        let lines = lab.send(ud(0).bth(|bth| bth.dest_qp = Qpn::MULTICAST).tweak(|packet| {
            let Net::V4(ip) = &mut packet.net else { return };
            ip.dst = [239, 1, 2, 3].into();
        }));
        trace(&mut lab, &lines) + &format!("{:?}", lab.port.poll(second, 9))
    },
    |defects| send(QpKind::Ud, defects, [ud_send(0x77), ud_send(0x8000_0001)]),
];
