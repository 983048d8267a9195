//! Statistics of a network interface, as `ethtool -S` shows them: where NICs count pauses, RoCE packets and discards.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

// From the kernel's interface (linux/ethtool.h).
const GET_SET_SIZES: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
/// The set of strings that names the statistics.
const STATISTICS: u32 = 1;
/// Bytes of one name, filled up with zeroes.
const NAME: usize = 32;
/// Most statistics that are taken. A NIC with hundreds of queues has thousands.
const MOST: usize = 65_536;
/// The kernel writes as many as the driver has, whatever we asked for, and there may be more than a moment ago: a queue was
/// added. So much room is left for them.
const SPARE: usize = 16_384;

/// All statistics of an interface by the driver's own names. Empty where there are none or the interface is gone.
pub(super) fn statistics(interface: &str) -> BTreeMap<String, u64> {
    read(interface).unwrap_or_default()
}

fn read(interface: &str) -> Option<BTreeMap<String, u64>> {
    // Any socket serves to ask.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    let ask = |words: &mut [u64]| ask(&socket, interface, words);

    // cmd, reserved; mask of the sets that are asked for; a size for each.
    let mut sizes = [halves(GET_SET_SIZES, 0), 1 << STATISTICS, 0];
    ask(&mut sizes)?;
    let count = first_half(sizes[2]) as usize;
    if sizes[1] == 0 || count == 0 || count > MOST {
        return None;
    }
    // cmd, set; count, and the names right behind it.
    let mut strings = vec![0; 2 + (count + SPARE) * NAME / 8];
    strings[0] = halves(GET_STRINGS, STATISTICS);
    strings[1] = halves(count as u32, 0);
    ask(&mut strings)?;
    let named = (first_half(strings[1]) as usize).min(count);
    // cmd, count; a value for each.
    let mut values = vec![0; 1 + count + SPARE];
    values[0] = halves(GET_STATISTICS, count as u32);
    ask(&mut values)?;
    let valued = (second_half(values[0]) as usize).min(named);

    let bytes: Vec<u8> = strings[1..].iter().flat_map(|word| word.to_ne_bytes()).skip(4).collect();
    let names = bytes.chunks_exact(NAME).map(|name| {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&name[..end]).trim().to_owned()
    });
    let all = names.zip(values[1..].iter().copied()).take(valued);
    Some(all.filter(|(name, _)| !name.is_empty()).collect())
}

/// Puts one question of ethtool. The first 32 bits of `words` say which.
fn ask(socket: &UdpSocket, interface: &str, words: &mut [u64]) -> Option<()> {
    // SAFETY: all zero is an `ifreq`: it has numbers and arrays of numbers, and pointers that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: a name that is known has at most IFNAMSIZ - 1 bytes.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the descriptor is open; `words` is aligned as the structures of ethtool, lives over the call and has room for
    // what each of the three questions above brings, with SPARE for what the driver may have got since it was counted.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    (result >= 0).then_some(())
}

/// Two 32-bit numbers one behind the other in memory.
fn halves(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn first_half(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

fn second_half(word: u64) -> u32 {
    let [.., e, f, g, h] = word.to_ne_bytes();
    u32::from_ne_bytes([e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn halves_lie_as_they_do_in_a_c_structure() {
        assert_eq!((first_half(halves(7, 9)), second_half(halves(7, 9))), (7, 9));
    }

    #[test]
    fn an_interface_without_statistics_or_without_existence_has_none() {
        assert!(statistics("lo").is_empty());
        assert!(statistics("no-such-if0").is_empty());
        assert!(statistics(&"x".repeat(1000)).is_empty());
        assert!(statistics("").is_empty());
    }

    /// veth has statistics: the number of the interface at its other end.
    #[test]
    fn statistics_have_their_names_and_values() {
        let (name, peer) =
            (format!("rse{}", std::process::id() % 100_000), format!("rsp{}", std::process::id() % 100_000));
        let ip = |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|done| done.status.success());
        if !ip(&["link", "add", &name, "type", "veth", "peer", "name", &peer]) {
            eprintln!("skipped: a veth pair needs root and iproute2");
            return;
        }
        let seen = statistics(&name);
        let index = std::fs::read_to_string(format!("/sys/class/net/{peer}/ifindex")).unwrap();
        ip(&["link", "del", &name]);
        assert_eq!(seen.get("peer_ifindex"), index.trim().parse().ok().as_ref(), "{seen:?}");
    }
}
