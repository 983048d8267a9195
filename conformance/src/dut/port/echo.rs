//! Pings for the tester's addresses are answered: a lab that set up its wire tries it so, and so do we the other way round.

use std::net::Ipv6Addr;

use super::neighbour::{ICMPV6, IPV6, IPV6_HEADER, checksum, checksum_v6};
use crate::dut::Addresses;

pub(super) const IPV4: [u8; 2] = [0x08, 0x00];
pub(super) const ICMP: u8 = 1;
pub(crate) const REQUEST: u8 = 8;
pub(crate) const REPLY: u8 = 0;
const V6_REQUEST: u8 = 128;
const V6_REPLY: u8 = 129;

/// An IPv4 header without options, and the fixed part of ICMP.
pub(crate) const IPV4_HEADER: usize = 20;
pub(crate) const ICMP_HEADER: usize = 8;

/// The answer to a ping for our IPv4 address. `packet` begins with the IPv4 header.
pub(super) fn v4(frame: &[u8], packet: &[u8], tester: &Addresses) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let packet = packet.get(..length)?;
    let (header, message) = packet.split_at_checked(IPV4_HEADER)?;
    let whole = header[0] == 0x45 && u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
    let ours = header[16..20] == tester.v4.octets() && message.len() >= ICMP_HEADER && message[0] == REQUEST;
    (whole && ours).then(|| {
        let destination = [header[12], header[13], header[14], header[15]];
        echo(&frame[6..12], tester, destination.into(), REPLY, &message[4..])
    })
}

/// A frame with an ICMP message from the tester. `rest` is what follows the checksum; at most a frame's worth.
pub(crate) fn echo(mac: &[u8], tester: &Addresses, destination: std::net::Ipv4Addr, kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0], rest].concat();
    let sum = checksum(&[&message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let [high, low] = ((IPV4_HEADER + message.len()) as u16).to_be_bytes();
    let mut header = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, ICMP, 0, 0];
    header.extend(tester.v4.octets());
    header.extend(destination.octets());
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [mac, &tester.mac.0, &IPV4, &header, &message].concat()
}

/// The answer to a ping for our IPv6 address. `packet` begins with the IPv6 header.
pub(super) fn v6(frame: &[u8], packet: &[u8], tester: &Addresses) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
    let message = packet.get(IPV6_HEADER..IPV6_HEADER + length)?;
    let source = Ipv6Addr::from(*packet.get(8..24)?.first_chunk::<16>()?);
    if message.len() < ICMP_HEADER || message[0] != V6_REQUEST || packet[24..40] != tester.v6.octets() {
        return None;
    }
    let mut answer = [&[V6_REPLY, 0, 0, 0], &message[4..]].concat();
    let sum = checksum_v6(tester.v6, source, &answer);
    answer[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = [&[0x60, 0, 0, 0], &packet[4..6], &[ICMPV6, 64], &tester.v6.octets(), &source.octets()].concat();
    Some([&frame[6..12], &tester.mac.0, &IPV6, &header, &answer].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dut::port::neighbour::{Kind, look, tests::tester};

    /// A ping from somebody with these addresses: the frame that he would send.
    fn ping_v4(destination: std::net::Ipv4Addr) -> Vec<u8> {
        let somebody = Addresses { v4: "10.0.0.7".parse().unwrap(), ..tester() };
        let mut frame = echo(&tester().mac.0, &somebody, destination, REQUEST, &[0x12, 0x34, 0, 7, b'h', b'i', b'!']);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        frame
    }

    fn ping_v6() -> Vec<u8> {
        let mut frame = [tester().mac.0, [2, 0, 0, 0, 0, 7]].concat();
        frame.extend(IPV6);
        frame.extend([0x60, 0, 0, 0, 0, 10, ICMPV6, 64]);
        frame.extend([0x20; 16]);
        frame.extend(tester().v6.octets());
        frame.extend([V6_REQUEST, 0, 0, 0, 0x12, 0x34, 0, 7, b'h', b'i']);
        frame
    }

    #[test]
    fn a_ping_comes_back_as_it_went_with_right_checksums() {
        let Kind::Question(answer) = look(&ping_v4(tester().v4), &tester()) else { panic!() };
        assert_eq!(answer[..6], [2, 0, 0, 0, 0, 7]);
        assert_eq!(answer[30..34], [10, 0, 0, 7]);
        assert_eq!(answer[34..36], [REPLY, 0]);
        assert_eq!(answer[38..], [0x12, 0x34, 0, 7, b'h', b'i', b'!']);
        assert_eq!((checksum(&[&answer[14..34]]), checksum(&[&answer[34..]])), (0, 0));

        let Kind::Question(answer) = look(&ping_v6(), &tester()) else { panic!() };
        assert_eq!(answer[38..54], [0x20; 16]);
        assert_eq!(answer[54..56], [V6_REPLY, 0]);
        assert_eq!(answer[58..], [0x12, 0x34, 0, 7, b'h', b'i']);
        let pseudo = [&answer[22..54], &[0, 0, 0, 10, 0, 0, 0, ICMPV6]].concat();
        assert_eq!(checksum(&[&pseudo, &answer[54..]]), 0);
    }

    #[test]
    fn pings_for_others_stumps_and_answers_get_none() {
        assert_eq!(look(&ping_v4("10.0.0.9".parse().unwrap()), &tester()), Kind::Housekeeping);
        let mut reply = ping_v4(tester().v4);
        reply[34] = REPLY;
        assert_eq!(look(&reply, &tester()), Kind::Housekeeping);
        for frame in [ping_v4(tester().v4), ping_v6()] {
            for length in 0..frame.len() {
                assert!(!matches!(look(&frame[..length], &tester()), Kind::Question(_)), "{length} bytes");
            }
        }
    }
}
