//! A device that exists only in memory, so that the protocol is tested without hardware.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;

use rocespec_control::{
    Access, BindRequest, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, QpState,
    SendRequest, VERSION, WindowKind,
};

use crate::backend::{About, Backend, Event, Region, Uses, failure};

#[derive(Default)]
pub(crate) struct Fake {
    next: u32,
    /// Objects alive, to see that a session leaves none behind.
    pub(crate) alive: Rc<Cell<usize>>,
    pub(crate) events: Vec<Event>,
}

pub(crate) struct Alive(Rc<Cell<usize>>);

impl Alive {
    fn new(counter: &Rc<Cell<usize>>) -> Alive {
        counter.set(counter.get() + 1);
        Alive(Rc::clone(counter))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

pub(crate) struct FakeQp {
    qpn: u32,
    attributes: QpAttributes,
    completions: Vec<Completion>,
    groups: Vec<Ipv6Addr>,
    _uses: Uses<Fake>,
    _alive: Alive,
}

pub(crate) struct FakeMemory {
    bytes: std::cell::RefCell<Vec<u8>>,
    key: u32,
    /// A window is bound to it.
    is_bound: Cell<bool>,
    _pd: Option<Rc<Alive>>,
    _alive: Alive,
}

pub(crate) struct FakeSrq {
    number: u32,
    completions: std::cell::RefCell<Vec<Completion>>,
    _pd: Option<Rc<Alive>>,
    _domain: Option<Rc<Alive>>,
    _alive: Alive,
}

pub(crate) struct FakeWindow {
    key: u32,
    _alive: Alive,
}

impl Backend for Fake {
    type Qp = FakeQp;
    type Memory = FakeMemory;
    type Pd = Alive;
    type XrcDomain = Alive;
    type Srq = FakeSrq;
    type Window = FakeWindow;

    fn describe(&mut self) -> Result<Device, Failure> {
        Ok(Device {
            version: VERSION,
            agent: "fake".to_owned(),
            name: "fake0".to_owned(),
            system: "none".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            active_mtu: 1024,
            gids: Vec::new(),
            capabilities: vec!["rc".to_owned()],
        })
    }

    fn create_qp(&mut self, kind: QpKind, _capacity: QpCapacity, uses: Uses<Fake>) -> Result<FakeQp, Failure> {
        if kind == QpKind::Uc {
            return Err(failure(ErrorCode::Unsupported, "no UC here"));
        }
        self.next += 1;
        let attributes = QpAttributes { state: Some(QpState::Reset), ..QpAttributes::default() };
        Ok(FakeQp {
            qpn: self.next,
            attributes,
            completions: Vec::new(),
            groups: Vec::new(),
            _uses: uses,
            _alive: Alive::new(&self.alive),
        })
    }

    fn qpn(&self, qp: &FakeQp) -> u32 {
        qp.qpn
    }

    fn modify_qp(&mut self, qp: &mut FakeQp, attributes: &QpAttributes) -> Result<(), Failure> {
        qp.attributes.state = attributes.state.or(qp.attributes.state);
        qp.attributes.rq_psn = attributes.rq_psn.or(qp.attributes.rq_psn);
        Ok(())
    }

    fn query_qp(&mut self, qp: &FakeQp) -> Result<QpAttributes, Failure> {
        Ok(qp.attributes.clone())
    }

    fn multicast(&mut self, qp: &mut FakeQp, group: Ipv6Addr, member: bool) -> Result<(), Failure> {
        let known = qp.groups.iter().position(|known| *known == group);
        match (known, member) {
            (None, true) => qp.groups.push(group),
            (Some(at), false) => drop(qp.groups.remove(at)),
            _ => return Err(failure(ErrorCode::Refused, "no such change")),
        }
        Ok(())
    }

    fn register_memory(
        &mut self,
        length: usize,
        _access: &[Access],
        pd: Option<Rc<Alive>>,
    ) -> Result<FakeMemory, Failure> {
        self.next += 1;
        Ok(FakeMemory {
            bytes: vec![0; length].into(),
            key: self.next,
            is_bound: Cell::new(false),
            _pd: pd,
            _alive: Alive::new(&self.alive),
        })
    }

    fn deregister_memory(&mut self, memory: &mut FakeMemory) -> Result<(), Failure> {
        match memory.is_bound.get() {
            true => Err(failure(ErrorCode::Refused, "a window is bound to it")),
            false => Ok(()),
        }
    }

    fn region(&self, memory: &FakeMemory) -> Region {
        Region { va: 0x1000, length: memory.bytes.borrow().len() as u64, lkey: memory.key, rkey: memory.key }
    }

    fn write_memory(&mut self, memory: &FakeMemory, offset: usize, bytes: &[u8]) {
        memory.bytes.borrow_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read_memory(&mut self, memory: &FakeMemory, offset: usize, length: usize) -> Vec<u8> {
        memory.bytes.borrow()[offset..offset + length].to_vec()
    }

    fn post_receive(
        &mut self,
        qp: &mut FakeQp,
        wr_id: u64,
        _memory: &FakeMemory,
        _offset: usize,
        length: u32,
    ) -> Result<(), Failure> {
        qp.completions.push(completion(wr_id, "recv", length));
        Ok(())
    }

    fn post_send(&mut self, qp: &mut FakeQp, request: &SendRequest, _memory: &FakeMemory) -> Result<(), Failure> {
        qp.completions.push(completion(request.wr_id, "send", 0));
        Ok(())
    }

    fn poll(&mut self, qp: &mut FakeQp, max: usize) -> Result<Vec<Completion>, Failure> {
        let count = max.min(qp.completions.len());
        Ok(qp.completions.drain(..count).collect())
    }

    fn create_pd(&mut self) -> Result<Alive, Failure> {
        Ok(Alive::new(&self.alive))
    }

    fn create_xrc_domain(&mut self) -> Result<Alive, Failure> {
        Ok(Alive::new(&self.alive))
    }

    fn create_srq(
        &mut self,
        _max_wr: u32,
        pd: Option<Rc<Alive>>,
        domain: Option<Rc<Alive>>,
    ) -> Result<FakeSrq, Failure> {
        self.next += 1;
        Ok(FakeSrq {
            number: if domain.is_some() { self.next } else { 0 },
            completions: Vec::new().into(),
            _pd: pd,
            _domain: domain,
            _alive: Alive::new(&self.alive),
        })
    }

    fn srqn(&self, srq: &FakeSrq) -> u32 {
        srq.number
    }

    fn limit_srq(&mut self, srq: &FakeSrq, _limit: u32) -> Result<(), Failure> {
        self.events.push(Event { name: "srq_limit_reached".to_owned(), about: Some(About::Srq(srq.number as usize)) });
        Ok(())
    }

    fn post_srq_receive(
        &mut self,
        srq: &FakeSrq,
        wr_id: u64,
        _memory: &FakeMemory,
        _offset: usize,
        length: u32,
    ) -> Result<(), Failure> {
        srq.completions.borrow_mut().push(completion(wr_id, "recv", length));
        Ok(())
    }

    fn poll_srq(&mut self, srq: &FakeSrq, max: usize) -> Result<Vec<Completion>, Failure> {
        let mut completions = srq.completions.borrow_mut();
        let count = max.min(completions.len());
        Ok(completions.drain(..count).collect())
    }

    fn allocate_window(&mut self, _kind: WindowKind, _pd: Option<Rc<Alive>>) -> Result<FakeWindow, Failure> {
        self.next += 1;
        Ok(FakeWindow { key: self.next << 8, _alive: Alive::new(&self.alive) })
    }

    fn rkey(&self, window: &FakeWindow) -> u32 {
        window.key
    }

    fn bind_window(
        &mut self,
        qp: &mut FakeQp,
        window: &mut FakeWindow,
        memory: &FakeMemory,
        request: &BindRequest,
    ) -> Result<(), Failure> {
        window.key += 1;
        memory.is_bound.set(true);
        qp.completions.push(completion(request.wr_id, "bind_mw", 0));
        Ok(())
    }

    fn request_notification(&mut self, qp: &FakeQp, _solicited_only: bool) -> Result<(), Failure> {
        let about = Some(About::CompletionQueue(qp.qpn as usize));
        self.events.push(Event { name: "completion".to_owned(), about });
        Ok(())
    }

    fn is_about_qp(&self, about: About, qp: &FakeQp) -> bool {
        about == About::Qp(qp.qpn) || about == About::CompletionQueue(qp.qpn as usize)
    }

    fn is_about_srq(&self, about: About, srq: &FakeSrq) -> bool {
        about == About::Srq(srq.number as usize)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        Ok(BTreeMap::from([("rcvd_pkts".to_owned(), 3)]))
    }

    fn events(&mut self, max: usize) -> Vec<Event> {
        let count = max.min(self.events.len());
        self.events.drain(..count).collect()
    }
}

fn completion(wr_id: u64, opcode: &str, byte_len: u32) -> Completion {
    Completion {
        wr_id,
        status: "success".to_owned(),
        opcode: opcode.to_owned(),
        byte_len,
        immediate: None,
        invalidated_rkey: None,
        src_qpn: 0,
        grh: false,
    }
}
