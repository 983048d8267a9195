//! Two endpoints and what connects them.

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::field;
use rocespec_codec::notation::{Region, Scope};
use rocespec_codec::{
    Bth, Ethernet, Extensions, Ipv4, Ipv6, MacAddr, Mtu, Net, Opcode, Psn, Qpn, ROCE_V2_PORT, RnrTimer, Roce,
    Transport, Udp,
};
use rocespec_model::{
    Access, Capabilities, Capacity, Config, Defects, Endpoint, GidEntry, GidKind, MemoryRegion, Policy, QpAttributes,
    QpHandle, QpKind, QpState, VerbError,
};

use crate::link::End;
use crate::scenario::Network;

/// How two endpoints are made and connected. Pairs of values are those of A and of B.
#[derive(Debug, Clone)]
pub struct PairConfig {
    /// Transport service.
    pub transport: Transport,
    /// Network between them.
    pub network: Network,
    /// Path MTU.
    pub mtu: Mtu,
    /// First PSN that each sends.
    pub start_psn: [Psn; 2],
    /// What the standard leaves to each.
    pub policy: [Policy; 2],
    /// What each does wrong.
    pub defects: [Defects; 2],
    /// Local ACK timeout code.
    pub timeout: u8,
    /// Retry count.
    pub retry_count: u8,
    /// RNR retry count; 7 = without end.
    pub rnr_retry: u8,
    /// RNR NAK timer.
    pub rnr_timer: RnrTimer,
    /// READs and ATOMICs at once.
    pub rd_atomic: u8,
    /// Requests that each end has posted at once.
    pub depth: usize,
    /// Longest message in bytes. Operations beyond it are cut.
    pub max_len: u32,
    /// When each end posts receives.
    pub receives: [Receives; 2],
    /// How long a frame takes.
    pub delay: Duration,
}

impl Default for PairConfig {
    /// RC over IPv4 with path MTU 1024 and messages of up to 4 packets; receives are always there.
    fn default() -> Self {
        PairConfig {
            transport: Transport::Rc,
            network: Network::V4,
            mtu: Mtu::B1024,
            start_psn: [Psn::new(0); 2],
            policy: [Policy::PLAIN; 2],
            defects: [Defects::NONE; 2],
            timeout: 8,
            retry_count: 7,
            rnr_retry: 7,
            rnr_timer: RnrTimer::new(1),
            rd_atomic: 4,
            depth: 16,
            max_len: 4096,
            receives: [Receives::default(); 2],
            delay: Duration::from_micros(1),
        }
    }
}

/// When an end posts receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receives {
    /// So many are there from the beginning; at most 64.
    pub ready: u32,
    /// One that was used is replaced so much later. When none is ready, the first comes so much after the beginning.
    pub after: Duration,
}

impl Default for Receives {
    fn default() -> Self {
        Receives { ready: 32, after: Duration::ZERO }
    }
}

impl Receives {
    pub(super) fn slots(&self) -> u32 {
        self.ready.clamp(1, 64)
    }
}

impl PairConfig {
    /// Bytes of a region that the peer may use.
    pub(super) fn window_len(&self) -> u64 {
        u64::from(self.max_len.max(2048)) * 2
    }

    /// Bytes of one message's room in the other regions.
    pub(super) fn slot_len(&self) -> u64 {
        u64::from(self.max_len).next_multiple_of(8) + 64
    }
}

/// The address of an end.
pub(super) fn mac(end: End) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, 1 + end as u8])
}

/// The GID of an end.
pub(super) fn gid(end: End, network: Network) -> Ipv6Addr {
    let host = 1 + end as u16;
    match network {
        Network::V4 => Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, host),
        Network::V6 | Network::V1 => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host),
    }
}

/// One end, before it is connected.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) endpoint: Endpoint,
    pub(super) qp: QpHandle,
    pub(super) qpn: Qpn,
    /// What the peer writes, reads and changes.
    pub(super) window: MemoryRegion,
    /// Data of requests, a slot for each.
    pub(super) source: MemoryRegion,
    /// Results of requests, a slot for each.
    pub(super) sink: MemoryRegion,
    /// Receives, a slot for each.
    pub(super) inbox: MemoryRegion,
}

