//! The kernel's filter in front of our socket: ordinary traffic of the host never comes to us.
//!
//! The kernel takes the outer VLAN tag off before the filter looks, so offsets are those of untagged frames.

use libc::{
    BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_LDX, BPF_MSH, BPF_RET, BPF_W, sock_filter,
};
use rocespec_codec::MacAddr;

use crate::dut::Addresses;

const ARP: u32 = 0x0806;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const ROCE_V1: u32 = 0x8915;
const MAC_CONTROL: u32 = 0x8808;
/// VLAN tags behind the outer one.
const TAGS: [u32; 2] = [0x8100, 0x88a8];
const ICMP: u32 = 1;
const UDP: u32 = 17;
const ICMPV6: u32 = 58;
const SOLICITATION: u32 = 135;
const ROCE_V2: u32 = 4791;

const DESTINATION: u32 = 0;
const ETHERTYPE: u32 = 12;
const L3: u32 = 14;
const V4_PROTOCOL: u32 = L3 + 9;
const V4_DESTINATION: u32 = L3 + 16;
const V6_NEXT: u32 = L3 + 6;
const V6_DESTINATION: u32 = L3 + 24;
const V6_PAYLOAD: u32 = L3 + 40;

/// All of a frame.
const WHOLE: u32 = 0x0004_0000;

/// One comparison. A frame that is too short for it is not taken at all, so the far ones come last.
#[derive(Debug, Clone, Copy)]
enum Test {
    Byte(u32, u32),
    Half(u32, u32),
    Word(u32, u32),
    /// Destination port of UDP behind an IPv4 header of any length.
    V4Port(u32),
}

impl Test {
    fn code(self, otherwise: u8) -> Vec<sock_filter> {
        let (load, value) = match self {
            Test::Byte(at, value) => (vec![op(BPF_LD | BPF_B | BPF_ABS, at)], value),
            Test::Half(at, value) => (vec![op(BPF_LD | BPF_H | BPF_ABS, at)], value),
            Test::Word(at, value) => (vec![op(BPF_LD | BPF_W | BPF_ABS, at)], value),
            Test::V4Port(value) => {
                (vec![op(BPF_LDX | BPF_B | BPF_MSH, L3), op(BPF_LD | BPF_H | BPF_IND, L3 + 2)], value)
            }
        };
        let compare = sock_filter { jf: otherwise, ..op(BPF_JMP | BPF_JEQ | BPF_K, value) };
        load.into_iter().chain([compare]).collect()
    }
}

fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Takes RoCE, ARP, neighbour solicitations, MAC control frames and everything that is for the tester.
pub(super) fn program(tester: &Addresses, interface: MacAddr) -> Vec<sock_filter> {
    let mut clauses = Vec::new();
    // The host has traffic of its own under its own address.
    if tester.mac != interface {
        let [a, b, c, d, e, f] = tester.mac.0.map(u32::from);
        let (high, low) = (a << 24 | b << 16 | c << 8 | d, e << 8 | f);
        clauses.push(vec![Test::Word(DESTINATION, high), Test::Half(DESTINATION + 4, low)]);
    }
    for ethertype in [ARP, ROCE_V1, MAC_CONTROL].into_iter().chain(TAGS) {
        clauses.push(vec![Test::Half(ETHERTYPE, ethertype)]);
    }
    let v4 = Test::Half(ETHERTYPE, IPV4);
    clauses.push(vec![v4, Test::Word(V4_DESTINATION, u32::from(tester.v4))]);
    clauses.push(vec![v4, Test::Byte(V4_PROTOCOL, UDP), Test::V4Port(ROCE_V2)]);
    let v6 = Test::Half(ETHERTYPE, IPV6);
    let words = tester.v6.octets().as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect::<Vec<_>>();
    let words = (0..).zip(words).map(|(index, word)| Test::Word(V6_DESTINATION + 4 * index, word));
    clauses.push([v6].into_iter().chain(words).collect());
    clauses.push(vec![v6, Test::Byte(V6_NEXT, UDP), Test::Half(V6_PAYLOAD + 2, ROCE_V2)]);
    clauses.push(vec![v6, Test::Byte(V6_NEXT, ICMPV6), Test::Byte(V6_PAYLOAD, SOLICITATION)]);

    any_of(&clauses)
}

/// Takes ICMP for the tester.
pub(super) fn pings(tester: &Addresses) -> Vec<sock_filter> {
    let for_us = Test::Word(V4_DESTINATION, u32::from(tester.v4));
    any_of(&[vec![Test::Half(ETHERTYPE, IPV4), Test::Byte(V4_PROTOCOL, ICMP), for_us]])
}

/// Takes the frame when one of the clauses holds.
fn any_of(clauses: &[Vec<Test>]) -> Vec<sock_filter> {
    let mut program: Vec<sock_filter> = clauses.iter().flat_map(|clause| all_of(clause)).collect();
    program.push(op(BPF_RET | BPF_K, 0));
    program
}

/// Takes the frame when all tests hold; otherwise what follows decides.
fn all_of(tests: &[Test]) -> Vec<sock_filter> {
    let mut code = vec![op(BPF_RET | BPF_K, WHOLE)];
    for test in tests.iter().rev() {
        // From behind the comparison over all that is there already.
        let otherwise = code.len() as u8;
        code.splice(0..0, test.code(otherwise));
    }
    code
}
