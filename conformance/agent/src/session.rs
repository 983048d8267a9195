//! One tester's session: lines in, lines out, and the objects that the tester made on the way.

use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use rocespec_control::{
    AsyncEvent, Command, ErrorCode, Failure, LineError, LineReader, MAX_LINE, MemoryRegion, Qp, Reply, Request,
    Response, Status, VERSION,
};

use crate::backend::{Backend, Event, Uses, failure};
use crate::hex;
use crate::limits::{
    MAX_EVENTS, MAX_OBJECTS, MAX_POLL, MAX_QUEUE, MAX_REGION, MAX_TOTAL_MEMORY, MAX_TRANSFER, check_attributes,
};

/// What becomes of the connection after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read on.
    Go,
    /// Close this connection; the tester may not come in.
    Close,
    /// The tester asked the agent to stop.
    Shutdown,
}

pub(crate) struct Session<'a, B: Backend> {
    backend: &'a mut B,
    token: Option<&'a str>,
    greeted: bool,
    reader: LineReader,
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
    pub(crate) fn new(backend: &'a mut B, token: Option<&'a str>) -> Self {
        Session {
            backend,
            token,
            greeted: false,
            reader: LineReader::default(),
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

    /// True once the tester has said `hello`, with the right token.
    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Takes bytes in and writes one whole line for each that they complete, each before the next is carried out:
    /// a burst of orders must not pile up its answers in memory.
    pub(crate) fn receive(&mut self, bytes: &[u8], out: &mut dyn Write) -> std::io::Result<Next> {
        self.reader.push(bytes);
        while let Some(line) = self.reader.next_line() {
            let (response, next) = match line {
                Ok(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(line) => self.line(&line),
                Err(LineError::TooLong) => {
                    let message = format!("a line is longer than {MAX_LINE} bytes; it is skipped");
                    (Response { id: 0, result: Status::Error(failure(ErrorCode::BadRequest, message)) }, Next::Go)
                }
            };
            let mut answer = serde_json::to_vec(&response)?;
            answer.push(b'\n');
            out.write_all(&answer)?;
            if next != Next::Go {
                return Ok(next);
            }
        }
        Ok(Next::Go)
    }

    fn line(&mut self, line: &[u8]) -> (Response, Next) {
        let Request { id, command } = match Request::parse(line) {
            Ok(request) => request,
            Err(bad) => return (bad.into(), Next::Go),
        };
        let shutdown = command == Command::Shutdown {};
        let (result, next) = match self.command(command) {
            Ok(reply) => (Status::Ok(reply), if shutdown { Next::Shutdown } else { Next::Go }),
            Err(error) => {
                let close = error.code == ErrorCode::Unauthorized;
                (Status::Error(error), if close { Next::Close } else { Next::Go })
            }
        };
        (Response { id, result }, next)
    }

    fn command(&mut self, command: Command) -> Result<Reply, Failure> {
        if let Command::Hello { version, token } = command {
            return self.hello(version, token.as_deref());
        }
        if !self.greeted {
            let code = if self.token.is_some() { ErrorCode::Unauthorized } else { ErrorCode::BadRequest };
            return Err(failure(code, "the first command on a connection is `hello`"));
        }
        match command {
            Command::Hello { .. } => {}
            Command::Reset {} => self.reset(),
            Command::CreateQp { kind, capacity, pd, srq, xrc_domain } => {
                at_most("max_send_wr", capacity.max_send_wr, MAX_QUEUE)?;
                at_most("max_recv_wr", capacity.max_recv_wr, MAX_QUEUE)?;
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
                check_attributes(&attributes)?;
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
                if length == 0 || length > MAX_REGION {
                    return Err(bad(format!("length {length} is not in 1..={MAX_REGION}")));
                }
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
                at_most("bytes of data", bytes.len() as u64, MAX_TRANSFER)?;
                let memory = find(&mut self.memories, mr, "memory region")?;
                let offset = inside(self.backend, memory, offset, bytes.len() as u64)?;
                self.backend.write_memory(memory, offset, &bytes);
            }
            Command::ReadMemory { mr, offset, length } => {
                at_most("length", length, MAX_TRANSFER)?;
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
                if max == 0 || max > MAX_POLL {
                    return Err(bad(format!("max {max} is not in 1..={MAX_POLL}")));
                }
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

    fn hello(&mut self, version: u32, token: Option<&str>) -> Result<Reply, Failure> {
        if let Some(expected) = self.token {
            let given = token.ok_or_else(|| failure(ErrorCode::Unauthorized, "`hello` needs the agent's `token`"))?;
            if !same_secret(expected.as_bytes(), given.as_bytes()) {
                return Err(failure(ErrorCode::Unauthorized, "the token is wrong"));
            }
        }
        if version != VERSION {
            let message = format!("this agent speaks version {VERSION} of the protocol, the tester {version}");
            return Err(failure(ErrorCode::BadVersion, message));
        }
        let device = self.backend.describe()?;
        self.greeted = true;
        Ok(Reply::Device(device))
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

impl<B: Backend> Drop for Session<'_, B> {
    fn drop(&mut self) {
        self.reset();
    }
}

fn bad(message: impl Into<String>) -> Failure {
    failure(ErrorCode::BadArgument, message)
}

fn at_most(what: &str, value: impl Into<u64>, limit: u64) -> Result<(), Failure> {
    let value = value.into();
    if value <= limit { Ok(()) } else { Err(bad(format!("{what}: {value} is more than {limit}"))) }
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

/// Compares without telling by the time it takes where the first difference is.
fn same_secret(expected: &[u8], given: &[u8]) -> bool {
    let difference = expected.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
    expected.len() == given.len() && difference == 0
}

#[path = "session_objects.rs"]
mod objects;

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
