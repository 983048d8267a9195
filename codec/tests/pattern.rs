//! Expectations: what a line looks at, and what it leaves alone.

mod common;

use common::packet;
use rocespec_codec::notation::{NotationErrorKind, Region, Scope, parse_pattern};
use rocespec_codec::{Opcode, Psn, RKey};

const REGIONS: [Region<'static>; 2] = [
    Region { name: "mr", va: 0x7f00_0000_0000, len: 0x1000, rkey: RKey::new(0xabc_d01) },
    Region { name: "other", va: 0x7f00_0000_0800, len: 0x1000, rkey: RKey::new(0xabd_d02) },
];

fn scope() -> Scope<'static> {
    let mut scope = Scope { regions: &REGIONS, ..Scope::default() };
    scope.base.bth.psn = Psn::new(0xff_fffe);
    scope
}

/// What the pattern finds wrong with the packet.
fn wrong(pattern: &str, line: &str) -> Vec<String> {
    let (mut buffer, mut other) = ([0; 512], [0; 8192]);
    let parsed = parse_pattern(pattern, &scope(), &mut buffer).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let packet = packet(line, &scope(), &mut other);
    parsed.wrong_fields(&packet).map(|wrong| wrong.to_string()).collect()
}

fn fits(pattern: &str, line: &str) -> bool {
    wrong(pattern, line).is_empty()
}

#[test]
fn what_is_not_written_is_not_looked_at() {
    assert!(fits("SEND_ONLY", "SEND_ONLY psn=9 se ack 64B=aa ip.ttl=1 icrc=bad vlan.id=3"));
    assert!(fits("SEND_ONLY", "SEND_ONLY v6 psn=9"));
    assert!(!fits("SEND_ONLY", "SEND_FIRST"));
}

#[test]
fn acknowledgements_are_told_apart_by_the_class_of_their_syndrome() {
    assert!(fits("ACK", "ACK credits=0"));
    assert!(fits("ACKNOWLEDGE", "NAK code=31"));
    assert_eq!(wrong("ACK", "RNR_NAK"), ["expected ACK, saw RNR_NAK"]);
    assert_eq!(wrong("ACK", "ACKNOWLEDGE syndrome=0x45"), ["expected ACK, saw ACKNOWLEDGE"]);
    assert_eq!(wrong("ACK", "XRC_ACK"), ["expected ACK, saw XRC_ACK"]);
    let mut buffer = [0; 64];
    let pattern = parse_pattern("NAK psn=1", &scope(), &mut buffer).unwrap();
    assert!(pattern.same_kind(&packet("NAK psn=7", &scope(), &mut [0; 64])));
    assert!(!pattern.same_kind(&packet("ACK psn=1", &scope(), &mut [0; 64])));
    assert_eq!(pattern.opcode(), Opcode::RC_ACKNOWLEDGE);
}

#[test]
fn ranges_of_sequence_numbers_go_around_the_wrap() {
    for inside in [-1, 0, 1, 2, 3] {
        assert!(fits("SEND_ONLY psn=-1..3", &format!("SEND_ONLY psn={inside}")));
    }
    assert_eq!(wrong("SEND_ONLY psn=-1..3", "SEND_ONLY psn=-2"), ["expected psn=-1..3, saw psn=-2"]);
    assert_eq!(wrong("SEND_ONLY psn=-1..3", "SEND_ONLY psn=4"), ["expected psn=-1..3, saw psn=4"]);
    assert!(fits("ACK msn=0xffffff..1", "ACK msn=0"));
    assert!(!fits("ACK msn=0xffffff..1", "ACK msn=2"));
}

#[test]
fn other_ranges_have_two_ends() {
    assert!(fits("ACK credits=0..30", "ACK credits=30"));
    assert_eq!(wrong("ACK credits=0..30", "ACK"), ["expected credits=0..30, saw credits=31"]);
    assert!(fits("SEND_ONLY udp.sport=0xc000..0xffff", "SEND_ONLY"));
    let mut buffer = [0; 64];
    let error = parse_pattern("ACK credits=3..1", &scope(), &mut buffer).unwrap_err();
    assert_eq!((error.kind, error.span), (NotationErrorKind::Backwards, 12..16));
}

#[test]
fn timers_go_by_their_time_though_code_0_is_the_longest() {
    assert!(fits("RNR_NAK timer=0.64ms..655.36ms", "RNR_NAK timer=#0"));
    assert!(fits("RNR_NAK timer=0.64ms..655.36ms", "RNR_NAK timer=1.28ms"));
    assert_eq!(
        wrong("RNR_NAK timer=0.64ms..1.28ms", "RNR_NAK timer=10us"),
        ["expected timer=0.64ms..1.28ms, saw timer=0.01ms"]
    );
}

