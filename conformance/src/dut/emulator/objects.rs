//! The part of the control protocol that is about what queue pairs share, and about memory windows.

use rocespec_control as wire;
use rocespec_control::{Command, Failure, Reply};
use rocespec_model as model;
use rocespec_model::{Endpoint, MemoryHandle, PdHandle, QpHandle, SrqHandle, WindowHandle, XrcDomainHandle};

use super::control::{domain, done, refused};
use super::translate::{completion, rights};

/// Carries out one order.
pub(super) fn carry_out(endpoint: &mut Endpoint, command: &Command) -> Result<Reply, Failure> {
    match command {
        Command::CreatePd {} => return Ok(Reply::Pd { pd: endpoint.create_pd().0 }),
        Command::DestroyPd { pd } => endpoint.destroy_pd(PdHandle(*pd)),
        Command::CreateXrcDomain {} => return Ok(Reply::XrcDomain { xrc_domain: endpoint.create_xrc_domain().0 }),
        Command::DestroyXrcDomain { xrc_domain } => endpoint.destroy_xrc_domain(XrcDomainHandle(*xrc_domain)),
        Command::CreateSrq { max_wr, pd, xrc_domain } => {
            let xrc_domain = xrc_domain.map(XrcDomainHandle);
            let init = model::SrqInit { pd: domain(*pd), max_wr: *max_wr, xrc_domain };
            let (srq, number) = endpoint.create_srq(&init).map_err(refused)?;
            return Ok(Reply::Srq { srq: srq.0, srqn: xrc_domain.map_or(0, |_| number.get()) });
        }
        Command::ModifySrq { srq, limit } => endpoint.modify_srq(SrqHandle(*srq), *limit),
        Command::DestroySrq { srq } => endpoint.destroy_srq(SrqHandle(*srq)),
        Command::PostSrqReceive { srq, wr_id, mr, offset, length } => {
            endpoint.post_srq_receive(SrqHandle(*srq), *wr_id, MemoryHandle(*mr), *offset, *length)
        }
        Command::PollSrq { srq, max } => {
            let completions = endpoint.poll_srq(SrqHandle(*srq), *max as usize);
            return Ok(Reply::Completions(completions.iter().map(completion).collect()));
        }
        Command::AllocateWindow { kind, pd } => {
            let kind = match kind {
                wire::WindowKind::Type1 => model::WindowKind::Type1,
                wire::WindowKind::Type2 => model::WindowKind::Type2,
            };
            return endpoint.allocate_window(domain(*pd), kind).map(window).map_err(refused);
        }
        Command::DeallocateWindow { window } => endpoint.deallocate_window(WindowHandle(*window)),
        Command::BindWindow { qp, request } => return bind(endpoint, QpHandle(*qp), request),
        other => unreachable!("{other:?} is about something else"),
    }
    .map_err(refused)?;
    done()
}

fn window(window: model::MemoryWindow) -> Reply {
    Reply::Window { window: window.handle.0, rkey: window.rkey.get() }
}

/// The key behind the one that a window has: binding gives a new one.
fn next_key(rkey: rocespec_codec::RKey) -> rocespec_codec::RKey {
    let low = (rkey.get() as u8).wrapping_add(1);
    rocespec_codec::RKey::new(rkey.get() & !0xff | u32::from(low))
}

fn bind(endpoint: &mut Endpoint, qp: QpHandle, request: &wire::BindRequest) -> Result<Reply, Failure> {
    let known = endpoint.query_window(WindowHandle(request.window)).map_err(refused)?;
    let rkey = next_key(known.rkey);
    let length = u32::try_from(request.length).map_err(|_| refused(model::VerbError::OutOfRange("length")))?;
    let bind = model::Bind { window: known.handle, access: rights(&request.access), key: rkey.get() as u8 };
    let request = model::SendRequest {
        mr: MemoryHandle(request.mr),
        offset: request.offset,
        length,
        bind: Some(bind),
        ..model::SendRequest::new(request.wr_id, model::SendOperation::BindWindow)
    };
    endpoint.post_send(qp, &request).map_err(refused)?;
    Ok(window(model::MemoryWindow { rkey, ..known }))
}
