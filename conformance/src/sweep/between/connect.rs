//! Queue pairs of two devices that are connected with each other.

use std::net::Ipv6Addr;

use rocespec_codec::{PKey, Psn, Qpn, Transport, mad};
use rocespec_control::{Access, Command, Gid, GidKind, MemoryRegion, QpAttributes, QpCapacity, QpKind, QpState, Reply};

use super::Settings;
use crate::dut::{Dut, DutError, nearest_gid};
use crate::oracle::{Ends, Oracle, OracleConfig, Path, StreamConfig};

/// A queue pair and the memory behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) qp: u32,
    pub(super) qpn: Qpn,
    gid: Ipv6Addr,
    gid_index: u8,
    pub(super) memory: MemoryRegion,
}

/// Clears a device up, makes a queue pair and registers memory for one message.
pub(super) fn make(dut: &mut dyn Dut, settings: &Settings) -> Result<Made, DutError> {
    dut.control(&Command::Reset {})?;
    let device = dut.device();
    let fits = |gid: &Gid| gid.kind == GidKind::RoceV2 && gid.gid.to_ipv4_mapped().is_some();
    let gid = nearest_gid(device, dut.tester().v4.to_ipv6_mapped(), fits);
    let (gid, gid_index) = gid.map(|gid| (gid.gid, gid.index)).ok_or_else(|| {
        DutError::Unreachable(format!("the device {} has no GID for RoCE v2 over IPv4; give its port one", device.name))
    })?;
    let capacity = QpCapacity { max_send_wr: settings.outstanding, max_recv_wr: 1 };
    let create = Command::CreateQp { kind: QpKind::Rc, capacity, pd: None, srq: None, xrc_domain: None };
    let Reply::Qp { qp, qpn } = dut.control(&create)? else { return Err(unexpected("create_qp")) };
    let access = vec![Access::LocalWrite, Access::RemoteWrite];
    let register = Command::RegisterMemory { length: settings.message.into(), access, pd: None };
    let Reply::Memory(memory) = dut.control(&register)? else { return Err(unexpected("register_memory")) };
    Ok(Made { qp, qpn: Qpn::new(qpn), gid, gid_index, memory })
}

/// Takes a queue pair from RESET to RTS.
pub(super) fn connect(dut: &mut dyn Dut, own: &Made, peer: &Made, settings: &Settings) -> Result<(), DutError> {
    let none = QpAttributes::default;
    let steps = [
        QpAttributes {
            state: Some(QpState::Init),
            pkey_index: Some(0),
            access: Some(vec![Access::RemoteWrite]),
            ..none()
        },
        QpAttributes {
            state: Some(QpState::Rtr),
            path_mtu: Some(settings.mtu.bytes() as u32),
            dest_qpn: Some(peer.qpn.get()),
            rq_psn: Some(0),
            min_rnr_timer: Some(12),
            max_dest_rd_atomic: Some(1),
            gid_index: Some(own.gid_index),
            remote_gid: Some(peer.gid),
            hop_limit: Some(64),
            // Where the device leaves ECN to its software, it is ECN-capable.
            traffic_class: Some(rocespec_codec::Ecn::Ect0 as u8),
            flow_label: Some(0),
            service_level: Some(0),
            ..none()
        },
        QpAttributes {
            state: Some(QpState::Rts),
            sq_psn: Some(0),
            timeout: Some(settings.ack_timeout),
            retry_count: Some(7),
            rnr_retry: Some(7),
            max_rd_atomic: Some(1),
            ..none()
        },
    ];
    steps.into_iter().try_for_each(|attributes| dut.control(&Command::ModifyQp { qp: own.qp, attributes }).map(|_| ()))
}

/// What judges this end of the connection.
pub(super) fn oracle(dut: &dyn Dut, own: &Made, peer: &Made, settings: &Settings, skew: std::time::Duration) -> Oracle {
    let has_timeout = settings.ack_timeout > 0 && dut.profile().can("ack-timeout");
    Oracle::new(OracleConfig {
        ends: Ends {
            own_qpn: own.qpn,
            peer_qpn: peer.qpn,
            path: Some(Path { own: own.gid, peer: peer.gid }),
            station: None,
            pkey: Some(PKey::DEFAULT),
        },
        stream: StreamConfig {
            transport: Transport::Rc,
            mtu: Some(settings.mtu.bytes()),
            sends_from: Some(Psn::new(0)),
            expects_from: Some(Psn::new(0)),
            is_whole: true,
            max_rd_atomic: Some(1),
            go_back_n: dut.profile().can("go-back-n"),
            ack_timeout: has_timeout.then(|| mad::timeout(settings.ack_timeout)),
        },
        skew,
    })
}

/// An answer of the wrong kind: the agent does not keep the protocol.
pub(super) fn unexpected(command: &str) -> DutError {
    DutError::Unreachable(format!("the agent answered {command} with something else"))
}
