//! Short runs that touch the rules of the transport services other than RC.

use rocespec_codec::{Deth, Net, Opcode, QKey, Qpn, RKey};
use rocespec_model::{
    Access, Bind, Capacity, Defects, Destination, PdHandle, QpAttributes, QpKind, QpState, SendOperation, SendRequest,
    SrqInit, WindowHandle, WindowKind, XrcDomainHandle,
};

use super::{Probe, Trace, trace};
use crate::harness::requester::requester_with;
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
    |defects| receive(QpKind::Ud, defects, (0..5).map(ud)),
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
    |defects| send(QpKind::Ud, defects, [SendRequest { length: 5000, ..ud_send(0x77) }]),
    // States.
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        lab.modify(to(QpState::Reset));
        lab.modify(QpAttributes { pkey_index: Some(0), access: Some(Access::NONE), ..to(QpState::Init) });
        lab.post(0);
        let lines = lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8));
        trace(&mut lab, &lines)
    },
    // Shared receive queues.
    |defects| {
        let mut lab = lab_with(|options| (options.shared, options.defects) = (true, defects));
        lab.port.modify_srq(lab.srq.unwrap(), 4).unwrap();
        let lines = lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8));
        trace(&mut lab, &lines)
    },
    // XRC.
    |defects| xrc(defects, 0),
    |defects| xrc(defects, 1),
    |defects| {
        let mut lab = requester_with(|options| (options.kind, options.defects) = (QpKind::XrcInitiator, defects));
        let request = SendRequest { srqn: Qpn::new(5), ..lab.work(1, SendOperation::Send, 300) };
        let lines = lab.submit(request);
        trace(&mut lab, &lines)
    },
    // Domains and keys.
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        let pd = lab.port.create_pd();
        let region = lab.port.register_memory_in(pd, 4096, Access::ALL).unwrap();
        let offset = region.va.wrapping_sub(lab.mr.va) as i64;
        let write = req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(offset, 8, region.rkey.get()).len(8);
        let lines = lab.send(write);
        trace(&mut lab, &lines)
    },
    |defects| {
        let mut lab = requester_with(|options| options.defects = defects);
        let pd = lab.port.create_pd();
        let mr = lab.port.register_memory_in(pd, 4096, Access::ALL).unwrap().handle;
        let request = SendRequest { mr, ..lab.work(1, SendOperation::Send, 8) };
        let lines = lab.submit(request);
        trace(&mut lab, &lines)
    },
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        let write = req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 8).len(8);
        let mr = std::mem::replace(&mut lab.mr, lab.port.register_memory(4096, Access::NONE).unwrap());
        lab.port.deregister_memory(mr.handle).unwrap();
        let offset = mr.va.wrapping_sub(lab.mr.va) as i64;
        let lines = lab.send(write.keyed(offset, 8, mr.rkey.get()));
        trace(&mut lab, &lines)
    },
    // Memory windows.
    |defects| window(defects, WindowKind::Type2, |_, key| write(0, 4, key)),
    |defects| window(defects, WindowKind::Type2, |_, key| req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(64, 4, key.get())),
    |defects| {
        window(defects, WindowKind::Type2, |lab, key| {
            (lab.qp, lab.qpn) = lab.port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
            lab.connect();
            write(64, 4, key)
        })
    },
    |defects| {
        window(defects, WindowKind::Type2, |lab, key| {
            lab.submit(SendRequest { rkey: key, ..SendRequest::new(6, SendOperation::LocalInvalidate) });
            write(64, 4, key)
        })
    },
    |defects| {
        window(defects, WindowKind::Type2, |lab, key| {
            let held = std::mem::replace(&mut lab.mr, lab.port.register_memory(4096, Access::NONE).unwrap());
            // Refused, unless by the defect; what the key opens then shows which.
            let _ = lab.port.deregister_memory(held.handle);
            write(held.va.wrapping_sub(lab.mr.va) as i64 + 64, 4, key)
        })
    },
    |defects| window(defects, WindowKind::Type1, |_, key| write(64, 4, RKey::new(key.get().wrapping_sub(1)))),
    |defects| {
        let mut lab = requester_with(|options| options.defects = defects);
        let lines = bind(&mut lab, WindowKind::Type1);
        trace(&mut lab, &lines)
    },
];

/// Two queues of the target's domain and one of another; a SEND to one of them, and what each of them has completed.
fn xrc(defects: Defects, index: usize) -> Trace {
    let mut lab = lab_with(|options| (options.kind, options.defects) = (QpKind::XrcTarget, defects));
    let domains = [XrcDomainHandle(1), lab.port.create_xrc_domain()];
    let srqs = domains.map(|domain| {
        let (srq, _) = lab.port.create_srq(&SrqInit { xrc_domain: Some(domain), ..SrqInit::default() }).unwrap();
        lab.port.post_srq_receive(srq, 9, lab.inbox.handle, 8192, 1024).unwrap();
        srq
    });
    let mut send = req(Opcode::XRC_SEND_ONLY, 0).len(8);
    send.ext.xrceth.srqn = Qpn::new(srqs[index].0);
    let lines = lab.send(send);
    let completed = srqs.map(|srq| lab.port.poll_srq(srq, 9));
    trace(&mut lab, &lines) + &format!("{completed:?}")
}

fn bind(lab: &mut Lab, kind: WindowKind) -> Vec<String> {
    let window = lab.port.allocate_window(PdHandle::DEFAULT, kind).unwrap().handle;
    let bind = Some(Bind { window, access: Access::REMOTE_WRITE, key: 7 });
    let request = SendRequest { bind, offset: 64, length: 8, ..lab.work(5, SendOperation::BindWindow, 8) };
    lab.submit(request)
}

fn write(offset: i64, len: usize, key: RKey) -> Req {
    req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(offset, len as u32, key.get()).len(len)
}

/// A window on bytes 64 to 71 for WRITEs, and what a request with its key brings.
fn window(defects: Defects, kind: WindowKind, then: impl FnOnce(&mut Lab, RKey) -> Req) -> Trace {
    let mut lab = requester_with(|options| {
        options.defects = defects;
        options.region_access |= Access::BIND;
    });
    bind(&mut lab, kind);
    let key = lab.port.query_window(WindowHandle(3)).unwrap().rkey;
    let request = then(&mut lab, key);
    let lines = lab.send(request);
    trace(&mut lab, &lines)
}
