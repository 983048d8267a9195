//! Who has the tester's address? A device asks by ARP and by neighbour solicitation before it sends to us.

use std::net::Ipv6Addr;

use super::echo;
use crate::dut::Addresses;

/// What a frame from the device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::dut) enum Kind {
    /// Something for the tester to look at.
    Traffic,
    /// ARP and ICMP that asks nothing of us.
    Housekeeping,
    /// A question for one of our addresses, with the answer to send.
    Question(Vec<u8>),
}

const ETHERTYPE: usize = 12;
const L3: usize = 14;

const ARP: [u8; 2] = [0x08, 0x06];
pub(super) const IPV6: [u8; 2] = [0x86, 0xdd];

/// Ethernet and IPv4, 6 and 4 bytes of address.
const ARP_FIXED: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_REQUEST: [u8; 2] = [0, 1];
const ARP_REPLY: [u8; 2] = [0, 2];
const ARP_LENGTH: usize = 28;

pub(super) const IPV6_HEADER: usize = 40;
const HOP_BY_HOP: u8 = 0;
pub(super) const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Type, code, checksum, flags, target; then options.
const ND_LENGTH: usize = 24;
/// Solicited and override.
const ADVERTISEMENT_FLAGS: u8 = 0x60;
const TARGET_LINK_ADDRESS: [u8; 2] = [2, 1];

/// Looks at a frame and answers where it asks for one of the tester's addresses.
pub(in crate::dut) fn look(frame: &[u8], tester: &Addresses) -> Kind {
    let Some(l3) = frame.get(L3..) else { return Kind::Traffic };
    match frame[ETHERTYPE..L3] {
        [a, b] if [a, b] == ARP => arp(l3, tester).map_or(Kind::Housekeeping, Kind::Question),
        [a, b] if [a, b] == echo::IPV4 && l3.get(9) == Some(&echo::ICMP) => {
            echo::v4(frame, l3, tester).map_or(Kind::Housekeeping, Kind::Question)
        }
        [a, b] if [a, b] == IPV6 => match l3.get(6) {
            Some(&ICMPV6) => solicitation(frame, l3, tester)
                .or_else(|| echo::v6(frame, l3, tester))
                .map_or(Kind::Housekeeping, Kind::Question),
            // Multicast listener reports have a router alert before them.
            Some(&HOP_BY_HOP) if l3.get(IPV6_HEADER) == Some(&ICMPV6) => Kind::Housekeeping,
            _ => Kind::Traffic,
        },
        _ => Kind::Traffic,
    }
}

fn arp(packet: &[u8], tester: &Addresses) -> Option<Vec<u8>> {
    let packet = packet.get(..ARP_LENGTH)?;
    let (sender_mac, sender_ip, target_ip) = (&packet[8..14], &packet[14..18], &packet[24..28]);
    let ours = packet[..6] == ARP_FIXED && packet[6..8] == ARP_REQUEST && target_ip == tester.v4.octets();
    ours.then(|| {
        let mac = tester.mac.0;
        [sender_mac, &mac, &ARP, &ARP_FIXED, &ARP_REPLY, &mac, &tester.v4.octets(), sender_mac, sender_ip].concat()
    })
}

fn solicitation(frame: &[u8], packet: &[u8], tester: &Addresses) -> Option<Vec<u8>> {
    let source = Ipv6Addr::from(*packet.get(8..24)?.first_chunk::<16>()?);
    let message = packet.get(IPV6_HEADER..IPV6_HEADER + ND_LENGTH)?;
    let ours = message[0] == SOLICITATION && message[8..24] == tester.v6.octets();
    // A question from nowhere is a probe for duplicates: nobody may have our address, and the device does not take it.
    if !ours || source.is_unspecified() {
        return None;
    }
    let mac = tester.mac.0;
    let mut answer = vec![ADVERTISEMENT, 0, 0, 0, ADVERTISEMENT_FLAGS, 0, 0, 0];
    answer.extend_from_slice(&tester.v6.octets());
    answer.extend_from_slice(&TARGET_LINK_ADDRESS);
    answer.extend_from_slice(&mac);
    let sum = checksum_v6(tester.v6, source, &answer);
    answer[2..4].copy_from_slice(&sum.to_be_bytes());

    let length = (answer.len() as u16).to_be_bytes();
    let header = [0x60, 0, 0, 0, length[0], length[1], ICMPV6, 255];
    Some([&frame[6..12], &mac, &IPV6, &header, &tester.v6.octets(), &source.octets(), &answer].concat())
}

