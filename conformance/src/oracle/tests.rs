use std::net::Ipv6Addr;

use rocespec_codec::notation::{self, Line, Scope};

use super::*;
use crate::ledger::Ledger;

pub(super) const OWN: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(super) const PEER: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn oracle() -> Oracle {
    let scope = ordinary(OWN, PEER);
    Oracle::new(OracleConfig {
        ends: Ends {
            own_qpn: Qpn::new(0x11),
            peer_qpn: Qpn::new(0x11),
            path: Some(Path { own: scope.base.net.src_gid(), peer: scope.base.net.dst_gid() }),
            station: Some(Station { mac: scope.base.eth.dst, vlan: None }),
            pkey: Some(PKey::DEFAULT),
        },
        stream: StreamConfig {
            transport: Transport::Rc,
            mtu: Some(1024),
            sends_from: Some(Psn::new(0)),
            expects_from: Some(Psn::new(0)),
            is_whole: true,
            max_rd_atomic: None,
            go_back_n: true,
            ack_timeout: None,
        },
        skew: Duration::ZERO,
    })
}

/// What an ordinary packet looks like, over IPv6.
pub(super) fn ordinary(src: Ipv6Addr, dst: Ipv6Addr) -> Scope<'static> {
    let mut scope = Scope::default();
    let mut room = [0; 64];
    let Ok(Line::Roce(base)) =
        notation::parse(&format!("SEND_ONLY v6 psn=0 ip.src={src} ip.dst={dst}"), &scope, &mut room)
    else {
        panic!("an ordinary packet")
    };
    scope.base.eth = base.eth.clone();
    scope.base.net = match base.net {
        rocespec_codec::Net::V6(ip) => rocespec_codec::Net::V6(ip),
        _ => panic!("IPv6"),
    };
    scope.base.bth.dest_qp = Qpn::new(0x11);
    scope
}

/// Plays lines, `>` to the device and `<` from it, and gives the rules that are broken.
fn play(script: &str) -> Vec<(&'static str, Level)> {
    let mut oracle = oracle();
    let mut broken = Vec::new();
    let mut now = Time::ZERO;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        now = now + Duration::from_millis(1);
        let (way, text) = line.split_at(1);
        let scope = if way == ">" { ordinary(PEER, OWN) } else { ordinary(OWN, PEER) };
        let mut room = [0; 4096];
        let Ok(Line::Roce(packet)) = notation::parse(text.trim(), &scope, &mut room) else { panic!("{text}") };
        match way {
            ">" => oracle.received(now, &packet),
            _ => broken.extend(oracle.sent(now, &packet).iter().map(|breach| (breach.rule, breach.level))),
        }
    }
    for (rule, _) in &broken {
        assert!(Ledger::embedded().get(rule).is_some(), "{rule} stands in the ledger");
    }
    broken
}

/// The one rule that a packet of the device breaks behind a SEND that asks for an answer.
fn broken_by(packet: &str) -> &'static str {
    let broken = play(&format!("> SEND_ONLY psn=0 ack\n< {packet}"));
    assert_eq!(broken.len(), 1, "{packet}: {broken:?}");
    broken[0].0
}

#[test]
fn a_right_exchange_breaks_nothing() {
    assert_eq!(play("> SEND_ONLY psn=0 ack 8B\n< ACK psn=0 msn=1\n< SEND_ONLY psn=0 ack se 8B"), []);
}

#[test]
fn each_header_is_looked_at() {
    for (packet, rule) in [
        ("ACK psn=0 msn=1 icrc=bad", "lint.icrc"),
        ("ACK psn=0 msn=1 qp=0x12", "lint.dest-qp"),
        ("ACK psn=0 msn=1 pkey=0x1234", "lint.pkey"),
        ("ACK psn=0 msn=1 tver=1", "lint.bth-tver"),
        ("ACK psn=0 msn=1 resv7=1", "lint.bth-reserved"),
        ("SEND_ONLY psn=0 8B pad=1", "lint.pad"),
        ("ACK psn=0 msn=1 ack", "lint.ack-fields"),
        ("ACK psn=0 msn=1 8B", "lint.ack-fields"),
        ("RDMA_WRITE_ONLY psn=0 se va=0 rkey=1 len=8 8B", "rc.requester.solicited"),
        ("ACKNOWLEDGE psn=0 msn=0 syndrome=0x65", "lint.aeth-syndrome"),
        ("ACKNOWLEDGE psn=0 msn=1 syndrome=0x80", "lint.aeth-syndrome"),
        ("FLUSH psn=0 feth.resv=1 rkey=1 len=8", "lint.ext-reserved"),
        ("ACK psn=0 msn=1 ip.src=fd00::3", "lint.addresses"),
        ("ACK psn=0 msn=1 ip.dst=fd00::3", "lint.addresses"),
        ("ACK psn=0 msn=1 ip.ecn=ce", "lint.ecn"),
        ("ACK psn=0 msn=1 udp.checksum=1", "lint.udp-checksum"),
    ] {
        assert_eq!(broken_by(packet), rule, "{packet}");
    }
}

