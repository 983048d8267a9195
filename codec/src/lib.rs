//! RoCE packets, both ways: bytes to typed headers, typed headers to bytes, and either to one line of text.
//!
//! ```
//! use rocespec_codec::{decode, icrc, Frame, Opcode};
//!
//! let bytes = [
//!     0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
//!     0x45, 0x02, 0x00, 0x3c, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x14, 0x79, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
//!     0xc1, 0x23, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, // UDP
//!     0x04, 0x80, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x80, 0x34, 0x56, 0x70, // BTH
//!     0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // payload
//!     0, 0, 0, 0, // ICRC
//! ];
//! let Frame::Roce(packet) = decode(&bytes)? else { panic!("not RoCE") };
//! assert_eq!(packet.bth.opcode, Opcode::RC_SEND_ONLY);
//! assert_eq!(packet.payload.len(), 16);
//! assert!(!icrc::verify(&packet)); // the zeroes at the end are not its ICRC
//! # Ok::<(), rocespec_codec::DecodeError>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | take a frame apart strictly, or as far as it goes | [`decode()`], [`decode_lax`] |
//! | write it | [`encode()`], [`Frame::encode`] |
//! | compute, verify and explain the ICRC | [`icrc`] |
//! | read and print a packet as a line | [`notation`] |
//! | walk and set fields by name | [`field`] |
//! | read connection management on queue pair 1 | [`mad`] |
//! | read how two ports agree on PFC and ETS | [`lldp`] |
//!
//! Nothing here allocates; a decoded frame borrows its payload. Reserved bits are kept, so that encoding what was
//! decoded gives the same bytes.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "arbitrary")]
extern crate alloc;

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod arp;
mod bth;
mod code;
mod datagram;
mod decode;
mod encode;
mod error;
mod eth;
mod ext;
pub mod field;
mod frame;
pub mod icrc;
mod lax;
pub mod lldp;
mod mac_control;
pub mod mad;
mod nd;
mod net;
pub mod notation;
mod number;
mod opcode;
mod other;
mod udp;
mod wire;

pub use arp::{Arp, ETHERTYPE_ARP};
pub use bth::Bth;
pub use code::{Credits, Mtu, NakCode, RnrTimer, Syndrome, SyndromeClass};
pub use datagram::{Datagram, Fragment, Ipv6Extension, MAX_IPV6_EXTENSIONS};
pub use decode::decode;
pub use encode::{build, encode, encoded_len};
pub use error::{DecodeError, EncodeError, ErrorKind, Layer, LengthSource};
pub use eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Ethernet, MIN_FRAME, MacAddr, Tag};
pub use ext::{Aeth, AtomicAckEth, AtomicEth, Deth, Extensions, Feth, Header, Ieth, ImmDt, Rdeth, Reth, XrcEth};
pub use frame::{Frame, Roce};
pub use lax::{Cut, Lax, Trailer, decode_lax};
pub use mac_control::{Control, ETHERTYPE_MAC_CONTROL, MAC_CONTROL_DESTINATION, MacControl, Pause, Pfc};
pub use nd::{LinkAddress, Neighbor, NeighborMessage, PROTOCOL_ICMPV6};
pub use net::{Ecn, Grh, Ipv4, Ipv6, NEXT_HEADER_IBA, Net, PROTOCOL_UDP};
pub use number::{Msn, PKey, Psn, QKey, Qpn, RKey};
pub use opcode::{Info, Opcode, PayloadRule, Position, Transport};
pub use udp::{ROCE_V2_PORT, Udp, right_udp_checksum};
