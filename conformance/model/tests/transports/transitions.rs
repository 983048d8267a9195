//! Which moves between states each kind of queue pair has, and what they need.

use rocespec_codec::{Mtu, Psn, QKey, Qpn, RnrTimer};
use rocespec_model::{
    Access, Capacity, Config, Endpoint, GidEntry, GidKind, QpAttributes, QpInit, QpKind, QpState, VerbError,
};

use crate::harness::to;

fn port() -> Endpoint {
    let gid = "::ffff:10.0.0.1".parse().unwrap();
    Endpoint::new(Config { gids: vec![GidEntry { gid, kind: GidKind::RoceV2 }], ..Config::default() })
}

/// Attributes of the moves from RESET to RTS, by kind.
fn path(kind: QpKind) -> [QpAttributes; 3] {
    let pkey_index = Some(0);
    let sq_psn = Some(Psn::new(1));
    if kind == QpKind::Ud {
        let init = QpAttributes { pkey_index, qkey: Some(QKey::new(1)), ..to(QpState::Init) };
        return [init, to(QpState::Rtr), QpAttributes { sq_psn, ..to(QpState::Rts) }];
    }
    let init = QpAttributes { pkey_index, access: Some(Access::NONE), ..to(QpState::Init) };
    let rtr = QpAttributes {
        path_mtu: Some(Mtu::B1024),
        dest_qpn: Some(Qpn::new(5)),
        rq_psn: Some(Psn::new(1)),
        remote_gid: Some("::ffff:10.0.0.2".parse().unwrap()),
        ..to(QpState::Rtr)
    };
    [init, rtr, QpAttributes { sq_psn, ..to(QpState::Rts) }]
}

#[test]
fn unreliable_queue_pairs_need_less() {
    for kind in [QpKind::Uc, QpKind::Ud] {
        let mut port = port();
        let (qp, _) = port.create_qp(kind, Capacity::default()).unwrap();
        for step in path(kind) {
            port.modify_qp(qp, &step).unwrap();
            assert_eq!(port.query_qp(qp).unwrap().state, step.state);
        }
        for state in [QpState::Sqd, QpState::Rts, QpState::Error, QpState::Reset] {
            port.modify_qp(qp, &to(state)).unwrap();
        }
    }
}

#[test]
fn each_required_attribute_is_required() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Ud, Capacity::default()).unwrap();
    let [init, rtr, _] = path(QpKind::Ud);
    let refused = port.modify_qp(qp, &QpAttributes { qkey: None, ..init.clone() });
    assert_eq!(refused, Err(VerbError::MissingAttribute("qkey")));
    port.modify_qp(qp, &init).unwrap();
    port.modify_qp(qp, &rtr).unwrap();
    assert_eq!(port.modify_qp(qp, &to(QpState::Rts)), Err(VerbError::MissingAttribute("sq_psn")));

    let (qp, _) = port.create_qp(QpKind::Uc, Capacity::default()).unwrap();
    let [init, rtr, _] = path(QpKind::Uc);
    port.modify_qp(qp, &init).unwrap();
    let refused = port.modify_qp(qp, &QpAttributes { dest_qpn: None, ..rtr.clone() });
    assert_eq!(refused, Err(VerbError::MissingAttribute("dest_qpn")));
    let refused = port.modify_qp(qp, &QpAttributes { max_dest_rd_atomic: Some(1), ..rtr });
    assert_eq!(refused, Err(VerbError::UnexpectedAttribute("max_dest_rd_atomic")));
}

#[test]
fn what_a_kind_does_not_have_cannot_be_set() {
    for (kind, attributes, name) in [
        (QpKind::Ud, QpAttributes { access: Some(Access::NONE), ..path(QpKind::Ud)[0].clone() }, "access"),
        (QpKind::Uc, QpAttributes { qkey: Some(QKey::new(1)), ..path(QpKind::Uc)[0].clone() }, "qkey"),
        (QpKind::Rc, QpAttributes { qkey: Some(QKey::new(1)), ..path(QpKind::Rc)[0].clone() }, "qkey"),
    ] {
        let mut port = port();
        let (qp, _) = port.create_qp(kind, Capacity::default()).unwrap();
        assert_eq!(port.modify_qp(qp, &attributes), Err(VerbError::UnexpectedAttribute(name)));
    }
}

#[test]
fn no_state_is_left_out_and_none_is_jumped_over() {
    for kind in [QpKind::Rc, QpKind::Uc, QpKind::Ud] {
        let mut port = port();
        let (qp, _) = port.create_qp(kind, Capacity::default()).unwrap();
        for state in [QpState::Rtr, QpState::Rts, QpState::Sqd, QpState::Sqe] {
            let refused = port.modify_qp(qp, &to(state));
            assert_eq!(refused, Err(VerbError::IllegalTransition { from: QpState::Reset, to: state }));
        }
        port.modify_qp(qp, &to(QpState::Error)).unwrap();
        let refused = port.modify_qp(qp, &to(QpState::Init));
        assert_eq!(refused, Err(VerbError::IllegalTransition { from: QpState::Error, to: QpState::Init }));
    }
}

#[test]
fn the_key_of_a_datagram_queue_pair_can_change() {
    let mut port = port();
    let (qp, _) = port.create_qp(QpKind::Ud, Capacity::default()).unwrap();
    for step in path(QpKind::Ud) {
        port.modify_qp(qp, &step).unwrap();
    }
    port.modify_qp(qp, &QpAttributes { qkey: Some(QKey::new(7)), ..QpAttributes::default() }).unwrap();
    assert_eq!(port.query_qp(qp).unwrap().qkey, Some(QKey::new(7)));
}

#[test]
fn an_initiator_needs_what_a_sender_needs_and_a_target_what_a_receiver_needs() {
    let mut port = port();
    let (initiator, _) = port.create_qp(QpKind::XrcInitiator, Capacity::default()).unwrap();
    let xrc_domain = Some(port.create_xrc_domain());
    let (target, _) = port.create_qp_with(&QpInit { xrc_domain, ..QpInit::new(QpKind::XrcTarget) }).unwrap();
    let [init, rtr, rts] = path(QpKind::XrcInitiator);
    for qp in [initiator, target] {
        port.modify_qp(qp, &init).unwrap();
    }
    assert_eq!(port.modify_qp(target, &rtr), Err(VerbError::MissingAttribute("max_dest_rd_atomic")));
    port.modify_qp(initiator, &rtr).unwrap();
    assert_eq!(port.modify_qp(initiator, &rts), Err(VerbError::MissingAttribute("timeout")));
    let rtr = QpAttributes { max_dest_rd_atomic: Some(1), min_rnr_timer: Some(RnrTimer::new(1)), ..rtr };
    port.modify_qp(target, &rtr).unwrap();
    let rts = QpAttributes { timeout: Some(1), ..rts };
    port.modify_qp(target, &rts).unwrap();
    let (retry_count, rnr_retry, max_rd_atomic) = (Some(1), Some(1), Some(1));
    port.modify_qp(initiator, &QpAttributes { retry_count, rnr_retry, max_rd_atomic, ..rts }).unwrap();
    for qp in [initiator, target] {
        for state in [QpState::Sqd, QpState::Rts, QpState::Error, QpState::Reset] {
            port.modify_qp(qp, &to(state)).unwrap();
        }
    }
}
