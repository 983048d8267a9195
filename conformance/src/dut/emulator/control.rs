//! The control protocol, carried out on an endpoint of the model.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use rocespec_codec::{Mtu, Psn, QKey, Qpn, RnrTimer};
use rocespec_control as wire;
use rocespec_control::{Command, Device, ErrorCode, Failure, Reply};
use rocespec_model as model;
use rocespec_model::{Destination, Endpoint, MemoryHandle, QpHandle, VerbError};

/// Most bytes that one order may read or write.
const MAX_BYTES: u64 = 1 << 20;

/// What the software around an endpoint keeps for its orders.
#[derive(Debug, Default)]
pub(super) struct Software {
    /// What the endpoint has reported and nobody has asked for yet; the oldest where there are too many.
    events: Vec<model::AsyncEvent>,
    /// How UD queue pairs reach their peers, where their requests do not say: each by its handle.
    paths: BTreeMap<u32, Destination>,
}

/// Most events that wait to be asked for.
const MAX_EVENTS: usize = 1024;

impl Software {
    /// Keeps what the endpoint reports.
    pub(super) fn note(&mut self, event: model::AsyncEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }
}

/// Carries out one order.
pub(super) fn carry_out(
    endpoint: &mut Endpoint,
    device: &Device,
    software: &mut Software,
    command: &Command,
) -> Result<Reply, Failure> {
    match command {
        Command::Hello { version, .. } if *version != wire::VERSION => {
            Err(failure(ErrorCode::BadVersion, &format!("this is version {}", wire::VERSION)))
        }
        Command::Hello { .. } => Ok(Reply::Device(device.clone())),
        Command::Reset {} => {
            endpoint.reset();
            *software = Software::default();
            done()
        }
        Command::CreateQp { kind, capacity } => {
            let kind = match kind {
                wire::QpKind::Rc => model::QpKind::Rc,
                wire::QpKind::Uc => model::QpKind::Uc,
                wire::QpKind::Ud => model::QpKind::Ud,
            };
            let capacity = model::Capacity { max_send_wr: capacity.max_send_wr, max_recv_wr: capacity.max_recv_wr };
            let (qp, qpn) = endpoint.create_qp(kind, capacity).map_err(refused)?;
            if kind == model::QpKind::Ud {
                software.paths.insert(qp.0, Destination::new(Ipv6Addr::UNSPECIFIED, Qpn::new(0), QKey::new(0)));
            }
            Ok(Reply::Qp { qp: qp.0, qpn: qpn.get() })
        }
        Command::ModifyQp { qp, attributes } => {
            let mut set = to_model(attributes)?;
            let path = software.paths.get(qp).copied().map(|path| take_path(path, &mut set));
            endpoint.modify_qp(QpHandle(*qp), &set).map_err(refused)?;
            if let Some(path) = path {
                software.paths.insert(*qp, path);
            }
            done()
        }
        Command::QueryQp { qp } => {
            let attributes = endpoint.query_qp(QpHandle(*qp)).map_err(refused)?;
            Ok(Reply::QpAttributes(from_model(&attributes)))
        }
        Command::DestroyQp { qp } => {
            endpoint.destroy_qp(QpHandle(*qp)).map_err(refused)?;
            software.paths.remove(qp);
            done()
        }
        Command::AttachMulticast { qp, group } => {
            endpoint.attach_multicast(QpHandle(*qp), *group).map_err(refused)?;
            done()
        }
        Command::DetachMulticast { qp, group } => {
            endpoint.detach_multicast(QpHandle(*qp), *group).map_err(refused)?;
            done()
        }
        Command::RegisterMemory { length, access } => {
            let region = endpoint.register_memory(*length, rights(access)).map_err(refused)?;
            Ok(Reply::Memory(wire::MemoryRegion {
                mr: region.handle.0,
                va: region.va,
                length: region.len,
                lkey: region.lkey,
                rkey: region.rkey.get(),
            }))
        }
        Command::DeregisterMemory { mr } => {
            endpoint.deregister_memory(MemoryHandle(*mr)).map_err(refused)?;
            done()
        }
        Command::WriteMemory { mr, offset, data } => {
            let bytes = from_hex(data).ok_or_else(|| failure(ErrorCode::BadArgument, "data is not hex"))?;
            endpoint.write_memory(MemoryHandle(*mr), *offset, &bytes).map_err(refused)?;
            done()
        }
        Command::ReadMemory { mr, offset, length } => {
            if *length > MAX_BYTES {
                return Err(failure(ErrorCode::BadArgument, "length is above 1 MiB"));
            }
            let bytes = endpoint.read_memory(MemoryHandle(*mr), *offset, *length).map_err(refused)?;
            Ok(Reply::Data(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
        }
        Command::PostReceive { qp, wr_id, mr, offset, length } => {
            endpoint.post_receive(QpHandle(*qp), *wr_id, MemoryHandle(*mr), *offset, *length).map_err(refused)?;
            done()
        }
        Command::PostSend { qp, request } => {
            endpoint.post_send(QpHandle(*qp), &to_request(request, software.paths.get(qp))).map_err(refused)?;
            done()
        }
        Command::Poll { qp, max } => {
            let completions = endpoint.poll(QpHandle(*qp), *max as usize);
            Ok(Reply::Completions(completions.iter().map(completion).collect()))
        }
        Command::Counters {} => {
            Ok(Reply::Counters(endpoint.counters().map(|(name, count)| (name.to_owned(), count)).collect()))
        }
        Command::Events {} => Ok(Reply::Events(software.events.drain(..).map(event).collect())),
        Command::Shutdown {} => done(),
    }
}

fn done() -> Result<Reply, Failure> {
    Ok(Reply::Done {})
}

fn failure(code: ErrorCode, message: &str) -> Failure {
    Failure { code, message: message.to_owned(), errno: None }
}

fn refused(error: VerbError) -> Failure {
    let code = match error {
        VerbError::NoSuchObject => ErrorCode::NoSuchObject,
        VerbError::Unsupported => ErrorCode::Unsupported,
        VerbError::OutOfRange(_) => ErrorCode::BadArgument,
        _ => ErrorCode::Refused,
    };
    failure(code, &error.to_string())
}

fn event(event: model::AsyncEvent) -> wire::AsyncEvent {
    wire::AsyncEvent { event: event.kind.name().to_owned(), qp: event.qp.map(|qp| qp.0) }
}

/// Takes the path out of the attributes of a UD queue pair: the endpoint wants it with each request.
fn take_path(path: Destination, attributes: &mut model::QpAttributes) -> Destination {
    let a = attributes;
    Destination {
        gid: a.remote_gid.take().unwrap_or(path.gid),
        gid_index: a.gid_index.take().unwrap_or(path.gid_index),
        traffic_class: a.traffic_class.take().unwrap_or(path.traffic_class),
        hop_limit: a.hop_limit.take().unwrap_or(path.hop_limit),
        flow_label: a.flow_label.take().unwrap_or(path.flow_label),
        service_level: a.service_level.take().unwrap_or(path.service_level),
        ..path
    }
}

/// `path` is that of a UD queue pair.
fn to_request(request: &wire::SendRequest, path: Option<&Destination>) -> model::SendRequest {
    use model::SendOperation as To;
    use wire::Opcode as From;
    let r = request;
    let operation = match r.opcode {
        From::Send => To::Send,
        From::SendWithImmediate => To::SendWithImmediate,
        From::SendWithInvalidate => To::SendWithInvalidate,
        From::RdmaWrite => To::RdmaWrite,
        From::RdmaWriteWithImmediate => To::RdmaWriteWithImmediate,
        From::RdmaRead => To::RdmaRead,
        From::CompareSwap => To::CompareSwap,
        From::FetchAdd => To::FetchAdd,
        From::AtomicWrite => To::AtomicWrite,
        From::Flush => To::Flush,
    };
    let has = |flag| r.flags.contains(&flag);
    let flags = model::SendFlags {
        signaled: has(wire::SendFlag::Signaled),
        solicited: has(wire::SendFlag::Solicited),
        fence: has(wire::SendFlag::Fence),
        inline: has(wire::SendFlag::Inline),
    };
    // A FLUSH says in one word what is to be flushed and how far.
    let immediate = match operation {
        To::Flush => r.immediate.max(1) & 0xf | u32::from(r.compare_add != 0) << 4,
        _ => r.immediate,
    };
    model::SendRequest {
        flags,
        mr: MemoryHandle(r.mr),
        offset: r.offset,
        length: r.length,
        remote_va: r.remote_va,
        rkey: rocespec_codec::RKey::new(r.rkey),
        immediate,
        compare_add: r.compare_add,
        swap: r.swap,
        destination: path.map(|path| Destination {
            gid: r.remote_gid.unwrap_or(path.gid),
            qpn: Qpn::new(r.remote_qpn),
            qkey: QKey::new(r.remote_qkey),
            ..*path
        }),
        ..model::SendRequest::new(r.wr_id, operation)
    }
}

fn completion(done: &model::Completion) -> wire::Completion {
    wire::Completion {
        wr_id: done.wr_id,
        status: done.status.name().to_owned(),
        opcode: done.kind.name().to_owned(),
        byte_len: done.byte_len,
        immediate: done.immediate,
        invalidated_rkey: done.invalidated.map(rocespec_codec::RKey::get),
        src_qpn: done.src_qpn.get(),
        grh: done.grh,
    }
}

/// Every right with its name on either side.
const RIGHTS: [(wire::Access, model::Access); 6] = [
    (wire::Access::LocalWrite, model::Access::LOCAL_WRITE),
    (wire::Access::RemoteWrite, model::Access::REMOTE_WRITE),
    (wire::Access::RemoteRead, model::Access::REMOTE_READ),
    (wire::Access::RemoteAtomic, model::Access::REMOTE_ATOMIC),
    (wire::Access::FlushGlobal, model::Access::FLUSH_GLOBAL),
    (wire::Access::FlushPersistent, model::Access::FLUSH_PERSISTENT),
];

fn rights(access: &[wire::Access]) -> model::Access {
    RIGHTS.iter().filter(|(wire, _)| access.contains(wire)).map(|(_, model)| *model).collect()
}

/// Every state with its name on either side.
const STATES: [(wire::QpState, model::QpState); 7] = [
    (wire::QpState::Reset, model::QpState::Reset),
    (wire::QpState::Init, model::QpState::Init),
    (wire::QpState::Rtr, model::QpState::Rtr),
    (wire::QpState::Rts, model::QpState::Rts),
    (wire::QpState::Sqd, model::QpState::Sqd),
    (wire::QpState::Sqe, model::QpState::Sqe),
    (wire::QpState::Error, model::QpState::Error),
];

fn to_model(attributes: &wire::QpAttributes) -> Result<model::QpAttributes, Failure> {
    let a = attributes;
    let path_mtu = match a.path_mtu {
        None => None,
        Some(bytes) => Some(
            Mtu::from_bytes(bytes as usize)
                .ok_or_else(|| failure(ErrorCode::BadArgument, "path_mtu is none of 256, 512, 1024, 2048, 4096"))?,
        ),
    };
    let state = |wanted| STATES.iter().find(|(wire, _)| *wire == wanted).map(|(_, model)| *model);
    Ok(model::QpAttributes {
        state: a.state.and_then(state),
        access: a.access.as_deref().map(rights),
        pkey_index: a.pkey_index,
        qkey: a.qkey.map(QKey::new),
        path_mtu,
        dest_qpn: a.dest_qpn.map(Qpn::new),
        rq_psn: a.rq_psn.map(Psn::new),
        sq_psn: a.sq_psn.map(Psn::new),
        timeout: a.timeout,
        retry_count: a.retry_count,
        rnr_retry: a.rnr_retry,
        min_rnr_timer: a.min_rnr_timer.map(RnrTimer::new),
        max_rd_atomic: a.max_rd_atomic,
        max_dest_rd_atomic: a.max_dest_rd_atomic,
        gid_index: a.gid_index,
        remote_gid: a.remote_gid,
        traffic_class: a.traffic_class,
        hop_limit: a.hop_limit,
        flow_label: a.flow_label,
        service_level: a.service_level,
    })
}

fn from_model(attributes: &model::QpAttributes) -> wire::QpAttributes {
    let a = attributes;
    let named = |access: model::Access| {
        RIGHTS.iter().filter(|(_, model)| access.contains(*model)).map(|(wire, _)| *wire).collect()
    };
    let state = |held| STATES.iter().find(|(_, model)| *model == held).map(|(wire, _)| *wire);
    wire::QpAttributes {
        state: a.state.and_then(state),
        access: a.access.map(named),
        pkey_index: a.pkey_index,
        qkey: a.qkey.map(QKey::get),
        path_mtu: a.path_mtu.map(|mtu| mtu.bytes() as u32),
        dest_qpn: a.dest_qpn.map(Qpn::get),
        rq_psn: a.rq_psn.map(Psn::get),
        sq_psn: a.sq_psn.map(Psn::get),
        timeout: a.timeout,
        retry_count: a.retry_count,
        rnr_retry: a.rnr_retry,
        min_rnr_timer: a.min_rnr_timer.map(RnrTimer::get),
        max_rd_atomic: a.max_rd_atomic,
        max_dest_rd_atomic: a.max_dest_rd_atomic,
        gid_index: a.gid_index,
        remote_gid: a.remote_gid,
        traffic_class: a.traffic_class,
        hop_limit: a.hop_limit,
        flow_label: a.flow_label,
        service_level: a.service_level,
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