/// The checksum of ICMPv6 over its pseudo header (RFC 4443 section 2.3).
pub(super) fn checksum_v6(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let length = (message.len() as u32).to_be_bytes();
    checksum(&[&[&source.octets()[..], &destination.octets(), &length, &[0, 0, 0, ICMPV6]].concat(), message])
}

/// The internet checksum (RFC 1071) over parts; all but the last have an even length.
pub(super) fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
pub(in crate::dut) mod tests {
    use super::*;
    use rocespec_codec::MacAddr;
    use std::net::Ipv4Addr;

    const GUEST: [u8; 6] = [0x52, 0x54, 0, 0xaa, 0, 2];
    const OUR_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    const GUEST_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

    pub(in crate::dut) fn tester() -> Addresses {
        Addresses { mac: MacAddr([0x52, 0x54, 0, 0xaa, 0, 1]), v4: Ipv4Addr::new(10, 0, 0, 1), v6: OUR_V6 }
    }

    pub(in crate::dut) fn arp_request() -> Vec<u8> {
        let mut frame = [[0xff; 6], GUEST].concat();
        frame.extend(ARP);
        frame.extend(ARP_FIXED);
        frame.extend(ARP_REQUEST);
        frame.extend(GUEST);
        frame.extend([10, 0, 0, 2]);
        frame.extend([0; 6]);
        frame.extend([10, 0, 0, 1]);
        frame
    }

    fn solicitation_for(target: Ipv6Addr, source: Ipv6Addr) -> Vec<u8> {
        let mut frame = [[0x33, 0x33, 0xff, 0, 0, 1], GUEST].concat();
        frame.extend(IPV6);
        frame.extend([0x60, 0, 0, 0, 0, 32, ICMPV6, 255]);
        frame.extend(source.octets());
        frame.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 1]);
        frame.extend([SOLICITATION, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend(target.octets());
        frame.extend([1, 1]);
        frame.extend(GUEST);
        frame
    }

    #[test]
    fn an_arp_request_for_us_is_answered_to_the_one_who_asks() {
        let Kind::Question(answer) = look(&arp_request(), &tester()) else { panic!() };
        assert_eq!(answer.len(), 42);
        assert_eq!(answer[..6], GUEST);
        assert_eq!(answer[20..22], ARP_REPLY);
        assert_eq!(answer[22..32], [0x52, 0x54, 0, 0xaa, 0, 1, 10, 0, 0, 1]);
        assert_eq!(answer[32..38], GUEST);
    }

    #[test]
    fn a_solicitation_for_us_is_answered_with_a_right_checksum() {
        let Kind::Question(answer) = look(&solicitation_for(OUR_V6, GUEST_V6), &tester()) else { panic!() };
        assert_eq!(answer.len(), 14 + 40 + 32);
        let message = &answer[54..];
        assert_eq!((message[0], message[4]), (ADVERTISEMENT, ADVERTISEMENT_FLAGS));
        assert_eq!(message[26..], [0x52, 0x54, 0, 0xaa, 0, 1]);
        // Summed with its own checksum a right message gives zero.
        assert_eq!(checksum_v6(OUR_V6, GUEST_V6, message), 0);
        assert_eq!(answer[38..54], GUEST_V6.octets());
    }

    #[test]
    fn questions_for_others_and_probes_are_not_answered() {
        let mut request = arp_request();
        request[41] = 9;
        assert_eq!(look(&request, &tester()), Kind::Housekeeping);
        assert_eq!(look(&solicitation_for(GUEST_V6, GUEST_V6), &tester()), Kind::Housekeeping);
        assert_eq!(look(&solicitation_for(OUR_V6, Ipv6Addr::UNSPECIFIED), &tester()), Kind::Housekeeping);
    }

    #[test]
    fn everything_else_and_every_stump_goes_by() {
        let mut roce = solicitation_for(OUR_V6, GUEST_V6);
        roce[14 + 6] = 17;
        assert_eq!(look(&roce, &tester()), Kind::Traffic);
        for frame in [arp_request(), solicitation_for(OUR_V6, GUEST_V6)] {
            for length in 0..frame.len() {
                look(&frame[..length], &tester());
            }
        }
    }
}
