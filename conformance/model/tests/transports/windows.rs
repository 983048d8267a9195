//! Memory windows.

use rocespec_codec::{Opcode, RKey};
use rocespec_model::{
    Access, Bind, MemoryWindow, PdHandle, QpKind, QpState, SendOperation, SendRequest, VerbError, WindowKind,
};

use crate::harness::requester::ack;
use crate::harness::requester::requester_with;
use crate::harness::{Lab, Req, req, to};

const KEY: u8 = 0x5a;

/// A queue pair in RTS whose region lets windows be bound, and a window.
pub(crate) fn lab(kind: WindowKind) -> (Lab, MemoryWindow) {
    let mut lab = requester_with(|options| options.region_access |= Access::BIND);
    let window = lab.port.allocate_window(PdHandle::DEFAULT, kind).unwrap();
    (lab, window)
}

/// Binds to bytes 64 to 127 of the region.
fn request(lab: &Lab, window: &MemoryWindow, access: Access) -> SendRequest {
    let bind = Some(Bind { window: window.handle, access, key: KEY });
    SendRequest { bind, mr: lab.mr.handle, offset: 64, length: 64, ..SendRequest::new(5, SendOperation::BindWindow) }
}

pub(crate) fn bind(lab: &mut Lab, window: &MemoryWindow, access: Access) -> RKey {
    let request = request(lab, window, access);
    assert_eq!(lab.submit(request), [""; 0]);
    assert_eq!(lab.statuses(), [(5, "success")]);
    lab.port.query_window(window.handle).unwrap().rkey
}

fn write(psn: u32, offset: i64, len: usize, key: RKey) -> Req {
    req(Opcode::RC_RDMA_WRITE_ONLY, psn).keyed(offset, len as u32, key.get()).len(len)
}

fn invalidate(psn: u32, key: RKey) -> Req {
    req(Opcode::RC_SEND_ONLY_WITH_INVALIDATE, psn).invalidate(key)
}

const REFUSED: [&str; 1] = ["NAK 0 msn=0 remote_access_error"];

#[test]
fn a_bound_window_opens_its_part_of_the_region() {
    for kind in [WindowKind::Type1, WindowKind::Type2] {
        let (mut lab, window) = lab(kind);
        let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
        assert_eq!(lab.send(write(0, 64, 64, key)), ["ACK 0 msn=1"]);
        assert_eq!(lab.memory(65, 1), [7]);
    }
}

#[test]
fn a_window_that_is_not_bound_opens_nothing() {
    let (mut lab, window) = lab(WindowKind::Type1);
    assert!(!window.is_bound);
    assert_eq!(lab.send(write(0, 64, 8, window.rkey)), REFUSED);
}

#[test]
fn a_window_ends_where_it_was_bound_to() {
    for (offset, len) in [(63, 8), (121, 8), (0, 8), (64, 65), (128, 1)] {
        let (mut lab, window) = lab(WindowKind::Type2);
        let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
        assert_eq!(lab.send(write(0, offset, len, key)), REFUSED);
    }
}

#[test]
fn a_window_has_rights_of_its_own() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let key = bind(&mut lab, &window, Access::REMOTE_READ);
    let read = req(Opcode::RC_RDMA_READ_REQUEST, 0).keyed(64, 8, key.get());
    assert_eq!(lab.send(read), ["ONLY 0 msn=1 8B"]);
    assert_eq!(lab.send(write(1, 64, 8, key)), ["NAK 1 msn=1 remote_access_error"]);
}

#[test]
fn a_window_may_open_what_the_region_does_not() {
    let mut lab = requester_with(|options| options.region_access = Access::BIND | Access::LOCAL_WRITE);
    let window = lab.port.allocate_window(PdHandle::DEFAULT, WindowKind::Type2).unwrap();
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    assert_eq!(lab.send(write(0, 64, 8, key)), ["ACK 0 msn=1"]);
}

