//! Addresses in place of addresses: the same one for the same one, of the same kind.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{Ipv4Addr, Ipv6Addr};

use rocespec_codec::MacAddr;

/// What stands for what, numbered in the order in which it appears.
///
/// | address | becomes |
/// |---|---|
/// | IPv4 | 198.18.0.1 and on (RFC 2544) |
/// | IPv6, GID | 2001:db8::/32 (RFC 3849); addresses of one /64 stay in one /64 |
/// | link-local, IPv4 in IPv6, multicast | another of its kind; solicited-node and multicast MAC addresses fit the others |
/// | MAC | 02:00:00:00:00:01 and on |
///
/// What names nobody is kept: unspecified, loopback, broadcast, well-known groups.
#[derive(Debug, Default)]
pub(super) struct Names {
    macs: Numbers<[u8; 6]>,
    groups: Numbers<[u8; 6]>,
    v4: Numbers<u32>,
    v4_groups: Numbers<u32>,
    link_local: Numbers<u32>,
    /// The three parts of an IPv6 address: its subnet, and the upper and the lower end of its interface.
    prefixes: Numbers<u64>,
    interfaces: Numbers<u64>,
    ends: Numbers<u32>,
    /// The two parts of an IPv6 group that are not kept.
    group_ids: Numbers<u128>,
    group_ends: Numbers<u32>,
    guids: Numbers<u64>,
    lids: Numbers<u16>,
    texts: Numbers<Vec<u8>>,
}

/// Numbers from 1 on, in the order in which they are asked for.
#[derive(Debug)]
struct Numbers<K>(HashMap<K, u64>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Numbers(HashMap::new())
    }
}

impl<K: Eq + Hash> Numbers<K> {
    fn of(&mut self, key: K) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(key).or_insert(next)
    }
}

/// Well-known IPv4 groups, 224.0.0.0/24, and the multicast MAC addresses that belong to them end below this.
const WELL_KNOWN: u32 = 0x100;
/// Bits of an IPv4 group that its MAC address has.
const IN_MAC: u32 = 0x7f_ffff;

/// Addresses that are told apart at most: beyond, memory would be without bound.
const MAX: usize = 1 << 20;

impl Names {
    /// There are more addresses than are told apart.
    pub(super) fn is_full(&self) -> bool {
        let hardware = self.macs.0.len() + self.groups.0.len() + self.guids.0.len() + self.texts.0.len();
        let v4 = self.v4.0.len() + self.v4_groups.0.len() + self.link_local.0.len();
        let v6 = self.prefixes.0.len() + self.interfaces.0.len() + self.ends.0.len();
        hardware + v4 + v6 + self.group_ids.0.len() + self.group_ends.0.len() > MAX
    }

    pub(super) fn mac(&mut self, mac: MacAddr) -> MacAddr {
        let numbered = |first: u8, number: u64| {
            let [.., a, b, c, d] = number.to_be_bytes();
            MacAddr([first, 0, a, b, c, d])
        };
        match mac.0 {
            [0, 0, 0, 0, 0, 0] | [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] | [0x01, 0x80, 0xc2, ..] => mac,
            [0x33, 0x33, end @ ..] => {
                let [a, b, c, d] = self.group_end(u32::from_be_bytes(end)).to_be_bytes();
                MacAddr([0x33, 0x33, a, b, c, d])
            }
            [0x01, 0x00, 0x5e, a, b, c] if a < 0x80 => {
                let [_, a, b, c] = self.v4_group(u32::from_be_bytes([0, a, b, c])).to_be_bytes();
                MacAddr([0x01, 0x00, 0x5e, a, b, c])
            }
            octets if octets[0] & 1 == 1 => numbered(0x03, self.groups.of(octets)),
            octets => numbered(0x02, self.macs.of(octets)),
        }
    }

