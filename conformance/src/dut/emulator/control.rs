//! The control protocol, carried out on an endpoint of the model.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use rocespec_codec::{QKey, Qpn};
use rocespec_control as wire;
use rocespec_control::{Command, Device, ErrorCode, Failure, Reply};
use rocespec_model as model;
use rocespec_model::{Destination, Endpoint, MemoryHandle, QpHandle, VerbError};

use super::notifications::Notifications;
use super::objects;
use super::translate::{completion, from_hex, from_model, rights, take_path, to_model, to_request};

/// Most bytes that one order may read or write.
const MAX_BYTES: u64 = 1 << 20;

/// What the software around an endpoint keeps for its orders.
#[derive(Debug, Default)]
pub(super) struct Software {
    /// What the endpoint has reported and nobody has asked for yet; the oldest where there are too many.
    events: Vec<wire::AsyncEvent>,
    /// Who wants to be told of completions.
    notifications: Notifications,
    /// How UD queue pairs reach their peers, where their requests do not say: each by its handle.
    paths: BTreeMap<u32, Destination>,
}

/// Most events that wait to be asked for.
const MAX_EVENTS: usize = 1024;

impl Software {
    /// Keeps what the endpoint reports.
    pub(super) fn note(&mut self, event: model::AsyncEvent) {
        let (qp, srq) = (event.qp.map(|qp| qp.0), event.srq.map(|srq| srq.0));
        self.keep(wire::AsyncEvent { event: event.kind.name().to_owned(), qp, srq });
    }

    fn keep(&mut self, event: wire::AsyncEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    /// Sees whether completions are there that somebody wants to be told of.
    fn look_for_completions(&mut self, endpoint: &mut Endpoint) {
        for qp in self.notifications.due(endpoint) {
            self.keep(wire::AsyncEvent { event: "completion".to_owned(), qp: Some(qp), srq: None });
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
        Command::CreateQp { kind, capacity, pd, srq, xrc_domain } => {
            let kind = match kind {
                wire::QpKind::Rc => model::QpKind::Rc,
                wire::QpKind::Uc => model::QpKind::Uc,
                wire::QpKind::Ud => model::QpKind::Ud,
                wire::QpKind::XrcInitiator => model::QpKind::XrcInitiator,
                wire::QpKind::XrcTarget => model::QpKind::XrcTarget,
            };
            let init = model::QpInit {
                kind,
                capacity: model::Capacity { max_send_wr: capacity.max_send_wr, max_recv_wr: capacity.max_recv_wr },
                pd: domain(*pd),
                srq: srq.map(model::SrqHandle),
                xrc_domain: xrc_domain.map(model::XrcDomainHandle),
            };
            let (qp, qpn) = endpoint.create_qp_with(&init).map_err(refused)?;
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
            software.notifications.forget(*qp);
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
        Command::RegisterMemory { length, access, pd } => {
            let region = endpoint.register_memory_in(domain(*pd), *length, rights(access)).map_err(refused)?;
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
            software.look_for_completions(endpoint);
            let completions = software.notifications.poll(endpoint, QpHandle(*qp), *max as usize);
            Ok(Reply::Completions(completions.iter().map(completion).collect()))
        }
        Command::Counters {} => {
            Ok(Reply::Counters(endpoint.counters().map(|(name, count)| (name.to_owned(), count)).collect()))
        }
        Command::RequestNotification { qp, solicited_only } => {
            software.notifications.arm(endpoint, QpHandle(*qp), *solicited_only).map_err(refused)?;
            done()
        }
        Command::Events {} => {
            software.look_for_completions(endpoint);
            Ok(Reply::Events(std::mem::take(&mut software.events)))
        }
        Command::Shutdown {} => done(),
        _ => objects::carry_out(endpoint, command),
    }
}

pub(super) fn done() -> Result<Reply, Failure> {
    Ok(Reply::Done {})
}

/// The protection domain that an order names; the default one where it names none.
pub(super) fn domain(pd: Option<u32>) -> model::PdHandle {
    pd.map_or(model::PdHandle::DEFAULT, model::PdHandle)
}

pub(super) fn failure(code: ErrorCode, message: &str) -> Failure {
    Failure { code, message: message.to_owned(), errno: None }
}

pub(super) fn refused(error: VerbError) -> Failure {
    let code = match error {
        VerbError::NoSuchObject => ErrorCode::NoSuchObject,
        VerbError::Unsupported => ErrorCode::Unsupported,
        VerbError::OutOfRange(_) => ErrorCode::BadArgument,
        _ => ErrorCode::Refused,
    };
    failure(code, &error.to_string())
}
