//! What a captured frame carries: Ethernet whatever the link type, and the innermost frame when tunnels lie around it.
//!
//! ```
//! use rocespec::capture::{CapturedFrame, inside::{Inside, Opener}};
//!
//! let mut data = [0; 62];
//! data[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
//! let captured = CapturedFrame { linktype: 1, original_len: 62, data: data.to_vec(), ..CapturedFrame::default() };
//! let mut opener = Opener::default();
//! let Inside::Ethernet(carried) = opener.open(&captured).inside else { panic!() };
//! assert!(carried.around.is_empty());
//! ```

mod infiniband;
mod link;
#[cfg(test)]
mod tests;
mod tunnel;

use std::fmt;

use rocespec_codec::{ROCE_V2_PORT, Roce};

use super::CapturedFrame;
pub use infiniband::{NativeInfiniBand, Transport};

/// Layers that are taken off at most: more than anybody stacks, and an end for what claims to have no end.
const MAX_LAYERS: usize = 12;

/// Bytes of an untagged Ethernet header.
const ETHERNET: usize = 14;

/// Something that lies around a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// Linux cooked capture, version 1 or 2, as `-i any` writes it. Version 2 names the interface.
    Cooked {
        /// 1 or 2.
        version: u8,
        /// Index of the interface on the capturing host.
        interface: Option<u32>,
    },
    /// A capture without link layer.
    RawIp,
    /// The loopback of a BSD system.
    Loopback,
    /// Endace's record header.
    Erf,
    /// An MPLS label.
    Mpls {
        /// The label, 20 bits.
        label: u32,
    },
    /// VXLAN.
    Vxlan {
        /// The network, 24 bits.
        vni: u32,
    },
    /// Geneve.
    Geneve {
        /// The network, 24 bits.
        vni: u32,
    },
    /// GRE without more.
    Gre,
    /// A mirrored frame.
    Erspan {
        /// 1, 2 or 3.
        version: u8,
        /// The mirror session; version 1 has none.
        session: Option<u16>,
        /// The mirror says that it cut the frame.
        truncated: bool,
    },
    /// IP in IP.
    Ip,
}

impl fmt::Display for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Around::Cooked { version, interface: Some(index) } => write!(f, "cooked{version} interface={index}"),
            Around::Cooked { version, interface: None } => write!(f, "cooked{version}"),
            Around::RawIp => f.write_str("raw-ip"),
            Around::Loopback => f.write_str("loopback"),
            Around::Erf => f.write_str("erf"),
            Around::Mpls { label } => write!(f, "mpls label={label}"),
            Around::Vxlan { vni } => write!(f, "vxlan vni={vni}"),
            Around::Geneve { vni } => write!(f, "geneve vni={vni}"),
            Around::Gre => f.write_str("gre"),
            Around::Erspan { version, session, .. } => {
                write!(f, "erspan{version}")?;
                session.map_or(Ok(()), |session| write!(f, " session={session}"))
            }
            Around::Ip => f.write_str("ip"),
        }
    }
}

/// A frame out of a capture.
#[derive(Debug)]
pub struct Opened<'a> {
    /// As it lies in the file.
    pub captured: &'a CapturedFrame,
    /// What it is.
    pub inside: Inside<'a>,
}

/// What a captured frame is.
#[derive(Debug)]
pub enum Inside<'a> {
    /// Ethernet, or something that was given an Ethernet header.
    Ethernet(Carried<'a>),
    /// InfiniBand's own link layer: not RoCE.
    InfiniBand(NativeInfiniBand),
    /// Nothing that is known, or too little of it.
    Unknown,
}

/// An Ethernet frame, as it was carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried<'a> {
    /// Begins at the destination MAC address. Addresses that nobody captured are zero.
    pub frame: &'a [u8],
    /// Its length on the wire in bytes, as far as it is known.
    pub original_len: usize,
    /// What lay around it, outermost first.
    pub around: Vec<Around>,
    /// Bytes at its beginning that were not captured.
    pub made: usize,
    /// Where its first captured byte lies in [`CapturedFrame::data`].
    pub start: usize,
    /// Its UDP destination port, where it is one of those that count as RoCE here; `frame` then says 4791.
    pub port: Option<u16>,
}

