//! A live connection: the queue pair on the device, the tester's end of it, and the symbols that a script may use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

use rocespec_codec::field;
use rocespec_codec::notation::{Region, Scope};
use rocespec_codec::{
    Bth, Deth, Ethernet, Extensions, MacAddr, Net, Opcode, Psn, QKey, Qpn, RKey, ROCE_V2_PORT, Roce, Udp,
};
use rocespec_control::{
    Access, Command, Device, GidKind, MemoryRegion, Qp, QpAttributes, QpCapacity, QpKind, QpState, Reply,
};

use crate::dut::{Addresses, Dut, DutError};
use crate::scenario::{Network, Setup, TesterMemory};

/// Everything that one case has set up.
#[derive(Debug)]
pub(super) struct Connection {
    /// Handle of the device's queue pair.
    pub(super) qp: Qp,
    /// Transport service of both ends.
    pub(super) transport: QpKind,
    /// The tester's GID and Q_Key: where datagrams of the device go.
    pub(super) tester: (Ipv6Addr, u32),
    /// The tester's queue pair number.
    pub(super) tester_qpn: Qpn,
    /// An ordinary packet from the tester to the device.
    to_device: Roce<'static>,
    /// An ordinary packet from the device to the tester.
    from_device: Roce<'static>,
    /// Memory that the script named.
    pub(super) regions: Vec<(String, MemoryRegion)>,
    /// Memory behind posted requests.
    buffers: Vec<MemoryRegion>,
    /// Names of regions that were taken back; they still stand for the old addresses and keys.
    pub(super) taken_back: BTreeSet<String>,
    /// Requests posted so far: the next work request id.
    pub(super) posted: u64,
    /// Where each posted receive puts its message, region and offset, by work request id.
    pub(super) receives: BTreeMap<u64, (u32, u64)>,
}

/// What the tester chooses for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct TesterEnd {
    pub(super) qpn: Qpn,
    pub(super) sport: u16,
}

impl Connection {
    /// Makes the queue pair and takes it to RTS.
    pub(super) fn open(dut: &mut dyn Dut, setup: &Setup, tester: TesterEnd) -> Result<Connection, DutError> {
        let device = dut.device().clone();
        let addresses = dut.tester().clone();
        let gid = find_gid(&device, &addresses, setup.ip)?;
        let tester_gid = match setup.ip {
            Network::V4 => addresses.v4.to_ipv6_mapped(),
            Network::V6 | Network::V1 => addresses.v6,
        };
        let device_mac: MacAddr = device.mac.parse().map_err(|()| {
            DutError::Unreachable(format!("the agent names a MAC address that is none: {:?}", device.mac))
        })?;
        let capacity = QpCapacity { max_send_wr: 128, max_recv_wr: 256 };
        let (qp, qpn) = match dut.control(&Command::CreateQp { kind: setup.transport, capacity })? {
            Reply::Qp { qp, qpn } => (qp, qpn),
            other => return Err(unexpected("create_qp", &other)),
        };
        for attributes in ladder(setup, tester, gid.index, tester_gid) {
            dut.control(&Command::ModifyQp { qp, attributes })?;
        }
        let here = End { mac: addresses.mac, gid: tester_gid, qpn: tester.qpn };
        let there = End { mac: device_mac, gid: gid.gid, qpn: Qpn::new(qpn) };
        Ok(Connection {
            qp,
            transport: setup.transport,
            tester: (tester_gid, setup.qkey),
            tester_qpn: tester.qpn,
            to_device: ordinary(setup, &here, &there, tester.sport),
            from_device: ordinary(setup, &there, &here, tester.sport),
            regions: Vec::new(),
            buffers: Vec::new(),
            taken_back: BTreeSet::new(),
            posted: 0,
            receives: BTreeMap::new(),
        })
    }