#[test]
fn a_region_says_whether_it_can_be_bound() {
    for (region, window) in [
        (Access::LOCAL_WRITE | Access::REMOTE_READ, Access::REMOTE_READ),
        (Access::BIND, Access::REMOTE_WRITE),
        (Access::BIND, Access::REMOTE_ATOMIC),
    ] {
        let mut lab = requester_with(|options| options.region_access = region);
        let made = lab.port.allocate_window(PdHandle::DEFAULT, WindowKind::Type1).unwrap();
        let request = request(&lab, &made, window);
        lab.submit(request);
        assert_eq!(lab.statuses(), [(5, "mw_bind_err")]);
        assert_eq!(lab.state(), QpState::Error);
    }
}

#[test]
fn a_bind_request_has_to_be_right() {
    let (mut first, made) = lab(WindowKind::Type2);
    let right = request(&first, &made, Access::REMOTE_READ);
    let foreign = first.port.create_pd();
    let elsewhere = first.port.allocate_window(foreign, WindowKind::Type2).unwrap().handle;
    for wrong in [
        SendRequest { bind: None, ..right },
        SendRequest { offset: (1 << 16) - 63, ..right },
        SendRequest { offset: u64::MAX, ..right },
        SendRequest { length: 0, ..right },
        SendRequest { mr: rocespec_model::MemoryHandle(99), ..right },
        SendRequest { bind: Some(Bind { window: elsewhere, ..right.bind.unwrap() }), ..right },
    ] {
        let mut lab = lab(WindowKind::Type2).0;
        let pd = lab.port.create_pd();
        lab.port.allocate_window(pd, WindowKind::Type2).unwrap();
        lab.submit(wrong);
        assert_eq!(lab.statuses(), [(5, "mw_bind_err")]);
    }
}

#[test]
fn type_1_gets_a_new_key_each_time() {
    let (mut lab, window) = lab(WindowKind::Type1);
    let first = bind(&mut lab, &window, Access::REMOTE_WRITE);
    let second = bind(&mut lab, &window, Access::REMOTE_WRITE);
    assert!(first != second && window.rkey != first);
    assert_eq!(first.get() >> 8, second.get() >> 8);
    assert_eq!(lab.send(write(0, 64, 8, second)), ["ACK 0 msn=1"]);
    assert_eq!(lab.send(write(1, 64, 8, first)), ["NAK 1 msn=1 remote_access_error"]);
}

#[test]
fn type_1_is_taken_back_by_binding_it_to_nothing() {
    let (mut lab, window) = lab(WindowKind::Type1);
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    let nothing = SendRequest { length: 0, ..request(&lab, &window, Access::REMOTE_WRITE) };
    lab.submit(nothing);
    assert!(!lab.port.query_window(window.handle).unwrap().is_bound);
    assert_eq!(lab.send(write(0, 64, 8, key)), REFUSED);
}

#[test]
fn type_2_has_the_key_that_was_asked_for_and_is_bound_once() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    assert_eq!(key.get(), window.rkey.get() & !0xff | u32::from(KEY));
    let again = request(&lab, &window, Access::REMOTE_WRITE);
    lab.submit(again);
    assert_eq!(lab.statuses(), [(5, "mw_bind_err")]);
}

#[test]
fn type_2_is_for_the_queue_pair_that_bound_it() {
    for (kind, answer) in [(WindowKind::Type1, ["ACK 0 msn=1"]), (WindowKind::Type2, REFUSED)] {
        let (mut lab, window) = lab(kind);
        let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
        (lab.qp, lab.qpn) = lab.port.create_qp(QpKind::Rc, Default::default()).unwrap();
        lab.connect();
        assert_eq!(lab.send(write(0, 64, 8, key)), answer, "{kind:?}");
    }
}

#[test]
fn the_peer_invalidates_type_2() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    lab.post(0);
    assert_eq!(lab.send(invalidate(0, key)), ["ACK 0 msn=1"]);
    assert_eq!(lab.completions()[0].invalidated, Some(key));
    assert_eq!(lab.send(write(1, 64, 8, key)), ["NAK 1 msn=1 remote_access_error"]);
}

#[test]
fn an_invalidated_window_can_be_bound_again() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    lab.post(0);
    lab.send(invalidate(0, key));
    lab.completions();
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    assert_eq!(lab.send(write(1, 64, 8, key)), ["ACK 1 msn=2"]);
}