    pub(super) fn v4(&mut self, ip: Ipv4Addr) -> Ipv4Addr {
        let bits = ip.to_bits();
        if ip.is_unspecified() || ip.is_broadcast() || ip.is_loopback() {
            return ip;
        }
        Ipv4Addr::from_bits(if ip.is_multicast() {
            bits & !IN_MAC | self.v4_group(bits & IN_MAC)
        } else if ip.is_link_local() {
            // The first and the last 256 of them are reserved (RFC 3927).
            0xa9fe_0100 + self.link_local.of(bits) as u32 % 0xfe00
        } else {
            // More than 198.18.0.0/15 holds go on behind it: no two become one.
            0xc612_0000_u32.wrapping_add(self.v4.of(bits) as u32)
        })
    }

    /// The lower 23 bits of an IPv4 group.
    fn v4_group(&mut self, bits: u32) -> u32 {
        if bits < WELL_KNOWN { bits } else { (WELL_KNOWN - 1 + self.v4_groups.of(bits) as u32) & IN_MAC }
    }

    pub(super) fn v6(&mut self, ip: Ipv6Addr) -> Ipv6Addr {
        const LINK_LOCAL: u64 = 0xfe80 << 48;
        const DOCUMENTATION: u64 = 0x2001_0db8 << 32;
        if let Some(v4) = ip.to_ipv4_mapped() {
            return self.v4(v4).to_ipv6_mapped();
        }
        if ip.is_unspecified() || ip.is_loopback() {
            return ip;
        }
        if ip.is_multicast() {
            return self.group(ip);
        }
        let bits = ip.to_bits();
        let (prefix, interface) = ((bits >> 64) as u64, bits as u64);
        let prefix = if ip.is_unicast_link_local() {
            LINK_LOCAL
        } else {
            DOCUMENTATION | (self.prefixes.of(prefix) - 1) & 0xffff_ffff
        };
        let upper = (self.interfaces.of(interface >> 24) - 1) & 0xff_ffff_ffff;
        let end = self.end(interface as u32 & 0xff_ffff);
        Ipv6Addr::from_bits(u128::from(prefix) << 64 | u128::from(upper << 24 | u64::from(end)))
    }

    /// The last 24 bits of an IPv6 address: its solicited-node address has them, too.
    fn end(&mut self, bits: u32) -> u32 {
        self.ends.of(bits) as u32 & 0xff_ffff
    }

    /// Flags and scope stay, and the last 32 bits fit the MAC address.
    fn group(&mut self, ip: Ipv6Addr) -> Ipv6Addr {
        let bits = ip.to_bits();
        let (head, id, end) = (bits >> 112, bits >> 32 & ((1 << 80) - 1), bits as u32);
        // One of IPv4: ff0e::ffff:a.b.c.d.
        if id == 0xffff {
            let v4 = self.v4(Ipv4Addr::from_bits(end));
            return Ipv6Addr::from_bits(bits >> 32 << 32 | u128::from(v4.to_bits()));
        }
        let id = if id <= 1 { id } else { 1 + u128::from(self.group_ids.of(id)) };
        Ipv6Addr::from_bits(head << 112 | id << 32 | u128::from(self.group_end(end)))
    }

    /// The last 32 bits of an IPv6 group.
    fn group_end(&mut self, bits: u32) -> u32 {
        match bits >> 24 {
            // Solicited-node: the end of an address.
            0xff => 0xff00_0000 | self.end(bits & 0xff_ffff),
            _ if bits <= 0xffff => bits,
            _ => 0x0001_0000_u32.wrapping_add(self.group_ends.of(bits) as u32) & 0xfeff_ffff,
        }
    }

    /// Of an adapter: locally administered.
    pub(super) fn guid(&mut self, guid: u64) -> u64 {
        if guid == 0 { 0 } else { 0x0200_0000_0000_0000 | self.guids.of(guid) }
    }

    /// 0 and all ones stand for none.
    pub(super) fn lid(&mut self, lid: u16) -> u16 {
        if lid == 0 || lid == u16::MAX { lid } else { (self.lids.of(lid) % 0xbfff) as u16 }
    }