/// Makes an end.
pub(super) fn port(end: End, config: &PairConfig) -> Result<Port, VerbError> {
    let kind = if config.network == Network::V1 { GidKind::RoceV1 } else { GidKind::RoceV2 };
    let mut endpoint = Endpoint::new(Config {
        mac: mac(end),
        gids: vec![GidEntry { gid: gid(end, config.network), kind }],
        first_qpn: Qpn::new(0x11 + 0x66 * end as u32),
        policy: config.policy[end as usize],
        defects: config.defects[end as usize],
        capabilities: Capabilities { flush: true, atomic_write: true },
        ..Config::default()
    });
    endpoint.add_neighbour(gid(end.other(), config.network), mac(end.other()));
    let slots = config.slot_len() * config.depth as u64;
    let inbox = config.slot_len() * u64::from(config.receives[end as usize].slots());
    let window = endpoint.register_memory(config.window_len(), Access::ALL)?;
    let source = endpoint.register_memory(slots, Access::NONE)?;
    let sink = endpoint.register_memory(slots, Access::LOCAL_WRITE)?;
    let inbox = endpoint.register_memory(inbox, Access::LOCAL_WRITE)?;
    let capacity = Capacity { max_send_wr: config.depth as u32, max_recv_wr: 64 };
    let (qp, qpn) = endpoint.create_qp(QpKind::Rc, capacity)?;
    Ok(Port { endpoint, qp, qpn, window, source, sink, inbox })
}

/// Takes an end from RESET to RTS.
pub(super) fn connect(port: &mut Port, end: End, peer: Qpn, config: &PairConfig) -> Result<(), VerbError> {
    let none = QpAttributes::default;
    let ladder = [
        QpAttributes { state: Some(QpState::Init), pkey_index: Some(0), access: Some(Access::ALL), ..none() },
        QpAttributes {
            state: Some(QpState::Rtr),
            path_mtu: Some(config.mtu),
            dest_qpn: Some(peer),
            rq_psn: Some(config.start_psn[end.other() as usize]),
            max_dest_rd_atomic: Some(config.rd_atomic),
            min_rnr_timer: Some(config.rnr_timer),
            remote_gid: Some(gid(end.other(), config.network)),
            ..none()
        },
        QpAttributes {
            state: Some(QpState::Rts),
            sq_psn: Some(config.start_psn[end as usize]),
            timeout: Some(config.timeout),
            retry_count: Some(config.retry_count),
            rnr_retry: Some(config.rnr_retry),
            max_rd_atomic: Some(config.rd_atomic),
            ..none()
        },
    ];
    ladder.iter().try_for_each(|attributes| port.endpoint.modify_qp(port.qp, attributes))
}

/// An ordinary packet of an end to a queue pair of the other.
pub(super) fn ordinary(from: End, to: Qpn, config: &PairConfig) -> Roce<'static> {
    let (src, dst) = (gid(from, config.network), gid(from.other(), config.network));
    let v6 =
        Ipv6 { version: 6, traffic_class: 0, flow_label: 0, payload_len: 0, next_header: 0, hop_limit: 64, src, dst };
    let net = match (config.network, src.to_ipv4_mapped(), dst.to_ipv4_mapped()) {
        (Network::V4, Some(src), Some(dst)) => Net::V4(Ipv4 {
            version: 4,
            ihl: 5,
            tos: 0,
            total_len: 0,
            id: 0,
            flags_offset: Ipv4::DF,
            ttl: 64,
            protocol: 0,
            checksum: 0,
            src,
            dst,
            options: &[],
        }),
        (Network::V1, ..) => Net::Grh(v6),
        _ => Net::V6(v6),
    };
    let udp = Udp { sport: 0xc000, dport: ROCE_V2_PORT, len: 0, checksum: 0 };
    let psn = config.start_psn[from as usize];
    let mut packet = Roce {
        eth: Ethernet { dst: mac(from.other()), src: mac(from), tags: Default::default(), ethertype: 0 },
        net,
        udp: (config.network != Network::V1).then_some(udp),
        bth: Bth { dest_qp: to, psn, ..Bth::new(Opcode::RC_SEND_ONLY) },
        ext: Extensions::default(),
        payload: &[],
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    field::complete(&mut packet, |_| false);
    packet
}

/// A scope in which the IP identification and the source port of this packet, which mean nothing, are not shown.
pub(super) fn scope_like<'s>(ordinary: &Roce<'static>, packet: &Roce<'_>, regions: &'s [Region<'s>]) -> Scope<'s> {
    let mut base = ordinary.clone();
    if let (Net::V4(base), Net::V4(seen)) = (&mut base.net, packet.net) {
        base.id = seen.id;
    }
    if let (Some(base), Some(seen)) = (&mut base.udp, packet.udp) {
        base.sport = seen.sport;
    }
    Scope { base, regions }
}