#[test]
fn a_cnp_answers_a_mark_and_has_fixed_fields() {
    let marked = "> SEND_ONLY psn=0 ip.ecn=ce\n";
    let (fields, only_ce) = ("congestion.notification_point.cnp-fields", "congestion.notification_point.only-ce");
    assert_eq!(play(&format!("{marked}< CNP becn")), []);
    assert_eq!(play("< CNP becn"), [(only_ce, Level::Must)]);
    assert_eq!(play("> SEND_ONLY psn=0 ip.ecn=ce icrc=bad\n< CNP becn"), [(only_ce, Level::Must)]);
    assert_eq!(play(&format!("{marked}< CNP becn\n< CNP becn")), [(only_ce, Level::Must)]);
    assert_eq!(play(&format!("{marked}< CNP becn psn=7")), [(fields, Level::Must)]);
    assert_eq!(play(&format!("{marked}< CNP becn pkey=0x7fff")), [(fields, Level::Must)]);
    let without_becn = ("congestion.notification_point.cnp-becn", Level::Should);
    assert_eq!(play(&format!("{marked}< CNP")), [without_becn]);
    let answered = ("congestion.notification_point.cnp-not-answered", Level::Should);
    assert_eq!(play("> CNP becn ip.ecn=ce\n< CNP becn"), [answered]);
    let to_source = "congestion.notification_point.cnp-to-source";
    assert_eq!(play(&format!("{marked}< CNP becn ip.dst=fd00::3")), [(to_source, Level::Must)]);
    // Some devices send one with a sequence NAK.
    assert_eq!(play("> SEND_ONLY psn=1\n< NAK psn=0 msn=0 code=psn_sequence_error\n< CNP becn"), []);
    let before = "> SEND_ONLY psn=1\n< CNP becn\n< NAK psn=0 msn=0 code=psn_sequence_error\n";
    assert_eq!(play(before), []);
    assert_eq!(play(&format!("{before}< CNP becn")), [(only_ce, Level::Must)]);
}

#[test]
fn an_rnr_nak_that_may_have_been_dropped_asks_for_nothing() {
    let again = |nak: &str| play(&format!("< SEND_ONLY psn=0 8B\n> {nak}\n< SEND_ONLY psn=0 8B"));
    let nak = "RNR_NAK psn=0 msn=0 timer=491.52ms";
    assert_eq!(again(nak), [("rc.requester.rnr-wait", Level::Must)]);
    for wrong in ["pkey=0x1234", "ip.src=fd00::3", "eth.dst=02:00:00:00:00:82", "vlan.id=9", "icrc=bad"] {
        assert_eq!(again(&format!("{nak} {wrong}")), [], "{wrong}");
    }
}

#[test]
fn one_source_port_is_enough_for_requests_and_one_for_responses() {
    let broken = play("< SEND_ONLY psn=0 8B udp.sport=50000\n< SEND_ONLY psn=1 8B udp.sport=50001");
    assert_eq!(broken, [("frame.responder.source-port", Level::Should)]);
    let request = "> SEND_ONLY psn=0 ack\n< SEND_ONLY psn=0 8B udp.sport=50000\n";
    let answered = format!("{request}< ACK psn=0 msn=1 udp.sport=50001\n");
    assert_eq!(play(&answered), []);
    let again = play(&format!("{answered}< ACK psn=0 msn=1 udp.sport=50000"));
    assert_eq!(again, [("frame.responder.source-port", Level::Should)]);
}
