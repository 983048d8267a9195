//! The words of the control protocol in those of the model, and back.

use rocespec_codec::{Mtu, Psn, QKey, Qpn, RnrTimer};
use rocespec_control as wire;
use rocespec_control::{ErrorCode, Failure};
use rocespec_model as model;
use rocespec_model::{Destination, MemoryHandle};

use super::control::failure;

/// Takes the path out of the attributes of a UD queue pair: the endpoint wants it with each request.
pub(super) fn take_path(path: Destination, attributes: &mut model::QpAttributes) -> Destination {
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
pub(super) fn to_request(request: &wire::SendRequest, path: Option<&Destination>) -> model::SendRequest {
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
        From::LocalInvalidate => To::LocalInvalidate,
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
        // The model takes the key to invalidate at home where a peer's would stand.
        rkey: rocespec_codec::RKey::new(if operation == To::LocalInvalidate { r.immediate } else { r.rkey }),
        immediate,
        compare_add: r.compare_add,
        swap: r.swap,
        srqn: Qpn::new(r.remote_srqn),
        destination: path.map(|path| Destination {
            gid: r.remote_gid.unwrap_or(path.gid),
            qpn: Qpn::new(r.remote_qpn),
            qkey: QKey::new(r.remote_qkey),
            ..*path
        }),
        ..model::SendRequest::new(r.wr_id, operation)
    }
}

pub(super) fn completion(done: &model::Completion) -> wire::Completion {
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
const RIGHTS: [(wire::Access, model::Access); 7] = [
    (wire::Access::LocalWrite, model::Access::LOCAL_WRITE),
    (wire::Access::RemoteWrite, model::Access::REMOTE_WRITE),
    (wire::Access::RemoteRead, model::Access::REMOTE_READ),
    (wire::Access::RemoteAtomic, model::Access::REMOTE_ATOMIC),
    (wire::Access::FlushGlobal, model::Access::FLUSH_GLOBAL),
    (wire::Access::FlushPersistent, model::Access::FLUSH_PERSISTENT),
    (wire::Access::MwBind, model::Access::BIND),
];

pub(super) fn rights(access: &[wire::Access]) -> model::Access {
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

pub(super) fn to_model(attributes: &wire::QpAttributes) -> Result<model::QpAttributes, Failure> {
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

pub(super) fn from_model(attributes: &model::QpAttributes) -> wire::QpAttributes {
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

pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
