//! Groups of UD queue pairs that get the same datagrams.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::Ipv6Addr;

use rocespec_codec::MacAddr;

use crate::verbs::QpHandle;

/// The groups that queue pairs of an endpoint are attached to, by their GID.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<Ipv6Addr, BTreeSet<QpHandle>>);

impl Groups {
    pub(crate) fn attach(&mut self, group: Ipv6Addr, qp: QpHandle) {
        self.0.entry(group).or_default().insert(qp);
    }

    /// True when it was attached.
    pub(crate) fn detach(&mut self, group: Ipv6Addr, qp: QpHandle) -> bool {
        let Some(members) = self.0.get_mut(&group) else { return false };
        let was_there = members.remove(&qp);
        if members.is_empty() {
            self.0.remove(&group);
        }
        was_there
    }

    /// A queue pair that is no more is in no group.
    pub(crate) fn forget(&mut self, qp: QpHandle) {
        self.0.retain(|_, members| {
            members.remove(&qp);
            !members.is_empty()
        });
    }

    /// The members of a group, oldest queue pair first.
    pub(crate) fn members(&self, group: Ipv6Addr) -> impl Iterator<Item = QpHandle> {
        self.0.get(&group).into_iter().flatten().copied()
    }
}

/// True when a GID names a group. IPv4 groups are `::ffff:224.0.0.0/100`.
pub(crate) fn is_group(gid: Ipv6Addr) -> bool {
    gid.to_ipv4_mapped().map_or(gid.is_multicast(), |v4| v4.is_multicast())
}

/// The Ethernet address of a group: 01:00:5e and 23 bits of an IPv4 group (RFC 1112), 33:33 and 32 bits of an IPv6 group
/// (RFC 2464). `None` for everything else.
pub(crate) fn mac(gid: Ipv6Addr) -> Option<MacAddr> {
    let [.., a, b, c, d] = gid.octets();
    is_group(gid).then(|| {
        let is_v4 = gid.to_ipv4_mapped().is_some();
        MacAddr(if is_v4 { [0x01, 0x00, 0x5e, b & 0x7f, c, d] } else { [0x33, 0x33, a, b, c, d] })
    })
}
