//! Two endpoints and what connects them.

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::field;
use rocespec_codec::notation::{Region, Scope};
use rocespec_codec::{
    Bth, Ethernet, Extensions, MacAddr, Mtu, Net, Opcode, Psn, QKey, Qpn, ROCE_V2_PORT, RnrTimer, Roce, Transport, Udp,
};
use rocespec_model::{
    Access, Capabilities, Capacity, Config, CongestionConfig, Defects, Endpoint, GidEntry, GidKind, LinkSpeed,
    MemoryRegion, Policy, QpAttributes, QpHandle, QpInit, QpKind, QpState, SrqHandle, SrqInit, VerbError,
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
    /// How long a bit takes through the cable.
    pub delay: Duration,
    /// Speed of the cable; `None`: frames take no time of their own.
    pub speed: Option<LinkSpeed>,
    /// What each does about congestion.
    pub congestion: [CongestionConfig; 2],
    /// The link neither doubles nor reorders frames. What an unreliable service delivers must then be in order, each
    /// message once at most; otherwise it delivers what comes.
    pub keeps_order: bool,
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
            speed: None,
            congestion: [CongestionConfig::default(); 2],
            keeps_order: false,
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
    /// The longest message: a datagram is one packet.
    pub(super) fn longest(&self) -> u32 {
        if self.transport == Transport::Ud { self.max_len.min(self.mtu.bytes() as u32) } else { self.max_len }
    }

    /// Bytes of a region that the peer may use.
    pub(super) fn window_len(&self) -> u64 {
        u64::from(self.max_len.max(2048)) * 2
    }

    /// Bytes of one message's room in the other regions.
    pub(super) fn slot_len(&self) -> u64 {
        u64::from(self.max_len).next_multiple_of(8) + 64
    }
}

/// Q_Key of both ends.
pub(super) const QKEY: QKey = QKey::new(0x1122_3344);

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
    /// The queue pair that asks.
    pub(super) qp: QpHandle,
    pub(super) qpn: Qpn,
    /// The queue pair that answers: the same one but in XRC.
    pub(super) target: QpHandle,
    pub(super) target_qpn: Qpn,
    /// Where an XRC target takes its receives from, and the number by which a peer names it.
    pub(super) srq: Option<(SrqHandle, Qpn)>,
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
        link_speed: config.speed,
        congestion: config.congestion[end as usize],
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
    let kind = match config.transport {
        Transport::Uc => QpKind::Uc,
        Transport::Ud => QpKind::Ud,
        Transport::Xrc => QpKind::XrcInitiator,
        _ => QpKind::Rc,
    };
    let (qp, qpn) = endpoint.create_qp_with(&QpInit { capacity, ..QpInit::new(kind) })?;
    let ((target, target_qpn), srq) = if kind == QpKind::XrcInitiator {
        let xrc_domain = Some(endpoint.create_xrc_domain());
        let srq = endpoint.create_srq(&SrqInit { xrc_domain, ..SrqInit::default() })?;
        let init = QpInit { capacity, xrc_domain, ..QpInit::new(QpKind::XrcTarget) };
        (endpoint.create_qp_with(&init)?, Some(srq))
    } else {
        ((qp, qpn), None)
    };
    Ok(Port { endpoint, qp, qpn, target, target_qpn, srq, window, source, sink, inbox })
}

/// Numbers by which an end calls its peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Where responses go.
    pub(super) qpn: Qpn,
    /// Where requests go.
    pub(super) target_qpn: Qpn,
    /// The shared receive queue that requests name (XRC).
    pub(super) srqn: Qpn,
}

impl Port {
    /// What its peer has to know.
    pub(super) fn as_peer(&self) -> Peer {
        let srqn = self.srq.map_or(Qpn::default(), |(_, srqn)| srqn);
        Peer { qpn: self.qpn, target_qpn: self.target_qpn, srqn }
    }
}

/// Takes an end from RESET to RTS.
pub(super) fn connect(port: &mut Port, end: End, peer: &Peer, config: &PairConfig) -> Result<(), VerbError> {
    let none = QpAttributes::default;
    let init = QpAttributes { state: Some(QpState::Init), pkey_index: Some(0), ..none() };
    let to_peer = QpAttributes {
        path_mtu: Some(config.mtu),
        dest_qpn: Some(peer.target_qpn),
        rq_psn: Some(config.start_psn[end.other() as usize]),
        remote_gid: Some(gid(end.other(), config.network)),
        ..none()
    };
    let answers = QpAttributes {
        max_dest_rd_atomic: Some(config.rd_atomic),
        min_rnr_timer: Some(config.rnr_timer),
        ..to_peer.clone()
    };
    let rts = QpAttributes { state: Some(QpState::Rts), sq_psn: Some(config.start_psn[end as usize]), ..none() };
    let asks = QpAttributes {
        timeout: Some(config.timeout),
        retry_count: Some(config.retry_count),
        rnr_retry: Some(config.rnr_retry),
        max_rd_atomic: Some(config.rd_atomic),
        ..rts.clone()
    };
    let rtr = Some(QpState::Rtr);
    let with_access = QpAttributes { access: Some(Access::ALL), ..init.clone() };
    let Port { endpoint, qp, target, .. } = port;
    let mut climb =
        |qp, ladder: [QpAttributes; 3]| ladder.iter().try_for_each(|attributes| endpoint.modify_qp(qp, attributes));
    match config.transport {
        Transport::Ud => {
            climb(*qp, [QpAttributes { qkey: Some(QKEY), ..init }, QpAttributes { state: rtr, ..none() }, rts])
        }
        Transport::Uc => climb(*qp, [with_access, QpAttributes { state: rtr, ..to_peer }, rts]),
        Transport::Xrc => {
            climb(*qp, [with_access.clone(), QpAttributes { state: rtr, ..to_peer }, asks])?;
            // Its responses go back to who asks; it sends nothing of its own.
            let answers = QpAttributes { state: rtr, dest_qpn: Some(peer.qpn), ..answers };
            climb(*target, [with_access, answers, QpAttributes { timeout: Some(config.timeout), ..rts }])
        }
        _ => climb(*qp, [with_access, QpAttributes { state: rtr, ..answers }, asks]),
    }
}

/// An ordinary packet of an end to a queue pair of the other.
pub(super) fn ordinary(from: End, to: Qpn, config: &PairConfig) -> Roce<'static> {
    let net = config.network.ordinary(gid(from, config.network), gid(from.other(), config.network));
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
