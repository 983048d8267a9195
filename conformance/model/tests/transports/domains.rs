//! Protection domains, and what their objects hold on to.

use rocespec_codec::Opcode;
use rocespec_model::{
    Access, Config, Endpoint, MemoryRegion, PdHandle, QpAttributes, QpInit, QpKind, QpState, SendOperation, SrqInit,
    VerbError, WindowKind, XrcDomainHandle,
};

use crate::harness::requester::requester;
use crate::harness::{Lab, Req, lab, req};

/// A region in a domain of its own.
fn foreign(lab: &mut Lab) -> MemoryRegion {
    let pd = lab.port.create_pd();
    lab.port.register_memory_in(pd, 4096, Access::ALL).unwrap()
}

fn keyed(region: &MemoryRegion, lab: &Lab, mut request: Req, len: u32) -> Req {
    let offset = region.va.wrapping_sub(lab.mr.va) as i64;
    request = request.keyed(offset, len, region.rkey.get());
    request
}

#[test]
fn a_peer_cannot_use_memory_of_another_domain() {
    for opcode in [Opcode::RC_RDMA_WRITE_ONLY, Opcode::RC_RDMA_READ_REQUEST] {
        let mut lab = lab();
        let region = foreign(&mut lab);
        let payload = if opcode == Opcode::RC_RDMA_WRITE_ONLY { 8 } else { 0 };
        let request = keyed(&region, &lab, req(opcode, 0).len(payload), 8);
        assert_eq!(lab.send(request), ["NAK 0 msn=0 remote_access_error"]);
        assert_eq!(lab.port.read_memory(region.handle, 0, 8).unwrap(), [0; 8]);
    }
}

#[test]
fn queue_pairs_of_the_same_domain_can() {
    let mut lab = lab();
    let pd = lab.port.create_pd();
    let region = lab.port.register_memory_in(pd, 4096, Access::ALL).unwrap();
    (lab.qp, lab.qpn) = lab.port.create_qp_with(&QpInit { pd, ..QpInit::new(QpKind::Rc) }).unwrap();
    lab.connect();
    let request = keyed(&region, &lab, req(Opcode::RC_RDMA_WRITE_ONLY, 0).len(8), 8);
    assert_eq!(lab.send(request), ["ACK 0 msn=1"]);
    assert_eq!(lab.port.read_memory(region.handle, 1, 1).unwrap(), [7]);
    let request = req(Opcode::RC_RDMA_WRITE_ONLY, 1).to(0, 8).len(8);
    assert_eq!(lab.send(request), ["NAK 1 msn=1 remote_access_error"]);
}

#[test]
fn receives_cannot_be_placed_in_another_domain() {
    let mut lab = crate::harness::lab_with(|options| options.receives = 0);
    let region = foreign(&mut lab);
    lab.port.post_receive(lab.qp, 0, region.handle, 0, 64).unwrap();
    assert_eq!(lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8)), ["NAK 0 msn=0 remote_operational_error"]);
    assert_eq!(lab.statuses(), [(0, "loc_prot_err")]);
}

#[test]
fn requests_cannot_be_sent_from_another_domain() {
    let mut lab = requester();
    let region = foreign(&mut lab);
    let mut request = lab.work(1, SendOperation::Send, 8);
    request.mr = region.handle;
    assert_eq!(lab.submit(request), [""; 0]);
    assert_eq!(lab.statuses(), [(1, "loc_prot_err")]);
}

#[test]
fn a_domain_stays_while_something_is_in_it() {
    let mut port = Endpoint::new(Config::default());
    let pd = port.create_pd();
    let region = port.register_memory_in(pd, 8, Access::NONE).unwrap();
    let window = port.allocate_window(pd, WindowKind::Type1).unwrap();
    let (qp, _) = port.create_qp_with(&QpInit { pd, ..QpInit::new(QpKind::Uc) }).unwrap();
    let (srq, _) = port.create_srq(&SrqInit { pd, ..SrqInit::default() }).unwrap();
    assert_eq!(port.destroy_pd(pd), Err(VerbError::InUse));
    port.deregister_memory(region.handle).unwrap();
    assert_eq!(port.destroy_pd(pd), Err(VerbError::InUse));
    port.deallocate_window(window.handle).unwrap();
    assert_eq!(port.destroy_pd(pd), Err(VerbError::InUse));
    port.destroy_qp(qp).unwrap();
    assert_eq!(port.destroy_pd(pd), Err(VerbError::InUse));
    port.destroy_srq(srq).unwrap();
    assert_eq!(port.destroy_pd(pd), Ok(()));
    assert_eq!(port.destroy_pd(pd), Err(VerbError::NoSuchObject));
    assert_eq!(port.destroy_pd(PdHandle::DEFAULT), Err(VerbError::InUse));
}

#[test]
fn what_is_not_there_cannot_be_named() {
    let mut port = Endpoint::new(Config::default());
    let (pd, xrc_domain) = (PdHandle(9), Some(XrcDomainHandle(9)));
    let missing = Some(VerbError::NoSuchObject);
    assert_eq!(port.register_memory_in(pd, 8, Access::NONE).err(), missing);
    assert_eq!(port.allocate_window(pd, WindowKind::Type2).err(), missing);
    assert_eq!(port.create_srq(&SrqInit { pd, ..SrqInit::default() }).err(), missing);
    assert_eq!(port.create_srq(&SrqInit { xrc_domain, ..SrqInit::default() }).err(), missing);
    assert_eq!(port.create_qp_with(&QpInit { pd, ..QpInit::new(QpKind::Rc) }).err(), missing);
    assert_eq!(port.create_qp_with(&QpInit { xrc_domain, ..QpInit::new(QpKind::XrcTarget) }).err(), missing);
}

#[test]
fn a_deregistered_key_opens_nothing() {
    let mut lab = lab();
    let write = req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 8).len(8);
    lab.port.deregister_memory(lab.mr.handle).unwrap();
    assert_eq!(lab.send(write), ["NAK 0 msn=0 remote_access_error"]);
}

#[test]
fn keys_are_found_among_thousands() {
    let mut lab = lab();
    let regions: Vec<_> = (0..5000).map(|_| lab.port.register_memory(8, Access::ALL).unwrap()).collect();
    lab.port.deregister_memory(regions[7].handle).unwrap();
    for (psn, at) in (0..).zip([0, 4321, 4999]) {
        let request = keyed(&regions[at], &lab, req(Opcode::RC_RDMA_WRITE_ONLY, psn).len(8), 8);
        assert_eq!(lab.send(request), [format!("ACK {psn} msn={}", psn + 1)]);
        assert_eq!(lab.port.read_memory(regions[at].handle, 1, 1).unwrap(), [7]);
    }
}

#[test]
fn a_reset_queue_pair_keeps_its_domain() {
    let mut lab = lab();
    let region = foreign(&mut lab);
    lab.modify(QpAttributes { state: Some(QpState::Reset), ..QpAttributes::default() });
    lab.connect();
    let request = keyed(&region, &lab, req(Opcode::RC_RDMA_WRITE_ONLY, 0).len(8), 8);
    assert_eq!(lab.send(request), ["NAK 0 msn=0 remote_access_error"]);
}
