//! The objects that testers make, and the orders about them.

use std::collections::BTreeMap;
use std::rc::Rc;

use rocespec_control::limits::{self, MAX_EVENTS, MAX_OBJECTS, MAX_TOTAL_MEMORY};
use rocespec_control::serve::Service;
use rocespec_control::{AsyncEvent, Command, Device, ErrorCode, Failure, MemoryRegion, Qp, Reply};

use crate::backend::{Backend, Event, Uses, failure};
use crate::hex;

/// The device as testers see it, one after another.
pub(crate) struct Session<'a, B: Backend> {
    backend: &'a mut B,
    last_handle: u32,
    // Windows go before the queue pair that bound them, both before the memory that they point to, and what is shared
    // goes with the last of its users. (Linux's rxe waits for the windows of a queue pair that it is to destroy.)
    windows: BTreeMap<u32, B::Window>,
    qps: BTreeMap<Qp, B::Qp>,
    memories: BTreeMap<u32, B::Memory>,
    srqs: BTreeMap<u32, Rc<B::Srq>>,
    xrc_domains: BTreeMap<u32, Rc<B::XrcDomain>>,
    pds: BTreeMap<u32, Rc<B::Pd>>,
    total_memory: u64,
}

impl<'a, B: Backend> Session<'a, B> {
    pub(crate) fn new(backend: &'a mut B) -> Self {
        Session {
            backend,
            last_handle: 0,
            qps: BTreeMap::new(),
            windows: BTreeMap::new(),
            memories: BTreeMap::new(),
            srqs: BTreeMap::new(),
            xrc_domains: BTreeMap::new(),
            pds: BTreeMap::new(),
            total_memory: 0,
        }
    }

    fn reset(&mut self) {
        self.windows.clear();
        self.qps.clear();
        self.memories.clear();
        self.srqs.clear();
        self.xrc_domains.clear();
        self.pds.clear();
        self.total_memory = 0;
        // Events about what is gone would only confuse the next case.
        self.backend.events(MAX_EVENTS);
    }

    fn name_event(&self, event: Event) -> AsyncEvent {
        let Event { name, about } = event;
        let about_qp = |qp: &B::Qp| about.is_some_and(|about| self.backend.is_about_qp(about, qp));
        let about_srq = |srq: &B::Srq| about.is_some_and(|about| self.backend.is_about_srq(about, srq));
        let qp = self.qps.iter().find(|(_, qp)| about_qp(qp)).map(|(handle, _)| *handle);
        let srq = self.srqs.iter().find(|(_, srq)| about_srq(srq)).map(|(handle, _)| *handle);
        AsyncEvent { event: name, qp, srq }
    }

    fn room_for_one_more(&self, count: usize, what: &str) -> Result<(), Failure> {
        if count < MAX_OBJECTS {
            return Ok(());
        }
        Err(bad(format!("there are {MAX_OBJECTS} {what} already: destroy some first")))
    }

    /// Handles of all objects come from one sequence, so that a mixed-up handle is an error, not an accident.
    fn next_handle(&mut self) -> u32 {
        loop {
            self.last_handle = self.last_handle.wrapping_add(1).max(1);
            let handle = self.last_handle;
            let taken = self.qps.contains_key(&handle)
                || self.memories.contains_key(&handle)
                || self.windows.contains_key(&handle)
                || self.srqs.contains_key(&handle)
                || self.xrc_domains.contains_key(&handle)
                || self.pds.contains_key(&handle);
            if !taken {
                return handle;
            }
        }
    }
}

