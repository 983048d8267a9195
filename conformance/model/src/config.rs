//! What an endpoint is made of.

use alloc::vec::Vec;
use core::net::Ipv6Addr;
use core::time::Duration;

use rocespec_codec::{MacAddr, Mtu, Net, PKey, Qpn};

use crate::congestion::CongestionConfig;
use crate::defect::Defects;
use crate::pause::{LinkSpeed, PauseConfig};
use crate::policy::Policy;

/// What an endpoint is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Address of the port; frames to another one are not for it.
    pub mac: MacAddr,
    /// The GID table. [`crate::QpAttributes::gid_index`] counts in it.
    pub gids: Vec<GidEntry>,
    /// The P_Key table. [`crate::QpAttributes::pkey_index`] counts in it.
    pub pkeys: Vec<PKey>,
    /// Number of the first queue pair; the next ones follow. 0 and 1 are reserved and passed over.
    pub first_qpn: Qpn,
    /// Operations beyond those that every endpoint serves.
    pub capabilities: Capabilities,
    /// MTU of the port: the longest datagram. Connections have a path MTU of their own.
    pub port_mtu: Mtu,
    /// What the standard leaves free.
    pub policy: Policy,
    /// Deviations, none by default.
    pub defects: Defects,
    /// Virtual time between a request and its response.
    pub response_delay: Duration,
    /// Speed of the link: a frame begins when the one before it is through, and is given when it begins. `None`: frames
    /// take no time; where a speed is needed all the same, for the length of pauses and the first rate of a queue pair, it
    /// is 100 Gb/s.
    pub link_speed: Option<LinkSpeed>,
    /// Which flow control the port obeys.
    pub pause: PauseConfig,
    /// What it does about congestion.
    pub congestion: CongestionConfig,
}

impl Default for Config {
    /// No address, no GID; conforming, plain policy, responses after 1 us, no flow control, nothing about congestion.
    fn default() -> Self {
        Config {
            mac: MacAddr::default(),
            gids: Vec::new(),
            pkeys: PKEY_TABLE.to_vec(),
            first_qpn: Qpn::new(0x11),
            capabilities: Capabilities::default(),
            port_mtu: Mtu::B4096,
            policy: Policy::default(),
            defects: Defects::NONE,
            response_delay: Duration::from_micros(1),
            link_speed: None,
            pause: PauseConfig::default(),
            congestion: CongestionConfig::default(),
        }
    }
}

impl Config {
    /// The speed of the link, named or not.
    pub(crate) fn speed(&self) -> LinkSpeed {
        self.link_speed.unwrap_or(LinkSpeed::G100)
    }
}

/// Operations that an endpoint may serve or not; none by default. Without, their opcodes are undefined ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities {
    /// FLUSH (annex A19).
    pub flush: bool,
    /// ATOMIC WRITE (annex A19).
    pub atomic_write: bool,
}

/// An entry of the GID table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GidEntry {
    /// The GID; IPv4 as `::ffff:a.b.c.d` (A17.4.1.1).
    pub gid: Ipv6Addr,
    /// Which protocol it stands for (CA17-40).
    pub kind: GidKind,
}

impl GidEntry {
    /// True when packets from here can go to `remote`: both are IPv4 addresses or neither is.
    pub(crate) fn reaches(&self, remote: Ipv6Addr) -> bool {
        let same_version = self.gid.to_ipv4_mapped().is_some() == remote.to_ipv4_mapped().is_some();
        self.kind == GidKind::RoceV1 || same_version
    }
}

/// Which RoCE a GID stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GidKind {
    /// GRH behind ethertype 0x8915.
    RoceV1,
    /// UDP port 4791 over IPv4 or IPv6.
    RoceV2,
}

impl GidKind {
    pub(crate) fn of(net: &Net<'_>) -> GidKind {
        match net {
            Net::Grh(_) => GidKind::RoceV1,
            Net::V4(_) | Net::V6(_) => GidKind::RoceV2,
        }
    }
}

/// The P_Key table that an endpoint has when it is told no other: the default partition as full and as limited member.
pub const PKEY_TABLE: [PKey; 2] = [PKey::DEFAULT, PKey::new(0x7fff)];
