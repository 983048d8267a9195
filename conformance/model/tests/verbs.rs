//! What the device's own software may do, and what it is told when it may not.

mod harness;

use harness::{Ip, gids, lab};
use rocespec_codec::{Mtu, Psn, Qpn, RnrTimer};
use rocespec_model::{
    Access, Capacity, Config, Endpoint, GidEntry, GidKind, MemoryHandle, QpAttributes, QpHandle, QpKind, QpState,
    VerbError,
};

fn port() -> Endpoint {
    let entry = |text: &str| GidEntry { gid: text.parse().unwrap(), kind: GidKind::RoceV2 };
    Endpoint::new(Config { gids: vec![entry("::ffff:10.0.0.1"), entry("fd00::1")], ..Config::default() })
}

fn to(state: QpState) -> QpAttributes {
    QpAttributes { state: Some(state), ..QpAttributes::default() }
}

fn init() -> QpAttributes {
    QpAttributes { pkey_index: Some(0), access: Some(Access::NONE), ..to(QpState::Init) }
}

fn rtr() -> QpAttributes {
    QpAttributes {
        path_mtu: Some(Mtu::B1024),
        dest_qpn: Some(Qpn::new(5)),
        rq_psn: Some(Psn::new(1)),
        max_dest_rd_atomic: Some(1),
        min_rnr_timer: Some(RnrTimer::new(1)),
        remote_gid: Some("::ffff:10.0.0.2".parse().unwrap()),
        ..to(QpState::Rtr)
    }
}

fn rts() -> QpAttributes {
    QpAttributes {
        sq_psn: Some(Psn::new(2)),
        timeout: Some(14),
        retry_count: Some(7),
        rnr_retry: Some(7),
        max_rd_atomic: Some(1),
        ..to(QpState::Rts)
    }
}

#[test]
fn a_queue_pair_goes_from_reset_to_rts_and_back() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    for step in [init(), rtr(), rts(), to(QpState::Sqd), to(QpState::Rts), to(QpState::Error), to(QpState::Reset)] {
        port.modify_qp(qp, &step).unwrap();
        assert_eq!(port.query_qp(qp).unwrap().state, step.state);
    }
}

#[test]
fn attributes_can_be_read_back() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    for step in [init(), rtr(), rts()] {
        port.modify_qp(qp, &step).unwrap();
    }
    let attributes = port.query_qp(qp).unwrap();
    assert_eq!((attributes.path_mtu, attributes.timeout, attributes.hop_limit), (Some(Mtu::B1024), Some(14), Some(64)));
}

#[test]
fn moves_that_do_not_exist_are_refused() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    let refused = port.modify_qp(qp, &rtr());
    assert_eq!(refused, Err(VerbError::IllegalTransition { from: QpState::Reset, to: QpState::Rtr }));
    port.modify_qp(qp, &init()).unwrap();
    let refused = port.modify_qp(qp, &rts());
    assert_eq!(refused, Err(VerbError::IllegalTransition { from: QpState::Init, to: QpState::Rts }));
}

#[test]
fn a_move_needs_its_attributes_and_takes_no_others() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    assert_eq!(port.modify_qp(qp, &to(QpState::Init)), Err(VerbError::MissingAttribute("pkey_index")));
    let early = QpAttributes { timeout: Some(1), ..init() };
    assert_eq!(port.modify_qp(qp, &early), Err(VerbError::UnexpectedAttribute("timeout")));
    assert_eq!(port.query_qp(qp).unwrap().state, Some(QpState::Reset));
}

#[test]
fn attributes_have_ranges() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity::default()).unwrap();
    assert_eq!(
        port.modify_qp(qp, &QpAttributes { pkey_index: Some(2), ..init() }),
        Err(VerbError::OutOfRange("pkey_index"))
    );
    port.modify_qp(qp, &init()).unwrap();
    let wrong = [
        (QpAttributes { gid_index: Some(2), ..rtr() }, "gid_index"),
        (QpAttributes { gid_index: Some(1), ..rtr() }, "remote_gid"),
        (QpAttributes { flow_label: Some(1 << 20), ..rtr() }, "flow_label"),
        (QpAttributes { service_level: Some(8), ..rtr() }, "service_level"),
    ];
    for (attributes, name) in wrong {
        assert_eq!(port.modify_qp(qp, &attributes), Err(VerbError::OutOfRange(name)));
    }
    port.modify_qp(qp, &rtr()).unwrap();
    for (attributes, name) in [
        (QpAttributes { timeout: Some(32), ..rts() }, "timeout"),
        (QpAttributes { retry_count: Some(8), ..rts() }, "retry_count"),
        (QpAttributes { rnr_retry: Some(8), ..rts() }, "rnr_retry"),
    ] {
        assert_eq!(port.modify_qp(qp, &attributes), Err(VerbError::OutOfRange(name)));
    }
}