impl<B: Backend> Service for Session<'_, B> {
    fn describe(&mut self) -> Result<Device, Failure> {
        self.backend.describe()
    }

    fn carry_out(&mut self, command: Command) -> Result<Reply, Failure> {
        limits::check(&command)?;
        match command {
            Command::Hello { .. } => {}
            Command::Reset {} => self.reset(),
            Command::CreateQp { kind, capacity, pd, srq, xrc_domain } => {
                self.room_for_one_more(self.qps.len(), "queue pairs")?;
                let uses = Uses {
                    pd: shared(&self.pds, pd, "protection domain")?,
                    srq: shared(&self.srqs, srq, "shared receive queue")?,
                    xrc_domain: shared(&self.xrc_domains, xrc_domain, "XRC domain")?,
                };
                let made = self.backend.create_qp(kind, capacity, uses)?;
                let qpn = self.backend.qpn(&made);
                let qp = self.next_handle();
                self.qps.insert(qp, made);
                return Ok(Reply::Qp { qp, qpn });
            }
            Command::ModifyQp { qp, attributes } => {
                self.backend.modify_qp(find(&mut self.qps, qp, "queue pair")?, &attributes)?;
            }
            Command::QueryQp { qp } => {
                let qp = find(&mut self.qps, qp, "queue pair")?;
                return Ok(Reply::QpAttributes(self.backend.query_qp(qp)?));
            }
            Command::DestroyQp { qp } => {
                find(&mut self.qps, qp, "queue pair")?;
                self.qps.remove(&qp);
            }
            Command::AttachMulticast { qp, group } => {
                self.backend.multicast(find(&mut self.qps, qp, "queue pair")?, group, true)?;
            }
            Command::DetachMulticast { qp, group } => {
                self.backend.multicast(find(&mut self.qps, qp, "queue pair")?, group, false)?;
            }
            Command::RegisterMemory { length, access, pd } => {
                self.room_for_one_more(self.memories.len(), "memory regions")?;
                if self.total_memory + length > MAX_TOTAL_MEMORY {
                    return Err(bad(format!("all regions together may have {MAX_TOTAL_MEMORY} bytes")));
                }
                let pd = shared(&self.pds, pd, "protection domain")?;
                let memory = self.backend.register_memory(length as usize, &access, pd)?;
                let region = self.backend.region(&memory);
                let mr = self.next_handle();
                self.memories.insert(mr, memory);
                self.total_memory += length;
                let (va, lkey, rkey) = (region.va, region.lkey, region.rkey);
                return Ok(Reply::Memory(MemoryRegion { mr, va, length, lkey, rkey }));
            }
            Command::DeregisterMemory { mr } => {
                let memory = find(&mut self.memories, mr, "memory region")?;
                let length = self.backend.region(memory).length;
                self.backend.deregister_memory(memory)?;
                self.total_memory -= length;
                self.memories.remove(&mr);
            }
            Command::WriteMemory { mr, offset, data } => {
                let bytes = hex::decode(&data).map_err(bad)?;
                let memory = find(&mut self.memories, mr, "memory region")?;
                let offset = inside(self.backend, memory, offset, bytes.len() as u64)?;
                self.backend.write_memory(memory, offset, &bytes);
            }
            Command::ReadMemory { mr, offset, length } => {
                let memory = find(&mut self.memories, mr, "memory region")?;
                let offset = inside(self.backend, memory, offset, length)?;
                return Ok(Reply::Data(hex::encode(&self.backend.read_memory(memory, offset, length as usize))));
            }
            Command::PostReceive { qp, wr_id, mr, offset, length } => {
                let qp = find(&mut self.qps, qp, "queue pair")?;
                let memory = find(&mut self.memories, mr, "memory region")?;
                let offset = inside(self.backend, memory, offset, length.into())?;
                self.backend.post_receive(qp, wr_id, memory, offset, length)?;
            }
            Command::PostSend { qp, request } => {
                let qp = find(&mut self.qps, qp, "queue pair")?;
                let memory = find(&mut self.memories, request.mr, "memory region")?;
                inside(self.backend, memory, request.offset, request.length.into())?;
                self.backend.post_send(qp, &request, memory)?;
            }
            Command::Poll { qp, max } => {
                let qp = find(&mut self.qps, qp, "queue pair")?;
                return Ok(Reply::Completions(self.backend.poll(qp, max as usize)?));
            }
            Command::Counters {} => return Ok(Reply::Counters(self.backend.counters()?)),
            Command::Events {} => {
                let events = self.backend.events(MAX_EVENTS);
                return Ok(Reply::Events(events.into_iter().map(|event| self.name_event(event)).collect()));
            }
            Command::Shutdown {} => self.reset(),
            other => return self.object(other),
        }
        Ok(Reply::Done {})
    }

    fn leave(&mut self) {
        self.reset();
        self.last_handle = 0;
    }
}

impl<B: Backend> Drop for Session<'_, B> {
    fn drop(&mut self) {
        self.reset();
    }
}

fn bad(message: impl Into<String>) -> Failure {
    failure(ErrorCode::BadArgument, message)
}

fn find<'m, T>(objects: &'m mut BTreeMap<u32, T>, handle: u32, what: &str) -> Result<&'m mut T, Failure> {
    objects.get_mut(&handle).ok_or_else(|| no_such(what, handle))
}

/// The shared object of that handle, where an order names one.
fn shared<T>(objects: &BTreeMap<u32, Rc<T>>, handle: Option<u32>, what: &str) -> Result<Option<Rc<T>>, Failure> {
    let Some(handle) = handle else { return Ok(None) };
    match objects.get(&handle) {
        Some(object) => Ok(Some(Rc::clone(object))),
        None => Err(no_such(what, handle)),
    }
}

fn no_such(what: &str, handle: u32) -> Failure {
    failure(ErrorCode::NoSuchObject, format!("no {what} has the handle {handle}"))
}

/// Checks a range against its region and gives the offset back as an index.
fn inside<B: Backend>(backend: &B, memory: &B::Memory, offset: u64, length: u64) -> Result<usize, Failure> {
    let size = backend.region(memory).length;
    match offset.checked_add(length) {
        Some(end) if end <= size => Ok(offset as usize),
        _ => Err(bad(format!("offset {offset} and length {length} reach beyond the region's {size} bytes"))),
    }
}

#[path = "session_objects.rs"]
mod objects;

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
