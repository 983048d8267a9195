//! How frames look: a dozen of them, in full and for people.

mod common;

use common::{packet, roce, vectors};
use rocespec_codec::notation::{Region, Scope, print, print_frame};
use rocespec_codec::{Frame, Psn, RKey, decode};

#[test]
fn vectors_as_lines() {
    let scope = Scope::default();
    let lines: Vec<String> = vectors()
        .iter()
        .map(|vector| format!("{}\n    {}", vector.name, print(&roce(&vector.frame), &scope).absolute().elided()))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_connection_as_lines() {
    // What the tester of a connection sees: the first vector sets the path, the others go along or across it.
    let vectors = vectors();
    let named = |name: &str| roce(&vectors.iter().find(|vector| vector.name == name).unwrap().frame);
    let first = named("rocev2_ipv4_rc_send_only");
    let mut scope = Scope::default();
    (scope.base.eth, scope.base.udp, scope.base.bth) = (first.eth.clone(), first.udp, first.bth);
    scope.base.bth.psn = Psn::new(0x034560);
    let write = named("rocev2_ipv4_rc_write_only");
    let regions = [Region { name: "mr", va: write.ext.reth.va - 0x40, len: 4096, rkey: write.ext.reth.rkey }];
    let scope = Scope { regions: &regions, ..scope };
    let lines: Vec<String> = vectors
        .iter()
        .filter(|vector| !vector.name.starts_with("thirdparty"))
        .map(|vector| print(&roce(&vector.frame), &scope).to_string())
        .filter(|line| line.len() < 300)
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn wrong_packets_as_lines() {
    let lines = [
        "SEND_ONLY psn=-1 13B pad=1 icrc=swapped",
        "SEND_ONLY psn=0 1024B=5a lenn=3",
        "ACKNOWLEDGE psn=0 msn=0xffffff syndrome=0xff",
        "RDMA_READ_RESPONSE_ONLY psn=7 timer=655.36ms 8B",
        "ATOMIC_ACKNOWLEDGE psn=7 msn=1 original=0xffff_ffff_ffff_ffff",
        "COMPARE_SWAP psn=7 va=mr-8 rkey=mr+1 swap=1 compare=2",
        "OP_0xff psn=1 qp=0xffffff data=deadbeef",
        "CNP psn=1 resv6=0x3f data=none",
        "SEND_ONLY psn=0 ip.options=01010101 ip.ihl=5 ip.mf ip.df=0 ip.offset=1 ip.reserved",
        "UD_SEND_ONLY v6 psn=0 qkey=0x80010000 src_qp=1 ip.dscp=26 ip.flow=0xfffff 4B",
        "SEND_ONLY v1 psn=0 vlan.id=5 vlan.pcp=7 vlan.dei vlan2.id=6 vlan2.tpid=0x9100 tver=15",
        "XRC_RNR_NAK psn=0 msn=0 timer=10us trailer=none",
    ];
    let regions = [Region { name: "mr", va: 0x1_0000, len: 4096, rkey: RKey::new(0x1200) }];
    let scope = Scope { regions: &regions, ..Scope::default() };
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut buffer = [0; 2048];
            match rocespec_codec::notation::parse(line, &scope, &mut buffer) {
                Ok(_) => print(&packet(line, &scope, &mut [0; 2048]), &scope).to_string(),
                Err(error) => format!("{line}\n    {error} ({:?})", error.span),
            }
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn other_frames_as_lines() {
    let scope = Scope::default();
    let arp = common::unhex("ffffffffffff0200000000010806000108000604000102000000000a0a00000100000000000a0a000002");
    let Ok(frame @ Frame::Arp(_)) = decode(&arp) else { panic!("ARP is not RoCE") };
    let lines = [print_frame(&frame, &scope).to_string(), print_frame(&frame, &scope).elided().to_string()];
    insta::assert_snapshot!(lines.join("\n"));
}