    /// Frees what was made. A device that refuses this is reported by the next case that it disturbs.
    pub(super) fn close(self, dut: &mut dyn Dut) -> Result<(), DutError> {
        let mut commands = vec![Command::DestroyQp { qp: self.qp }];
        let regions = self.regions.iter().map(|(_, region)| region).chain(&self.buffers);
        commands.extend(regions.map(|region| Command::DeregisterMemory { mr: region.mr }));
        for command in commands {
            match dut.control(&command) {
                Ok(_) | Err(DutError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Registers memory; with a name it becomes a symbol of the script.
    pub(super) fn register(
        &mut self,
        dut: &mut dyn Dut,
        name: Option<&str>,
        length: u64,
        access: &[Access],
    ) -> Result<MemoryRegion, DutError> {
        let region = match dut.control(&Command::RegisterMemory { length, access: access.to_vec() })? {
            Reply::Memory(region) => region,
            other => return Err(unexpected("register_memory", &other)),
        };
        match name {
            Some(name) => self.regions.push((name.to_owned(), region)),
            None => self.buffers.push(region),
        }
        Ok(region)
    }

    /// The region of that name.
    pub(super) fn region(&self, name: &str) -> Option<&MemoryRegion> {
        self.regions.iter().find(|(known, _)| known == name).map(|(_, region)| region)
    }

    /// The device's queue pair number.
    pub(super) fn device_qpn(&self) -> Qpn {
        self.to_device.bth.dest_qp
    }

    /// First PSN of the connection.
    pub(super) fn origin(&self) -> Psn {
        self.to_device.bth.psn
    }

    /// Symbols, for [`Scope::regions`].
    pub(super) fn symbols(&self) -> Vec<Region<'_>> {
        self.regions
            .iter()
            .map(|(name, region)| Region { name, va: region.va, len: region.length, rkey: RKey::new(region.rkey) })
            .chain([TesterMemory::region()])
            .collect()
    }

    /// How packets to the device are written.
    pub(super) fn scope_to_device<'s>(&self, symbols: &'s [Region<'s>]) -> Scope<'s> {
        Scope { base: self.to_device.clone(), regions: symbols }
    }

    /// How packets from the device are written. What the device is free to choose (source port, IP identification,
    /// hop limit, flow label, MAC addresses behind a router) is taken from the packet at hand, so that it is not shown.
    pub(super) fn scope_of_device<'s>(&self, symbols: &'s [Region<'s>], packet: Option<&Roce<'_>>) -> Scope<'s> {
        let mut base = self.from_device.clone();
        if let Some(packet) = packet {
            base.eth.src = packet.eth.src;
            if let (Some(udp), Some(seen)) = (&mut base.udp, packet.udp) {
                udp.sport = seen.sport;
            }
            match (&mut base.net, packet.net) {
                (Net::V4(base), Net::V4(seen)) => {
                    base.id = seen.id;
                    base.ttl = seen.ttl;
                }
                (Net::V6(base), Net::V6(seen)) | (Net::Grh(base), Net::Grh(seen)) => {
                    base.flow_label = seen.flow_label;
                    base.hop_limit = seen.hop_limit;
                }
                _ => {}
            }
        }
        Scope { base, regions: symbols }
    }
}

/// An answer of the wrong kind: the agent does not keep the protocol.
pub(super) fn unexpected(command: &str, reply: &Reply) -> DutError {
    DutError::Unreachable(format!("the agent answered {command} with something else: {reply:?}"))
}

fn find_gid<'d>(
    device: &'d Device,
    tester: &Addresses,
    network: Network,
) -> Result<&'d rocespec_control::Gid, DutError> {
    let kind = if network == Network::V1 { GidKind::RoceV1 } else { GidKind::RoceV2 };
    let is_v4 = |gid: &Ipv6Addr| gid.to_ipv4_mapped().is_some();
    let is_link_local = |gid: &Ipv6Addr| gid.segments()[0] & 0xffc0 == 0xfe80;
    let fits = |gid: &&rocespec_control::Gid| {
        gid.kind == kind && (network == Network::V1 || is_v4(&gid.gid) == (network == Network::V4))
    };
    // The entry that shares the tester's scope is reached without a router.
    let candidates = || device.gids.iter().filter(fits);
    candidates()
        .find(|gid| is_v4(&gid.gid) || is_link_local(&gid.gid) == is_link_local(&tester.v6))
        .or_else(|| candidates().next())
        .ok_or_else(|| {
            let network = match network {
                Network::V4 => "RoCE v2 over IPv4",
                Network::V6 => "RoCE v2 over IPv6",
                Network::V1 => "RoCE v1",
            };
            DutError::Unreachable(format!(
                "the device {} has no GID for {network}; give its port an address",
                device.name
            ))
        })
}

/// The three steps from RESET to RTS. Datagrams have no peer, and only a reliable connection has timers and retries.
fn ladder(setup: &Setup, tester: TesterEnd, gid_index: u8, tester_gid: Ipv6Addr) -> [QpAttributes; 3] {
    let connected = setup.transport != QpKind::Ud;
    let reliable = setup.transport == QpKind::Rc;
    [
        QpAttributes {
            state: Some(QpState::Init),
            pkey_index: Some(setup.pkey_index),
            access: connected.then(|| setup.access.clone()),
            qkey: (!connected).then_some(setup.qkey),
            ..QpAttributes::default()
        },
        QpAttributes {
            state: Some(QpState::Rtr),
            path_mtu: connected.then_some(setup.mtu),
            dest_qpn: connected.then_some(tester.qpn.get()),
            rq_psn: connected.then_some(setup.start_psn),
            min_rnr_timer: reliable.then_some(setup.min_rnr_timer),
            max_dest_rd_atomic: reliable.then_some(setup.max_dest_rd_atomic),
            gid_index: Some(gid_index),
            remote_gid: connected.then_some(tester_gid),
            hop_limit: Some(setup.hop_limit),
            traffic_class: Some(setup.traffic_class),
            flow_label: Some(0),
            service_level: Some(0),
            ..QpAttributes::default()
        },
        QpAttributes {
            state: Some(QpState::Rts),
            sq_psn: Some(setup.start_psn),
            timeout: reliable.then_some(setup.timeout),
            retry_count: reliable.then_some(setup.retry_count),
            rnr_retry: reliable.then_some(setup.rnr_retry),
            max_rd_atomic: reliable.then_some(setup.max_rd_atomic),
            ..QpAttributes::default()
        },
    ]
}

/// Addresses of one end.
struct End {
    mac: MacAddr,
    gid: Ipv6Addr,
    qpn: Qpn,
}

/// An ordinary packet from one end to the other.
fn ordinary(setup: &Setup, from: &End, to: &End, sport: u16) -> Roce<'static> {
    let opcode = match setup.transport {
        QpKind::Rc => Opcode::RC_SEND_ONLY,
        QpKind::Uc => Opcode::UC_SEND_ONLY,
        QpKind::Ud => Opcode::UD_SEND_ONLY,
    };
    let deth = Deth { qkey: QKey::new(setup.qkey), reserved: 0, src_qp: from.qpn };
    let net = setup.ip.ordinary(from.gid, to.gid);
    let udp = Udp { sport, dport: ROCE_V2_PORT, len: 0, checksum: 0 };
    let mut packet = Roce {
        eth: Ethernet { dst: to.mac, src: from.mac, tags: Default::default(), ethertype: 0 },
        net,
        udp: (setup.ip != Network::V1).then_some(udp),
        bth: Bth { dest_qp: to.qpn, psn: Psn::new(setup.start_psn), ..Bth::new(opcode) },
        ext: Extensions { deth, ..Extensions::default() },
        payload: &[],
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    field::complete(&mut packet, |_| false);
    packet
}