#[test]
fn what_is_not_there_cannot_be_used() {
    let mut port = port();
    let (qp, mr) = (QpHandle(9), MemoryHandle(9));
    assert_eq!(port.modify_qp(qp, &init()), Err(VerbError::NoSuchObject));
    assert_eq!(port.query_qp(qp), Err(VerbError::NoSuchObject));
    assert_eq!(port.destroy_qp(qp), Err(VerbError::NoSuchObject));
    assert_eq!(port.deregister_memory(mr), Err(VerbError::NoSuchObject));
    assert_eq!(port.read_memory(mr, 0, 1), Err(VerbError::NoSuchObject));
    assert_eq!(port.post_receive(qp, 0, mr, 0, 1), Err(VerbError::NoSuchObject));
    assert!(port.poll(qp, 1).is_empty());
}

#[test]
fn numbers_of_queue_pairs_follow_each_other_and_pass_over_the_reserved_ones() {
    let mut port = Endpoint::new(Config { first_qpn: Qpn::new(0xff_fffe), ..Config::default() });
    let mut next = || port.create_qp(QpKind::Rc, Capacity::default()).unwrap().1.get();
    assert_eq!([next(), next(), next()], [0xff_fffe, 2, 3]);
}

#[test]
fn a_receive_queue_is_only_so_long_and_not_open_in_reset() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Rc, Capacity { max_recv_wr: 2, ..Capacity::default() }).unwrap();
    let mr = port.register_memory(64, Access::LOCAL_WRITE).unwrap().handle;
    assert_eq!(port.post_receive(qp, 0, mr, 0, 8), Err(VerbError::WrongState(QpState::Reset)));
    port.modify_qp(qp, &init()).unwrap();
    assert_eq!([0, 1].map(|wr_id| port.post_receive(qp, wr_id, mr, 0, 8)), [Ok(()), Ok(())]);
    assert_eq!(port.post_receive(qp, 2, mr, 0, 8), Err(VerbError::QueueFull));
}

#[test]
fn memory_has_bounds() {
    let mut port = port();
    assert_eq!(port.register_memory(0, Access::NONE), Err(VerbError::OutOfRange("length")));
    assert_eq!(port.register_memory((16 << 20) + 1, Access::NONE), Err(VerbError::OutOfRange("length")));
    let mr = port.register_memory(8, Access::NONE).unwrap().handle;
    assert_eq!(port.write_memory(mr, 4, b"12345"), Err(VerbError::OutOfRange("offset")));
    assert_eq!(port.read_memory(mr, u64::MAX, 2), Err(VerbError::OutOfRange("offset")));
    port.write_memory(mr, 4, b"1234").unwrap();
    assert_eq!(port.read_memory(mr, 2, 6).unwrap(), b"\0\x001234");
}

#[test]
fn regions_have_keys_and_addresses_of_their_own() {
    let mut port = port();
    let one = port.register_memory(5000, Access::NONE).unwrap();
    let two = port.register_memory(1, Access::NONE).unwrap();
    assert!(one.rkey != two.rkey && one.handle != two.handle);
    assert!(two.va > one.va + 5000, "a gap lies between");
}

#[test]
fn reset_destroys_everything_and_begins_anew() {
    let mut lab = lab();
    let (qp, mr) = (lab.qp, lab.mr);
    lab.port.reset();
    assert_eq!(lab.port.query_qp(qp), Err(VerbError::NoSuchObject));
    assert_eq!(lab.port.register_memory(4096, Access::NONE).unwrap().rkey, mr.rkey);
    assert_eq!(lab.port.create_qp(QpKind::Rc, Capacity::default()).unwrap(), (qp, lab.qpn));
}

#[test]
fn a_destroyed_queue_pair_sends_nothing_more() {
    let mut lab = lab();
    let frame = harness::req(rocespec_codec::Opcode::RC_SEND_ONLY, 0).frame(&lab);
    lab.port.handle(lab.now, rocespec_model::Input::Frame(&frame));
    lab.port.destroy_qp(lab.qp).unwrap();
    assert_eq!(lab.collect(), [""; 0]);
    assert_eq!(gids(Ip::V4).0.to_string(), "::ffff:10.0.0.1");
}
