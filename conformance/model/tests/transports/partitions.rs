//! Partitions and paths: each queue pair is in the one that its entry of the P_Key table names.

use rocespec_codec::{Opcode, PKey};
use rocespec_model::{Config, Endpoint, QpAttributes, QpKind, QpState, VerbError};

use crate::harness::{look, req, to};

const TABLE: [PKey; 3] = [PKey::DEFAULT, PKey::new(0x8123), PKey::new(0x0123)];

fn lab(pkey_index: u16) -> crate::harness::Lab {
    crate::harness::lab_with(|options| {
        options.pkeys = TABLE.to_vec();
        options.attributes.pkey_index = Some(pkey_index);
    })
}

#[test]
fn a_queue_pair_takes_packets_of_its_own_partition() {
    let send = |psn, pkey| req(Opcode::RC_SEND_ONLY, psn).len(8).bth(|bth| bth.pkey = PKey::new(pkey));
    let mut full = lab(1);
    full.assert_dropped(send(0, 0xffff), "drop_pkey");
    assert_eq!(full.send(send(0, 0x8123)), ["ACK 0 msn=1"]);
    assert_eq!(full.send(send(1, 0x0123)), ["ACK 1 msn=2"]);
    let mut limited = lab(2);
    limited.assert_dropped(send(0, 0x0123), "drop_pkey");
    assert_eq!(limited.send(send(0, 0x8123)), ["ACK 0 msn=1"]);
}

#[test]
fn a_queue_pair_sends_with_its_own_entry() {
    for (index, pkey) in (0..).zip(TABLE) {
        let mut lab = lab(index);
        lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8).bth(|bth| bth.pkey = PKey::new(pkey.get() | 0x8000)));
        look(&lab.frames[0], |packet| assert_eq!(packet.bth.pkey, pkey));
    }
}

#[test]
fn an_entry_that_is_not_there_cannot_be_named() {
    let mut port = Endpoint::new(Config { pkeys: TABLE.to_vec(), ..Config::default() });
    let (qp, _) = port.create_qp(QpKind::Ud, Default::default()).unwrap();
    let init = |index| QpAttributes { pkey_index: Some(index), qkey: Some(Default::default()), ..to(QpState::Init) };
    assert_eq!(port.modify_qp(qp, &init(3)), Err(VerbError::OutOfRange("pkey_index")));
    assert_eq!(port.modify_qp(qp, &init(2)), Ok(()));
}

#[test]
fn the_migration_bit_is_the_policy_s_to_choose() {
    for sends_migrated in [false, true] {
        let mut lab = crate::harness::lab_with(|options| options.policy.sends_migrated = sends_migrated);
        lab.send(req(Opcode::RC_SEND_ONLY, 0).len(8));
        look(&lab.frames[0], |packet| assert_eq!(packet.bth.migreq, sends_migrated));
    }
}
