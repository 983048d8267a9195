//! Values of fields.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::eth::MacAddr;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number or a flag.
    Uint(u64),
    /// A MAC address.
    Mac(MacAddr),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address or a GID.
    V6(Ipv6Addr),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, if it is one.
    pub fn uint(self) -> Option<u64> {
        if let Value::Uint(number) = self { Some(number) } else { None }
    }

    /// The bytes, if it is some.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// What the values of a field are, and how the notation writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One bit; the bare name means 1.
    Flag,
    /// A number of so many bits, written in decimal.
    Decimal(u8),
    /// A number of so many bits, written in hex.
    Hex(u8),
    /// A packet sequence number, counted from the start of the connection.
    Psn,
    /// A queue pair number.
    Qpn,
    /// A remote key: the name of a memory region, or a number.
    RKey,
    /// A virtual address: the name of a memory region and an offset, or a number.
    Va,
    /// An RNR timer code, written as its time.
    RnrTimer,
    /// A NAK code, written by name.
    NakCode,
    /// Congestion bits: `not-ect`, `ect1`, `ect0`, `ce`.
    Ecn,
    /// A MAC address.
    Mac,
    /// An IPv4 or IPv6 address, as the packet has it.
    Address,
    /// Bytes in hex.
    Bytes,
    /// The payload: `64B`, `64B=aa` or `data=…`.
    Payload,
}
