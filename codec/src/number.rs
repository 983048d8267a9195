//! Numbers that must not be taken for one another.

use core::fmt;

macro_rules! serial {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// 24 bits, counted modulo 2^24. There is no order: which of two is ahead depends on where one stands,
        /// see [`Self::since`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(u32);

        impl $name {
            /// One more than the largest value.
            pub const MODULUS: u32 = 1 << 24;

            /// Takes the low 24 bits.
            #[inline]
            pub const fn new(value: u32) -> Self {
                $name(value & 0xff_ffff)
            }

            /// The value, 0 to 2^24 - 1.
            #[inline]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// `count` further on, around the wrap.
            #[must_use]
            pub const fn plus(self, count: u32) -> Self {
                Self::new(self.0.wrapping_add(count))
            }

            /// `count` back, around the wrap.
            #[must_use]
            pub const fn minus(self, count: u32) -> Self {
                Self::new(self.0.wrapping_sub(count))
            }

            /// The next one.
            #[must_use]
            pub const fn next(self) -> Self {
                self.plus(1)
            }

            /// How far this one lies beyond `other`: -2^23 to 2^23 - 1, negative when it lies before it.
            pub const fn since(self, other: Self) -> i32 {
                (self.0.wrapping_sub(other.0) << 8) as i32 >> 8
            }

            /// True when this one lies in the `count` numbers that begin at `start`.
            pub const fn is_within(self, start: Self, count: u32) -> bool {
                Self::new(self.0.wrapping_sub(start.0)).0 < count
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#08x})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

serial! {
    /// Packet sequence number (BTH).
    Psn
}
serial! {
    /// Message sequence number (AETH): count of the messages that the responder has completed.
    Msn
}

macro_rules! key {
    ($(#[$doc:meta])* $name:ident($inner:ty) $width:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name($inner);

        impl $name {
            /// Takes the value, cut to its width.
            #[inline]
            pub const fn new(value: $inner) -> Self {
                $name(value & (((1u64 << $width) - 1) as $inner))
            }

            /// The value.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

key! {
    /// Queue pair number, 24 bits.
    Qpn(u32) 24
}
key! {
    /// Remote key of a memory region or window.
    RKey(u32) 32
}
key! {
    /// Queue key of a datagram queue pair.
    QKey(u32) 32
}
key! {
    /// Partition key: bit 15 full member, bits 14:0 the partition.
    PKey(u16) 16
}

impl Qpn {
    /// Destination of multicast datagrams.
    pub const MULTICAST: Qpn = Qpn(0xff_ffff);
}

impl PKey {
    /// The default partition, full member.
    pub const DEFAULT: PKey = PKey(0xffff);

    /// Same partition, and not both of them limited members.
    pub const fn matches(self, other: PKey) -> bool {
        (self.0 ^ other.0) & 0x7fff == 0 && (self.0 | other.0) & 0x8000 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_signed_and_knows_the_wrap() {
        let distance = |a, b| Psn::new(a).since(Psn::new(b));
        assert_eq!(distance(0, 0xff_ffff), 1);
        assert_eq!(distance(0xff_ffff, 0), -1);
        assert_eq!(distance(0x7f_ffff, 0), 0x7f_ffff);
        assert_eq!(distance(0x80_0000, 0), -0x80_0000);
        assert_eq!(distance(0, 0x80_0000), -0x80_0000);
        assert!(Psn::new(1).is_within(Psn::new(0xff_fffe), 4));
        assert!(!Psn::new(2).is_within(Psn::new(0xff_fffe), 4));
    }

    #[test]
    fn partition_keys_match_on_15_bits_and_one_full_member() {
        let matches = |a, b| PKey::new(a).matches(PKey::new(b));
        assert!(matches(0xffff, 0x7fff) && matches(0x7fff, 0xffff) && matches(0xffff, 0xffff));
        assert!(!matches(0x7fff, 0x7fff) && !matches(0xffff, 0x9234));
    }
}
