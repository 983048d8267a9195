//! A packet as its fields: the same words as its line.

use rocespec_codec::notation::{self, Line, Region, Scope};
use rocespec_codec::{Psn, Qpn, RKey};

const LINES: [&str; 6] = [
    "SEND_ONLY psn=3 se ack 64B",
    "RDMA_WRITE_FIRST psn=0 ack va=mr+0x40 rkey=mr len=3000 1024B=aa",
    "NAK psn=1 msn=1 code=psn_sequence_error",
    "ACK psn=1 msn=2 credits=4 icrc=bad",
    "COMPARE_SWAP psn=-1 va=mr rkey=mr+1 swap=0x7 compare=0x3",
    "SEND_ONLY v6 psn=0 13B pad=2 ip.ttl=1 ip.ecn=ce udp.checksum=0x1",
];

fn regions(va: u64, rkey: u32) -> [Region<'static>; 1] {
    [Region { name: "mr", va, len: 4096, rkey: RKey::new(rkey) }]
}

/// What the fields say, on one of two paths whose numbers have nothing in common.
fn said(line: &str, other_path: bool) -> Vec<(&'static str, String, bool)> {
    let regions = if other_path { regions(0x7f00_0000, 0x1234_5600) } else { regions(0x1_0000, 0x77_0000) };
    let mut scope = Scope { regions: &regions, ..Scope::default() };
    if other_path {
        scope.base.bth.dest_qp = Qpn::new(0x99);
        scope.base.bth.psn = Psn::new(0xff_fffe);
    }
    let mut buffer = [0; 4096];
    let Ok(Line::Roce(packet)) = notation::parse(line, &scope, &mut buffer) else { panic!("{line}") };
    notation::fields(&packet, &scope).map(|said| (said.field.name, said.value.to_string(), said.ordinary)).collect()
}

#[test]
fn what_is_not_ordinary_is_what_the_line_writes() {
    for line in LINES {
        for (name, value, ordinary) in said(line, false) {
            let word = line.split(' ').any(|word| {
                word == format!("{name}={value}") || word == name && value == "1" || name == "data" && word == value
            });
            assert_eq!(word, !ordinary, "{line}: {name}={value}");
        }
    }
}

#[test]
fn the_same_line_on_two_paths_says_the_same() {
    for line in LINES {
        for ((name, one, ordinary), (other_name, other, as_ordinary)) in
            said(line, false).into_iter().zip(said(line, true))
        {
            assert_eq!((name, ordinary), (other_name, as_ordinary), "{line}");
            assert!(ordinary || one == other, "{line}: {name}: {one} and {other}");
        }
    }
}
