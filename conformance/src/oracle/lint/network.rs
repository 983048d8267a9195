//! The IP and UDP headers.

use rocespec_codec::{Ecn, Ipv4, Net, Roce, Transport};

use super::Found;
use crate::oracle::{Ends, Path};

pub(super) fn lint(packet: &Roce<'_>, ends: &Ends, found: &mut Found) {
    if let Net::V4(ip) = packet.net {
        // rule: lint.ipv4-header-length
        found.must(
            "lint.ipv4-header-length",
            ip.ihl == 5,
            &|| "ip.ihl=5".to_owned(),
            &|| format!("ip.ihl={}", ip.ihl),
            "RoCE v2 has no IPv4 options",
        );
        // rule: lint.fragment
        found.must(
            "lint.fragment",
            ip.flags_offset == Ipv4::DF,
            &|| "ip.df ip.mf=0 ip.offset=0".to_owned(),
            &|| format!("flags and offset {:#06x}", ip.flags_offset),
            "RoCE v2 is never fragmented",
        );
        // rule: lint.ip-checksum
        let right = ip.right_checksum();
        found.must(
            "lint.ip-checksum",
            ip.checksum == right,
            &|| format!("ip.checksum={right:#06x}"),
            &|| format!("ip.checksum={:#06x}", ip.checksum),
            "routers and receivers drop a datagram whose header checksum is wrong",
        );
    }
    // Datagrams go where their requests say.
    if let Some(path) = ends.path
        && matches!(packet.bth.opcode.transport(), Transport::Rc | Transport::Uc | Transport::Xrc | Transport::Cnp)
    {
        lint_path(packet, &path, found);
    }
    // rule: lint.ecn
    found.should(
        "lint.ecn",
        // No more than that: a congested switch on the way may have done it.
        packet.net.ecn() != Ecn::Ce,
        &|| "ip.ecn other than ce".to_owned(),
        &|| "ip.ecn=ce".to_owned(),
        "a sender does not mark its own packets; only a congested switch does",
    );
    if let Some(udp) = packet.udp {
        // rule: lint.udp-checksum
        found.should(
            "lint.udp-checksum",
            udp.checksum == 0,
            &|| "udp.checksum=0".to_owned(),
            &|| format!("udp.checksum={:#06x}", udp.checksum),
            "the UDP checksum should be 0; the ICRC protects the packet",
        );
    }
}

fn lint_path(packet: &Roce<'_>, path: &Path, found: &mut Found) {
    let (src, dst) = (packet.net.src_gid(), packet.net.dst_gid());
    let is_v4 = |gid: &std::net::Ipv6Addr| gid.to_ipv4_mapped().is_some();
    // rule: lint.version
    found.must(
        "lint.version",
        is_v4(&src) == is_v4(&path.own),
        &|| if is_v4(&path.own) { "IPv4" } else { "IPv6" }.to_owned(),
        &|| if is_v4(&src) { "IPv4" } else { "IPv6" }.to_owned(),
        "a connection keeps to the IP version of its addresses",
    );
    if packet.bth.opcode.transport() == Transport::Cnp {
        // It may have a class of its own.
        // rule: congestion.notification_point.cnp-to-source
        found.must(
            "congestion.notification_point.cnp-to-source",
            dst == path.peer,
            &|| format!("a CNP to {}", path.peer),
            &|| format!("one to {dst}"),
            "a CNP goes to where the marked packet came from",
        );
        return;
    }
    // rule: lint.addresses
    found.must(
        "lint.addresses",
        (src, dst) == (path.own, path.peer) || is_v4(&src) != is_v4(&path.own),
        &|| format!("{} to {}", path.own, path.peer),
        &|| format!("{src} to {dst}"),
        "a packet goes from the address of the connection to that of its peer",
    );
}
