//! The orders about what queue pairs share, about memory windows and notifications.

use std::collections::BTreeMap;
use std::rc::Rc;

use rocespec_control::{Command, ErrorCode, Failure, Reply};

use super::{Session, find, inside, no_such, shared};
use crate::backend::{Backend, failure};

impl<B: Backend> Session<'_, B> {
    /// Carries out one of them.
    pub(super) fn object(&mut self, command: Command) -> Result<Reply, Failure> {
        match command {
            Command::CreatePd {} => {
                self.room_for_one_more(self.pds.len(), "protection domains")?;
                let made = self.backend.create_pd()?;
                let pd = self.next_handle();
                self.pds.insert(pd, Rc::new(made));
                return Ok(Reply::Pd { pd });
            }
            Command::DestroyPd { pd } => take_away(&mut self.pds, pd, "protection domain")?,
            Command::CreateXrcDomain {} => {
                self.room_for_one_more(self.xrc_domains.len(), "XRC domains")?;
                let made = self.backend.create_xrc_domain()?;
                let xrc_domain = self.next_handle();
                self.xrc_domains.insert(xrc_domain, Rc::new(made));
                return Ok(Reply::XrcDomain { xrc_domain });
            }
            Command::DestroyXrcDomain { xrc_domain } => take_away(&mut self.xrc_domains, xrc_domain, "XRC domain")?,
            Command::CreateSrq { max_wr, pd, xrc_domain } => {
                self.room_for_one_more(self.srqs.len(), "shared receive queues")?;
                let pd = shared(&self.pds, pd, "protection domain")?;
                let domain = shared(&self.xrc_domains, xrc_domain, "XRC domain")?;
                let made = self.backend.create_srq(max_wr, pd, domain)?;
                let srqn = self.backend.srqn(&made);
                let srq = self.next_handle();
                self.srqs.insert(srq, Rc::new(made));
                return Ok(Reply::Srq { srq, srqn });
            }
            Command::ModifySrq { srq, limit } => {
                self.backend.limit_srq(find(&mut self.srqs, srq, "shared receive queue")?, limit)?;
            }
            Command::DestroySrq { srq } => take_away(&mut self.srqs, srq, "shared receive queue")?,
            Command::PostSrqReceive { srq, wr_id, mr, offset, length } => {
                let srq = find(&mut self.srqs, srq, "shared receive queue")?;
                let memory = find(&mut self.memories, mr, "memory region")?;
                let offset = inside(self.backend, memory, offset, length.into())?;
                self.backend.post_srq_receive(srq, wr_id, memory, offset, length)?;
            }
            Command::PollSrq { srq, max } => {
                let srq = find(&mut self.srqs, srq, "shared receive queue")?;
                return Ok(Reply::Completions(self.backend.poll_srq(srq, max as usize)?));
            }
            Command::AllocateWindow { kind, pd } => {
                self.room_for_one_more(self.windows.len(), "memory windows")?;
                let pd = shared(&self.pds, pd, "protection domain")?;
                let made = self.backend.allocate_window(kind, pd)?;
                let rkey = self.backend.rkey(&made);
                let window = self.next_handle();
                self.windows.insert(window, made);
                return Ok(Reply::Window { window, rkey });
            }
            Command::DeallocateWindow { window } => {
                find(&mut self.windows, window, "memory window")?;
                self.windows.remove(&window);
            }
            Command::BindWindow { qp, request } => {
                let qp = find(&mut self.qps, qp, "queue pair")?;
                let window = find(&mut self.windows, request.window, "memory window")?;
                let memory = find(&mut self.memories, request.mr, "memory region")?;
                inside(self.backend, memory, request.offset, request.length)?;
                self.backend.bind_window(qp, window, memory, &request)?;
                return Ok(Reply::Window { window: request.window, rkey: self.backend.rkey(window) });
            }
            Command::RequestNotification { qp, solicited_only } => {
                self.backend.request_notification(find(&mut self.qps, qp, "queue pair")?, solicited_only)?;
            }
            other => unreachable!("{other:?} is about something else"),
        }
        Ok(Reply::Done {})
    }
}

/// Takes a shared object away, unless something uses it.
fn take_away<T>(objects: &mut BTreeMap<u32, Rc<T>>, handle: u32, what: &str) -> Result<(), Failure> {
    let object = objects.get(&handle).ok_or_else(|| no_such(what, handle))?;
    if Rc::strong_count(object) > 1 {
        return Err(failure(ErrorCode::Refused, format!("the {what} is in use")));
    }
    objects.remove(&handle);
    Ok(())
}