#[test]
fn the_peer_cannot_invalidate_anything_else() {
    let (mut first, window) = lab(WindowKind::Type1);
    let bound = bind(&mut first, &window, Access::REMOTE_WRITE);
    for key in [bound, first.mr.rkey, RKey::new(0), RKey::new(bound.get() ^ 1)] {
        let (mut lab, window) = lab(WindowKind::Type1);
        bind(&mut lab, &window, Access::REMOTE_WRITE);
        lab.post(0);
        assert_eq!(lab.send(invalidate(0, key)), [""; 0]);
        assert_eq!(lab.statuses(), [(0, "rem_inv_req_err")]);
        assert_eq!(lab.state(), QpState::Error);
    }
}

#[test]
fn the_software_invalidates_type_2_with_a_request() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let key = bind(&mut lab, &window, Access::REMOTE_WRITE);
    let request = SendRequest { rkey: key, ..SendRequest::new(6, SendOperation::LocalInvalidate) };
    lab.submit(request);
    let done: Vec<_> = lab.completions().iter().map(|done| (done.kind.name(), done.status.name())).collect();
    assert_eq!(done, [("local_inv", "success")]);
    assert_eq!(lab.send(write(0, 64, 8, key)), REFUSED);
    let (mut lab, _) = self::lab(WindowKind::Type2);
    lab.submit(request);
    assert_eq!(lab.statuses(), [(6, "loc_qp_op_err")], "it is not bound");
}

#[test]
fn requests_keep_their_order_around_a_bind() {
    let (mut lab, window) = lab(WindowKind::Type2);
    let send = lab.work(1, SendOperation::Send, 8);
    let bind = request(&lab, &window, Access::REMOTE_WRITE);
    lab.port.post_send(lab.qp, &send).unwrap();
    lab.port.post_send(lab.qp, &bind).unwrap();
    lab.port.post_send(lab.qp, &SendRequest { wr_id: 9, ..send }).unwrap();
    assert_eq!(lab.leaving().len(), 1);
    assert!(!lab.port.query_window(window.handle).unwrap().is_bound);
    lab.send(ack(0, 1));
    assert!(lab.port.query_window(window.handle).unwrap().is_bound);
    assert_eq!(lab.statuses(), [(1, "success"), (5, "success")]);
}

#[test]
fn a_region_stays_while_a_window_is_bound_to_it() {
    let (mut lab, window) = lab(WindowKind::Type1);
    bind(&mut lab, &window, Access::REMOTE_WRITE);
    bind(&mut lab, &window, Access::REMOTE_WRITE);
    assert_eq!(lab.port.deregister_memory(lab.mr.handle), Err(VerbError::InUse));
    lab.port.deallocate_window(window.handle).unwrap();
    assert_eq!(lab.port.deregister_memory(lab.mr.handle), Ok(()));
    assert_eq!(lab.port.query_window(window.handle), Err(VerbError::NoSuchObject));
    assert_eq!(lab.port.deallocate_window(window.handle), Err(VerbError::NoSuchObject));
}

#[test]
fn type_2_ends_with_its_queue_pair() {
    let (mut lab, window) = lab(WindowKind::Type2);
    bind(&mut lab, &window, Access::REMOTE_WRITE);
    lab.port.destroy_qp(lab.qp).unwrap();
    assert!(!lab.port.query_window(window.handle).unwrap().is_bound);
    assert_eq!(lab.port.deregister_memory(lab.mr.handle), Ok(()));
}

#[test]
fn binds_wait_in_a_stopped_queue_and_are_none_of_datagrams() {
    let (mut lab, window) = lab(WindowKind::Type1);
    let request = request(&lab, &window, Access::REMOTE_READ);
    lab.modify(to(QpState::Sqd));
    lab.submit(request);
    assert_eq!(lab.statuses(), []);
    lab.modify(to(QpState::Rts));
    lab.leaving();
    assert_eq!(lab.statuses(), [(5, "success")]);

    let mut ud = crate::ud::ud();
    ud.go();
    assert_eq!(ud.port.post_send(ud.qp, &request), Err(VerbError::Unsupported));
}