#[test]
fn a_star_asks_for_the_field_alone() {
    assert!(fits("RDMA_READ_RESPONSE_ONLY code=*", "RDMA_READ_RESPONSE_ONLY code=3"));
    assert_eq!(wrong("RDMA_READ_RESPONSE_ONLY code=*", "RDMA_READ_RESPONSE_ONLY"), ["expected code=*, saw no code"]);
    assert!(fits("SEND_ONLY vlan.id=*", "SEND_ONLY vlan.id=0"));
    assert_eq!(wrong("SEND_ONLY vlan.id=*", "SEND_ONLY"), ["expected vlan.id=*, saw no vlan.id"]);
    assert!(fits("SEND_ONLY data=*", "SEND_ONLY 1B"));
    assert_eq!(wrong("SEND_ONLY data=*", "SEND_ONLY"), ["expected data=*, saw 0B"]);
}

#[test]
fn payloads_are_known_by_length_bytes_or_check_sum() {
    assert!(fits("SEND_ONLY 300B", "SEND_ONLY 300B"));
    assert!(fits("SEND_ONLY 300B=*", "SEND_ONLY 300B=77"));
    assert_eq!(wrong("SEND_ONLY 300B=*", "SEND_ONLY 301B=77"), ["expected 300B=*, saw 301B=*"]);
    assert!(fits("SEND_ONLY 9B~cbf43926", "SEND_ONLY data=313233343536373839"));
    assert!(!fits("SEND_ONLY 9B~cbf43926", "SEND_ONLY data=313233343536373838"));
    let long = format!("SEND_ONLY data={}", "0a0b".repeat(50));
    assert_eq!(wrong("SEND_ONLY 100B", &long), ["expected 100B, saw 100B~f51fa8cd"]);
}

#[test]
fn addresses_are_said_by_the_regions_that_the_line_names() {
    let packet = "RDMA_WRITE_ONLY va=0x7f0000000900 rkey=0xabcd01";
    assert_eq!(
        wrong("RDMA_WRITE_ONLY va=mr+0x800..mr+0x8ff rkey=mr", packet),
        ["expected va=mr+0x800..mr+0x8ff, saw va=mr+0x900"]
    );
    assert_eq!(wrong("RDMA_WRITE_ONLY rkey=other", packet), ["expected rkey=other, saw rkey=0xabcd01"]);
    assert_eq!(wrong("RDMA_WRITE_ONLY va=1", packet), ["expected va=0x1, saw va=0x7f0000000900"]);
}

#[test]
fn networks_and_tags_are_looked_at_where_they_are_written() {
    assert_eq!(wrong("SEND_ONLY v4", "SEND_ONLY v1"), ["expected v4, saw v1"]);
    assert_eq!(wrong("SEND_ONLY untagged", "SEND_ONLY vlan.id=1"), ["expected untagged, saw 1 VLAN tag"]);
    assert_eq!(
        wrong("SEND_ONLY untagged vlan.id=1", "SEND_ONLY vlan.id=1 vlan2.id=2"),
        ["expected 1 VLAN tag, saw 2 VLAN tags"]
    );
    assert_eq!(wrong("SEND_ONLY ip.src=10.0.0.1", "SEND_ONLY v6"), ["expected ip.src=10.0.0.1, saw ip.src=fd00::1"]);
    assert_eq!(wrong("SEND_ONLY ip.ttl=64", "SEND_ONLY ip.ttl=63"), ["expected ip.ttl=64, saw ip.ttl=63"]);
}

#[test]
fn an_icrc_is_right_or_wrong_by_itself() {
    assert!(fits("SEND_ONLY icrc=right", "SEND_ONLY 64B"));
    assert!(fits("SEND_ONLY icrc=bad", "SEND_ONLY 64B icrc=bad"));
    assert_eq!(wrong("SEND_ONLY icrc=right", "SEND_ONLY icrc=1"), ["expected icrc=right, saw icrc=0x1"]);
    assert_eq!(wrong("SEND_ONLY icrc=right", "SEND_ONLY icrc=swapped"), ["expected icrc=right, saw icrc=swapped"]);
}

#[test]
fn a_field_that_the_packet_cannot_have_is_an_error() {
    let cases = [
        "ACK va=mr",
        "ACK timer=*",
        "SEND_ONLY msn=*",
        "SEND_ONLY v6 ip.id=*",
        "COMPARE_SWAP add=1",
        "UC_SEND_ONLY qkey=0..1",
    ];
    for line in cases {
        let mut buffer = [0; 64];
        let error = parse_pattern(line, &scope(), &mut buffer).unwrap_err();
        assert!(matches!(error.kind, NotationErrorKind::NotInPacket { .. }), "{line}: {error:?}");
    }
}