    /// A number for a name.
    pub(super) fn text(&mut self, text: &[u8]) -> String {
        self.texts.of(text.to_vec()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6(names: &mut Names, text: &str) -> String {
        names.v6(text.parse().unwrap()).to_string()
    }

    #[test]
    fn the_same_address_has_the_same_replacement_and_another_one_another() {
        let mut names = Names::default();
        let ips: Vec<Ipv4Addr> = (0..70_000_u32).map(|at| Ipv4Addr::from_bits(0x0a00_0000 + at)).collect();
        let first: Vec<_> = ips.iter().map(|ip| names.v4(*ip)).collect();
        let again: Vec<_> = ips.iter().map(|ip| names.v4(*ip)).collect();
        assert_eq!(first, again);
        assert_eq!(first[0], Ipv4Addr::new(198, 18, 0, 1));
        assert!(first.iter().all(|ip| matches!(ip.octets(), [198, 18 | 19, ..])));
        assert_eq!(first.iter().collect::<std::collections::HashSet<_>>().len(), ips.len());
    }

    #[test]
    fn what_names_nobody_is_kept() {
        let mut names = Names::default();
        for ip in ["0.0.0.0", "255.255.255.255", "127.0.0.1", "224.0.0.22"] {
            assert_eq!(names.v4(ip.parse().unwrap()).to_string(), ip);
        }
        for ip in ["::", "::1", "ff02::1", "ff02::16", "::ffff:0.0.0.0"] {
            assert_eq!(v6(&mut names, ip), ip);
        }
        for mac in
            ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:0e", "33:33:00:00:00:16", "01:00:5e:00:00:16"]
        {
            assert_eq!(names.mac(mac.parse().unwrap()).to_string(), mac);
        }
    }

    #[test]
    fn kinds_stay() {
        let mut names = Names::default();
        let v4 = |names: &mut Names, text: &str| names.v4(text.parse().unwrap());
        assert!(v4(&mut names, "169.254.77.3").is_link_local());
        assert_ne!(v4(&mut names, "169.254.77.3"), v4(&mut names, "169.254.77.4"));
        assert!(v4(&mut names, "239.1.2.3").is_multicast());
        assert!(v6(&mut names, "fe80::1234:56ff:fe78:9abc").starts_with("fe80::"));
        assert!(v6(&mut names, "fd12:3456::1").starts_with("2001:db8:"));
        assert!(v6(&mut names, "ff15:3456::1").starts_with("ff15:"));
        let gid = v6(&mut names, "::ffff:10.1.2.3");
        assert_eq!(gid, format!("::ffff:{}", v4(&mut names, "10.1.2.3")));
        assert_eq!(names.mac("b8:ce:f6:00:00:01".parse().unwrap()).0[0], 0x02);
        assert_eq!(names.mac("01:00:0c:cc:cc:cc".parse().unwrap()).0[0], 0x03);
    }

    #[test]
    fn what_is_made_from_an_address_fits_it() {
        let mut names = Names::default();
        let group = names.v6("ff02::1:ff78:9abc".parse().unwrap());
        let mac = names.mac("33:33:ff:78:9a:bc".parse().unwrap());
        let (local, global) =
            (names.v6("fe80::1:2:3478:9abc".parse().unwrap()), names.v6("2a00::78:9abc".parse().unwrap()));
        let ends = [group, local, global].map(|ip| ip.octets()[13..].to_vec());
        assert!(ends.iter().all(|end| end[..] == mac.0[3..]), "{ends:?} {mac}");
        assert_eq!(group.octets()[..13], [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff]);
        let (group, mac) = (names.v4("239.129.2.3".parse().unwrap()), names.mac("01:00:5e:01:02:03".parse().unwrap()));
        assert_eq!(group.octets()[2..], mac.0[4..]);
        assert_eq!(group.octets()[1] & 0x7f, mac.0[3]);
        let (group, mac) =
            (names.v6("ff15::1:2:3:4".parse().unwrap()), names.mac("33:33:00:03:00:04".parse().unwrap()));
        assert_eq!(group.octets()[12..], mac.0[2..]);
    }

    #[test]
    fn addresses_of_one_subnet_stay_in_one() {
        let mut names = Names::default();
        let subnet =
            |names: &mut Names, text: &str| v6(names, text).parse::<Ipv6Addr>().unwrap().segments()[..4].to_vec();
        let [a, b, c] = ["2a00:1::1", "2a00:1::2", "2a00:2::1"].map(|ip| subnet(&mut names, ip));
        assert_eq!(a, b);
        assert_ne!(a, c);
    }
}
