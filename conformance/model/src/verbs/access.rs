//! Rights.

use core::ops::{BitOr, BitOrAssign};

/// Rights on a memory region or on a queue pair: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(u8);

impl Access {
    /// No right.
    pub const NONE: Access = Access(0);
    /// The device may write for its own software: receives and READ responses.
    pub const LOCAL_WRITE: Access = Access(1);
    /// A peer may WRITE.
    pub const REMOTE_WRITE: Access = Access(2);
    /// A peer may READ.
    pub const REMOTE_READ: Access = Access(4);
    /// A peer may use ATOMICs.
    pub const REMOTE_ATOMIC: Access = Access(8);
    /// A peer may FLUSH to global visibility.
    pub const FLUSH_GLOBAL: Access = Access(16);
    /// A peer may FLUSH to persistence.
    pub const FLUSH_PERSISTENT: Access = Access(32);
    /// Windows may be bound to the region.
    pub const BIND: Access = Access(64);
    /// All of them.
    pub const ALL: Access = Access(127);

    /// True when all of `other` are in this set.
    pub const fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Access {
    type Output = Access;

    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

impl BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Access) {
        self.0 |= other.0;
    }
}

impl FromIterator<Access> for Access {
    fn from_iter<I: IntoIterator<Item = Access>>(rights: I) -> Access {
        rights.into_iter().fold(Access::NONE, BitOr::bitor)
    }
}