impl Carried<'_> {
    /// A mirror says that it kept only the beginning.
    pub fn is_cut_by_mirror(&self) -> bool {
        self.around.iter().any(|around| matches!(around, Around::Erspan { truncated: true, .. }))
    }

    /// A packet that was read from its frame, with the port that it was sent to.
    pub fn at_its_port<'p>(&self, mut packet: Roce<'p>) -> Roce<'p> {
        if let (Some(udp), Some(port)) = (&mut packet.udp, self.port) {
            udp.dport = port;
        }
        packet
    }
}

/// Takes off what lies around frames.
#[derive(Debug, Clone, Default)]
pub struct Opener {
    /// UDP ports that are RoCE v2 besides 4791.
    ports: Vec<u16>,
    scratch: Vec<u8>,
}

/// What bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// An Ethernet header.
    Ethernet,
    /// What this Ethernet type says.
    EtherType(u16),
}

/// Something to go on with: bytes, what they begin with, and how long they were on the wire.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a> {
    data: &'a [u8],
    begin: Begin,
    original_len: usize,
}

impl<'a> Bytes<'a> {
    /// What lies in it from `inner` on, which is a part of it.
    fn from(&self, inner: &'a [u8], begin: Begin) -> Bytes<'a> {
        let skipped = offset(self.data, inner);
        Bytes { data: inner, begin, original_len: self.original_len.saturating_sub(skipped) }
    }
}

impl Opener {
    /// Takes these UDP ports for RoCE v2, too.
    pub fn with_ports(ports: impl Into<Vec<u16>>) -> Opener {
        Opener { ports: ports.into(), scratch: Vec::new() }
    }

    /// Looks into a captured frame.
    pub fn open<'a>(&'a mut self, captured: &'a CapturedFrame) -> Opened<'a> {
        Opened { captured, inside: self.look(captured.linktype, captured.original_len, &captured.data) }
    }

    /// Looks into a frame of this link type, which had `original_len` bytes on the wire; `data` is what was captured.
    ///
    /// An Ethernet frame with nothing around it costs no allocation and no copy.
    pub fn look<'a>(&'a mut self, linktype: u32, original_len: u32, data: &'a [u8]) -> Inside<'a> {
        let mut around = Vec::new();
        let mut bytes = match link::open(linktype, original_len, data, &mut around) {
            Some(link::Link::Bytes(bytes)) => bytes,
            Some(link::Link::InfiniBand(native)) => return Inside::InfiniBand(native),
            None => return Inside::Unknown,
        };
        while around.len() < MAX_LAYERS {
            match tunnel::step(bytes, &mut around) {
                Some(inner) => bytes = inner,
                None => break,
            }
        }
        let start = offset(data, bytes.data);
        let made = if bytes.begin == Begin::Ethernet { 0 } else { ETHERNET };
        let port = self.port(bytes);
        let original_len = bytes.original_len + made;
        let frame = if made == 0 && port.is_none() { bytes.data } else { self.rewrite(bytes, port) };
        Inside::Ethernet(Carried { frame, original_len, around, made, start, port: port.map(|(_, port)| port) })
    }

    /// Where the UDP destination port lies that stands for RoCE here, and what it is.
    fn port(&self, bytes: Bytes<'_>) -> Option<(usize, u16)> {
        if self.ports.is_empty() {
            return None;
        }
        let udp = tunnel::udp(bytes)?;
        let port = u16::from_be_bytes([udp[2], udp[3]]);
        let at = offset(bytes.data, udp) + 2;
        self.ports.contains(&port).then_some((at, port))
    }

    /// A copy that begins with an Ethernet header and goes to the port of RoCE v2.
    fn rewrite(&mut self, bytes: Bytes<'_>, port: Option<(usize, u16)>) -> &[u8] {
        self.scratch.clear();
        if let Begin::EtherType(ethertype) = bytes.begin {
            self.scratch.extend([0; ETHERNET - 2]);
            self.scratch.extend(ethertype.to_be_bytes());
        }
        let made = self.scratch.len();
        self.scratch.extend(bytes.data);
        if let Some((at, _)) = port {
            self.scratch[made + at..made + at + 2].copy_from_slice(&ROCE_V2_PORT.to_be_bytes());
        }
        &self.scratch
    }
}

/// Where a part of some bytes lies in them.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// Two bytes in network order.
fn be16(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

/// Four bytes in network order.
fn be32(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}
