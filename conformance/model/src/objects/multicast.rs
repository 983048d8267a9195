//! Multicast groups.

use core::net::Ipv6Addr;

use crate::endpoint::Endpoint;
use crate::multicast;
use crate::verbs::{QpHandle, QpKind, VerbError};

impl Endpoint {
    /// Lets a UD queue pair have the datagrams to a multicast group as well. What it sends there itself does not come back
    /// to this port.
    ///
    /// # Errors
    /// When there is no such queue pair, it is none of UD, or `group` is no multicast GID.
    pub fn attach_multicast(&mut self, qp: QpHandle, group: Ipv6Addr) -> Result<(), VerbError> {
        let kind = self.qps.get(qp).ok_or(VerbError::NoSuchObject)?.kind;
        if kind != QpKind::Ud {
            return Err(VerbError::Unsupported);
        }
        if !multicast::is_group(group) {
            return Err(VerbError::OutOfRange("group"));
        }
        self.groups.attach(group, qp);
        Ok(())
    }

    /// Takes a queue pair out of a multicast group.
    ///
    /// # Errors
    /// When it is not in it.
    pub fn detach_multicast(&mut self, qp: QpHandle, group: Ipv6Addr) -> Result<(), VerbError> {
        if self.groups.detach(group, qp) { Ok(()) } else { Err(VerbError::NoSuchObject) }
    }
}
