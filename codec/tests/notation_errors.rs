//! Lines that are not understood: each says what to do. The documented ones are tested in `notation_doc.rs`.

use rocespec_codec::RKey;
use rocespec_codec::notation::{NotationErrorKind, Region, Scope, parse, parse_pattern};

fn error(line: &str) -> String {
    let regions = [Region { name: "mr", va: 0, len: 8, rkey: RKey::new(1) }];
    let scope = Scope { regions: &regions, ..Scope::default() };
    let mut buffer = [0; 64];
    let error = parse(line, &scope, &mut buffer).expect_err(line);
    format!("{} | {error}", &line[error.span.clone()])
}

#[test]
fn each_says_what_to_do() {
    let cases = [
        ("", " | nothing is written here; begin with a packet such as `SEND_ONLY`"),
        ("PF prio=1", "PF | unknown packet `PF`; did you mean `PFC`?"),
        ("PFC quanta=1", "PFC | `prio` has no ordinary value here; write `prio=` and a value"),
        ("PFC prio=8 quanta=1", "8 | `prio` takes a number of at most 3 bits, such as `1`"),
        ("PAUSE quanta=1 quanta=2", "quanta=2 | `quanta` is already said; write it once"),
        (
            "SEND_ONLY quantum",
            "quantum | unknown field `quantum`; write `name=value`, a flag such as `ack`, or a payload such as `64B`",
        ),
        ("SEND_ONLY psn", "psn | `psn` is no flag; write `psn=` and its value"),
        ("SEND_ONLY ack=2", "2 | `ack` takes `1` or `0`; the bare name means 1"),
        ("SEND_ONLY v4 v6", "v6 | `v4, v6 or v1` is already said; write it once"),
        ("SEND_ONLY vlan2.id=1", "vlan2.id=1 | SEND_ONLY has no `vlan2.id`; leave it out or choose another packet"),
        (
            "SEND_ONLY v6 ip.src=10.0.0.1",
            "10.0.0.1 | `ip.src` takes an address of the packet's IP version; `v4`, `v6` and `v1` choose it",
        ),
        ("SEND_ONLY 64", "64 | `data` takes pairs of hex digits, or `none`; `64B` and `64B=aa` stand alone"),
        ("SEND_ONLY 64B=a", "a | bytes are pairs of hex digits; write `0a0b`, or `none` for no bytes"),
        ("SEND_ONLY 64B=*", "64B=* | this describes many packets; write the one value to send"),
        ("SEND_ONLY imm=*", "imm=* | this describes many packets; write the one value to send"),
        ("ACK credits=1 syndrome=1", "syndrome=1 | `syndrome` is already said; write it once"),
        ("SEND_ONLY icrc=0..1 ", "icrc=0..1 | this describes many packets; write the one value to send"),
        ("SEND_ONLY eth.src=1..2", "1..2 | `eth.src` has no ranges; write one value, or `*` for any"),
        ("SEND_ONLY 65B", "65B | the bytes of this line need a longer buffer; 64 bytes are left"),
        ("raw 0g", "0g | bytes are pairs of hex digits; write `0a0b`, or `none` for no bytes"),
        (
            "raw 60B~01020304",
            "60B~01020304 | these bytes are cut short for reading; print the packet in full to send it again",
        ),
        (
            "NAK code=psn",
            "psn | `code` takes the name of a NAK code, such as `psn_sequence_error`, or a number up to 31",
        ),
        ("SEND_ONLY ip.ecn=ect2", "ect2 | `ip.ecn` takes `not-ect`, `ect1`, `ect0` or `ce`"),
        (
            "RDMA_READ_REQUEST va=mr*2",
            "mr*2 | `va` takes a memory region and an offset, such as `mr+0x40`, or a number of at most 64 bits",
        ),
        (
            "RDMA_READ_REQUEST rkey=elsewhere",
            "elsewhere | unknown memory region `elsewhere`; register it first, or write a number",
        ),
    ];
    for (line, said) in cases {
        assert_eq!(error(line), said);
    }
}

#[test]
fn a_payload_that_no_length_field_can_say_is_an_error_until_the_lengths_are_written() {
    let mut buffer = vec![0; 70_000];
    let error = parse("SEND_ONLY 65536B", &Scope::default(), &mut buffer).unwrap_err();
    assert_eq!(error.kind, NotationErrorKind::Overflow { field: "udp.len" });
    parse("SEND_ONLY 65536B udp.len=0 ip.len=0", &Scope::default(), &mut buffer).unwrap();
}

#[test]
fn frames_that_are_no_roce_packets_cannot_be_expected() {
    for line in ["raw 00", "PFC prio=1 quanta=0", "PAUSE"] {
        let mut buffer = [0; 64];
        let error = parse_pattern(line, &Scope::default(), &mut buffer).unwrap_err();
        assert_eq!(error.kind, NotationErrorKind::RawExpected, "{line}");
    }
}
